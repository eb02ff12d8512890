# SPDX-License-Identifier: Apache-2.0
# One chip, from Verilog to bitstream, without a project: vivado -mode batch -source
# flow.tcl -tclargs CHIP.tcl [LAST_STEP] CHIP.tcl is what boards/flow.py writes: parts, files, IPs
# with their properties. A step whose checkpoint is there is not run again; boards/flow.py removes
# the checkpoints when an input has changed. Exit status: 1 if the gate fails, 2 if the licence or
# the part is missing.
set here [file dirname [file normalize [info script]]]
foreach part {log licences ip synth waivers steps gate} { source [file join $here $part.tcl] }

source [lindex $argv 0]
set last [expr {[llength $argv] > 1 ? [lindex $argv 1] : "bitstream"}]

create_project -in_memory -part $chip(part)
set_property target_language Verilog [current_project]
check_licence
foreach step {ip licences synth constrain opt place phys_opt route reports gate bitstream} {
  run_step $step
  if {$step eq $last} { break }
}
# A run that ends early leaves the reports that this much of the design can give.
if {$last in {constrain place}} { write_reports $last }
exit 0
