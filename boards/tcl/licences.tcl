# SPDX-License-Identifier: Apache-2.0
# Licences: what a run needs is asked for before it begins to work, for Vivado tells some of it
# hours later.

# Synthesis of a register and its optimisation take both licences that a run needs of the device, in
# a minute.
proc check_licence {} {
  global chip
  if {[llength [get_parts -quiet $chip(part)]] == 0} {
    give_up "this Vivado does not know the part $chip(part): add Virtex UltraScale+ with `vivado -mode batch` of its installer (xsetup --batch Add)"
  }
  set trial [file join $chip(build) trial.v]
  set file [open $trial w]
  puts $file "module trial(input wire c, input wire a, output reg b); always @(posedge c) b <= a; endmodule"
  close $file
  read_verilog $trial
  if {[catch {synth_design -top trial -part $chip(part) -mode out_of_context; opt_design} message]} {
    give_up "Vivado cannot work on $chip(part) ($message): install a licence for it and name it in XILINXD_LICENSE_FILE"
  }
  close_design
  remove_files [get_files $trial]
}

# Rows of the table of licences: instance, licence, level of the generated files, level that is
# there. A row of the same instance leaves its name out.
proc licence_rows {report} {
  set rows {}
  set name ""
  foreach line [split $report "\n"] {
    set cells {}
    foreach cell [lrange [split $line "|"] 1 end-1] { lappend cells [string trim $cell] }
    if {[llength $cells] != 5 || [lindex $cells 0] eq "Instance Name"} { continue }
    lassign $cells instance target licence generated available
    if {$instance ne ""} { set name $instance }
    lappend rows [list $name $licence $generated $available]
  }
  return $rows
}

# An IP with a licence of the level Design_Linking is synthesised, placed and routed, and refused by
# write_bitstream.
proc check_ip_licences {last} {
  global chip
  set report [report_ip_status -license_status -return_string]
  set file [open [file join $chip(build) ip_licences.rpt] w]
  puts $file $report
  close $file
  set rows [licence_rows $report]
  if {[llength $rows] == 0} { say licences "report_ip_status lists no licence, see ip_licences.rpt" }
  foreach row $rows {
    lassign $row name licence generated available
    if {"Hardware_Evaluation" in [list $generated $available]} {
      say licences "$name has no more than Hardware_Evaluation for $licence: what it makes stops some hours after configuration"
    }
    if {"Design_Linking" ni [list $generated $available]} { continue }
    set sentence "$name has no more than Design_Linking for $licence, which stops at write_bitstream: install its licence, then rm -r [file join $chip(build) ip]"
    if {$last eq "bitstream"} { give_up $sentence }
    say licences $sentence
  }
}
