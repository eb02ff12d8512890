# SPDX-License-Identifier: Apache-2.0
# The steps. Each leaves a checkpoint under the chip's build folder, from which a later run goes on.

# Steps that change the design, in order.
set design_steps {synth constrain opt place phys_opt route}

proc checkpoint {step} {
  global chip
  return [file join $chip(build) $step.dcp]
}

# Runs a step unless its result is there; prints its time and the slack so far.
proc run_step {step} {
  set start [clock seconds]
  if {[step_is_done $step]} {
    say $step "there already"
    return
  }
  step_$step
  say $step "done in [expr {[clock seconds] - $start}] s[slack_so_far $step]"
}

# Reports and gate read a routed design and cost little: they are always run.
proc step_is_done {step} {
  global chip design_steps
  if {$step eq "ip"} {
    return [file exists [file join $chip(build) ip done]]
  }
  if {[lsearch $design_steps $step] >= 0} { return [file exists [checkpoint $step]] }
  return 0
}

# Makes the result of the step before the current design, if it is not.
proc open_result_of {step} {
  if {[llength [get_designs -quiet]] == 0} { open_checkpoint [checkpoint $step] }
}

# Worst setup slack, for the log; from placement on it means something.
proc slack_so_far {step} {
  if {[lsearch {place phys_opt route} $step] < 0} { return "" }
  return ", worst setup slack [worst_slack max] ns"
}

proc worst_slack {delay_type} {
  set path [get_timing_paths -quiet -delay_type $delay_type -max_paths 1 -nworst 1]
  return [expr {$path eq "" ? "inf" : [get_property SLACK $path]}]
}

proc step_ip {} {
  global chip
  file delete -force [file join $chip(build) ip]
  file mkdir [file join $chip(build) ip]
  foreach name $chip(ips) { make_ip $name }
  close [open [file join $chip(build) ip done] w]
}

proc step_licences {} {
  global last
  read_ips
  check_ip_licences $last
}

# These find cells by their module's name, so there must be a netlist. A step of its own: what
# Vivado refuses here is mended without another synthesis.
proc step_constrain {} {
  global chip
  open_result_of synth
  foreach crossing $chip(crossings) {
    read_xdc -unmanaged $crossing
    check_crossing [file rootname [file tail $crossing]]
  }
  read_xdc -unmanaged $chip(floorplan)
  apply_waivers
  write_checkpoint -force [checkpoint constrain]
  foreach block [lsort [get_pblocks]] { say constrain "$block has [block_area $block]" }
  foreach sentence [netlist_violations] { say constrain "the gate will stop at $sentence" }
}

# Shares of a pblock that its own cells have, which end placements early if they are large. The last
# column of the table is the per cent (UG906).
proc block_area {block} {
  set report [report_utilization -pblocks [get_pblocks $block] -return_string]
  set shares {}
  foreach site {"CLB LUTs" "CLB Registers" "Block RAM Tile" "URAM"} {
    if {[regexp -line "^\\| $site\\*? +\\|.*\\| +<?(\[\\d.\]+) \\|$" $report -> percent]} { lappend shares "$site $percent %" }
  }
  return [join $shares {, }]
}

# A constraint of a module that finds none of its cells says nothing, and the paths would be timed
# as if their clocks were in step. Modules have a file each.
proc check_crossing {module} {
  global chip
  if {[lsearch -regexp $chip(verilog) "/${module}(_\\d+)?\\.s?v$"] < 0} { return }
  if {[llength [get_cells -quiet -hierarchical -filter "ORIG_REF_NAME =~ $module* || REF_NAME =~ $module*"]] == 0} {
    error "no cell of $module is left in the netlist: its constraint found nothing"
  }
}

proc step_opt {} {
  open_result_of constrain
  opt_design -directive ExploreWithRemap
  write_checkpoint -force [checkpoint opt]
}

proc step_place {} {
  open_result_of opt
  place_design -directive ExtraTimingOpt
  write_checkpoint -force [checkpoint place]
}

proc step_phys_opt {} {
  open_result_of place
  phys_opt_design -directive AggressiveExplore
  write_checkpoint -force [checkpoint phys_opt]
}

proc step_route {} {
  open_result_of phys_opt
  route_design -directive AggressiveExplore
  if {[worst_slack max] < 0} { phys_opt_design -directive AggressiveExplore }
  write_checkpoint -force [checkpoint route]
}

proc step_reports {} {
  open_result_of route
  write_reports route
}

# Reports on the current design, which is that of a step, into reports/<step>.
proc write_reports {step} {
  global chip
  open_result_of $step
  set reports [file join $chip(build) reports $step]
  file mkdir $reports
  report_utilization -hierarchical -hierarchical_depth 4 -file [file join $reports utilization.rpt]
  report_utilization -slr -file [file join $reports slr.rpt]
  report_utilization -pblocks [get_pblocks] -file [file join $reports pblocks.rpt]
  report_timing_summary -max_paths 20 -file [file join $reports timing.rpt]
  report_clock_interaction -file [file join $reports clock_interaction.rpt]
  report_cdc -details -file [file join $reports cdc.rpt]
  report_waivers -file [file join $reports waivers.rpt]
  report_bus_skew -file [file join $reports bus_skew.rpt]
  report_methodology -file [file join $reports methodology.rpt]
  report_drc -file [file join $reports drc.rpt]
  report_route_status -file [file join $reports route_status.rpt]
  report_power -file [file join $reports power.rpt]
}

proc step_gate {} {
  global chip
  open_result_of route
  set wrong [gate_violations]
  set file [open [file join $chip(build) gate.txt] w]
  foreach line $wrong { puts $file $line }
  close $file
  if {[llength $wrong] == 0} { return }
  foreach line $wrong { puts stderr "sallyport: $chip(board) $chip(name): gate: $line" }
  say gate "[llength $wrong] violations, no bitstream: see [file join $chip(build) gate.txt]"
  exit 1
}

proc step_bitstream {} {
  global chip
  open_result_of route
  write_bitstream -force -bin_file [file join $chip(build) $chip(top).bit]
}
