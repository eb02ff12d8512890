# SPDX-License-Identifier: Apache-2.0
# Vivado's commands, for tclsh: each checks its options against vivado.yaml, records its call, and
# answers as a good run would.
#
# Set before: `commands` (dict: command -> dict of options, 1 if one takes a value), `values` (dict:
# "command -option" -> list), `needs` and `some` (lists of vivado.yaml's rules), `settable`,
# `readable` (dict with answers), `xdc_commands`, `reports` (the folder of reports), `record` (a
# channel), and `scenario`, a dict of command -> script that answers in the stub's place, with
# `options` and `rest` at hand. A call is a line: the command and its words, separated by unit
# separators (0x1f).

# Vivado 2023.2 has Tcl 8.5: what 8.6 brought is not there.
foreach command {coroutine lmap tailcall throw try yield yieldto zlib} { rename $command {} }
foreach {ensemble command} {string cat dict map} {
  namespace ensemble configure $ensemble -map [dict remove [namespace ensemble configure $ensemble -map] $command]
}

set handles 0
set described {}
set properties {}
set open_designs {}
set ips {}
set cores {}
set files {}
set within_xdc 0

proc note {command arguments} {
  puts $::record [string map {"\n" " "} [join [concat [list $command] $arguments] \u001f]]
  flush $::record
}

# Checks options and returns {options positionals}; options without a value are 1.
proc parse {command arguments} {
  set allowed [dict merge {-quiet 0 -verbose 0} [dict get $::commands $command]]
  set options {}
  set rest {}
  for {set index 0} {$index < [llength $arguments]} {incr index} {
    set word [lindex $arguments $index]
    if {[string match {-[a-z]*} $word]} {
      if {![dict exists $allowed $word]} { error "$command has no option $word" }
      if {[dict get $allowed $word]} {
        incr index
        if {$index >= [llength $arguments]} { error "$command $word takes a value" }
        dict set options $word [lindex $arguments $index]
        set key "$command $word"
        if {[dict exists $::values $key] && [lsearch -exact [dict get $::values $key] [lindex $arguments $index]] < 0} {
          error "$command $word: [lindex $arguments $index] is not one of [dict get $::values $key]"
        }
      } else {
        dict set options $word 1
      }
    } else {
      lappend rest $word
    }
  }
  return [list $options $rest]
}

# Refuses a call that lacks an option, or whose option names no object.
proc check_needs {command options} {
  foreach rule $::needs {
    lassign $rule of with needed clause
    if {$of ne $command || ($with ne "" && ![dict exists $options $with])} { continue }
    foreach name $needed {
      if {![dict exists $options $name]} { error "$command[expr {$with eq "" ? "" : " $with"}] needs $name ($clause)" }
    }
  }
  foreach rule $::some {
    lassign $rule of name clause
    if {$of eq $command && [dict exists $options $name] && [llength [dict get $options $name]] == 0} {
      error "$command $name: no object ($clause)"
    }
  }
}

proc option {options name {default ""}} {
  return [expr {[dict exists $options $name] ? [dict get $options $name] : $default}]
}

proc read_text {path} {
  set file [open $path]
  set text [read $file]
  close $file
  return $text
}

proc touch {path} {
  file mkdir [file dirname $path]
  close [open $path w]
}

# An object with a name that shows in the record which query made it.
proc handle {command arguments} {
  set name "$command#[incr ::handles]"
  dict set ::described $name $arguments
  return $name
}

foreach command [dict keys $commands] {
  proc $command args [format {
    set command %s
    if {$::within_xdc && [lsearch -exact $::xdc_commands $command] < 0} { error "$command is not a command of an XDC file" }
    lassign [parse $command $args] options rest
    check_needs $command $options
    note $command $args
    if {[dict exists $::scenario $command]} { return [eval [dict get $::scenario $command]] }
    if {[llength [info procs do_$command]]} { return [do_$command $options $rest] }
    if {[regexp {^(get|all)_} $command]} { return [handle $command $args] }
    return ""
  } $command]
}

proc do_get_parts {options rest} { return [lindex $rest 0] }
proc do_get_designs {options rest} { return $::open_designs }
proc do_create_ip {options rest} {
  set name [option $options -module_name]
  lappend ::ips $name
  lappend ::cores [file join [option $options -dir] $name $name.xci]
  touch [lindex $::cores end]
}
proc do_read_ip {options rest} {
  if {![file exists [lindex $rest 0]]} { error "[lindex $rest 0] is not there" }
  lappend ::ips [file rootname [file tail [lindex $rest 0]]]
  lappend ::cores [lindex $rest 0]
}
proc do_synth_ip {options rest} { foreach path $::cores { if {[file rootname [file tail $path]] eq $rest} { touch [file rootname $path].dcp } } }
proc do_get_ips {options rest} {
  if {[lsearch $::ips [lindex $rest 0]] >= 0} { return [lindex $rest 0] }
  if {[option $options -quiet 0]} { return "" }
  error "no IP [lindex $rest 0]"
}
proc do_read_verilog {options rest} {
  foreach path [join $rest] { if {![file exists $path]} { error "$path is not there" } }
}
proc do_get_files {options rest} { return [lindex $rest 0] }
proc do_synth_design {options rest} {
  if {[llength $::open_designs]} { error "synth_design: a design is open" }
  # An IP is synthesised apart unless this session says otherwise: the .xci does not (UG896).
  foreach path $::cores {
    if {[file exists [file rootname $path].dcp]} { continue }
    if {[dict exists $::properties $path generate_synth_checkpoint] && ![dict get $::properties $path generate_synth_checkpoint]} { continue }
    error "\[Runs 36-527\] DCP does not exist: [file rootname $path].dcp"
  }
  set ::open_designs design
}
proc do_open_checkpoint {options rest} {
  if {![file exists [lindex $rest 0]]} { error "[lindex $rest 0] is not there" }
  set ::open_designs design
}
proc do_close_design {options rest} { set ::open_designs {} }
proc need_design {command} { if {![llength $::open_designs]} { error "$command: no design is open" } }
foreach command {opt_design place_design phys_opt_design route_design} {
  proc do_$command {options rest} [list need_design $command]
}
proc do_write_checkpoint {options rest} { need_design write_checkpoint; touch [lindex $rest 0] }
proc do_write_bitstream {options rest} { need_design write_bitstream; touch [lindex $rest 0] }
proc do_get_timing_paths {options rest} { return [expr {[dict exists $options -slack_lesser_than] ? "" : "path"}] }
proc do_get_hw_targets {options rest} { return "localhost:3121/xilinx_tcf/Xilinx/1" }
proc do_get_hw_devices {options rest} { return "xcvu9p_0" }
proc do_get_ports {options rest} { return [lindex $rest 0] }
proc do_current_design {options rest} { return design }
proc do_current_project {options rest} { return project }
# All of them without a name: as after the floorplan of any chip.
proc do_get_pblocks {options rest} { return [expr {[llength $rest] ? [lindex $rest 0] : "pblock_core pblock_pcie"}] }
# Reports of a good design, in Vivado's layout (UG906), as `-return_string` gives them.
foreach {command file} {
  check_timing check_timing report_timing_summary timing_summary report_bus_skew bus_skew report_cdc cdc
  report_ip_status ip_licences report_methodology methodology report_drc drc report_route_status route_status
  report_utilization pblock
} {
  proc do_$command {options rest} [list answer_report $file]
}
proc answer_report {file} { return [read_text [file join $::reports $file.rpt]] }

proc do_set_property {options rest} {
  if {[dict exists $options -dict]} {
    set pairs [option $options -dict]
    set object [lindex $rest 0]
  } else {
    lassign $rest name value object
    set pairs [list $name $value]
  }
  if {[llength $pairs] % 2 || $object eq ""} { error "set_property needs name, value and object" }
  foreach {name value} $pairs {
    if {![string match CONFIG.* $name] && [lsearch -exact $::settable $name] < 0} { error "set_property: unknown property $name" }
    dict set ::properties $object $name $value
    # What a preset leaves for four channels.
    if {$name eq "CONFIG.preset"} { dict set ::properties $object CONFIG.CHANNEL_ENABLE {X0Y0 X0Y1 X0Y2 X0Y3} }
  }
}
proc do_get_property {options rest} {
  lassign $rest name object
  if {[dict exists $::properties $object $name]} { return [dict get $::properties $object $name] }
  if {[dict exists $::readable $name]} { return [dict get $::readable $name] }
  error "get_property: unknown property $name of $object"
}
# An .xdc is constraints alone, and of what Vivado refuses in it comes a critical warning: the run
# goes on. With -unmanaged the file is Tcl, and an error ends it.
proc do_read_xdc {options rest} {
  foreach path $rest {
    if {[option $options -unmanaged 0]} {
      uplevel #0 [list source $path]
    } else {
      read_managed $path
    }
  }
}
proc read_managed {path} {
  set ::within_xdc 1
  set command ""
  foreach line [split [read_text $path] "\n"] {
    append command $line "\n"
    if {![info complete $command]} { continue }
    if {[catch {check_xdc $command; uplevel #0 $command} message]} { puts "CRITICAL WARNING: $message" }
    set command ""
  }
  set ::within_xdc 0
}

# Refuses Tcl's own commands as well (Designutils 20-1307).
proc check_xdc {command} {
  set name [lindex [split [string trim $command]] 0]
  if {$name ne "" && ![string match #* $name] && $name ni $::xdc_commands} { error "$name is not a command of an XDC file" }
}

rename exit real_exit
proc exit {{status 0}} {
  note exit $status
  real_exit $status
}

# As in Vivado, an index in brackets is text and not a command.
proc unknown {name args} {
  if {[regexp {^(\*|\d+|\d+:\d+)$} $name]} { return "\[$name\]" }
  error "invalid command name \"$name\""
}
