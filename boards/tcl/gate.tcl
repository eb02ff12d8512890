# SPDX-License-Identifier: Apache-2.0
# The gate: what a routed design must not have. Each proc returns a list of sentences, empty if all
# is well; none relies on Vivado's exit status, for Vivado writes bitstreams that miss their timing.

proc gate_violations {} {
  return [concat [slack_violations max setup] [slack_violations min hold] [summary_violations] [netlist_violations] \
    [bus_skew_violations] [rule_violations drc] [unrouted_violations]]
}

# Those that neither placement nor routing mends: told once the constraints are read, hours before
# the gate.
proc netlist_violations {} {
  return [concat [unconstrained_violations] [cdc_violations] [rule_violations methodology]]
}

# The ten worst paths with negative slack.
proc slack_violations {delay_type name} {
  set wrong {}
  foreach path [get_timing_paths -delay_type $delay_type -max_paths 10 -nworst 1 -slack_lesser_than 0] {
    lappend wrong "$name slack [get_property SLACK $path] ns from [get_property STARTPOINT_PIN $path] to [get_property ENDPOINT_PIN $path]"
  }
  return $wrong
}

# Setup, hold and pulse width are the figures 1, 5 and 9 of the summary's line. NA or inf as setup
# or hold says that no path has a constraint.
proc summary_violations {} {
  set lines [split [report_timing_summary -no_detailed_paths -return_string] "\n"]
  set header [lsearch -glob $lines "*WNS(ns)*WHS(ns)*WPWS(ns)*"]
  set figures [regexp -all -inline {\S+} [lindex $lines [expr {$header + 2}]]]
  if {$header < 0 || [llength $figures] != 12} {
    return {"the timing summary has no line of figures: this Vivado writes it in another way"}
  }
  set wrong {}
  foreach {name column} {setup 0 hold 4 "pulse width" 8} {
    set slack [lindex $figures $column]
    if {![regexp {^-?\d+\.\d+$} $slack]} {
      if {$column < 8} { lappend wrong "the timing summary has no $name slack ($slack): no path has a constraint" }
    } elseif {$slack < 0} { lappend wrong "$name slack $slack ns is the worst of all" }
  }
  return $wrong
}

# Everything check_timing counts: registers without a clock, endpoints without a constraint, ports
# without a delay, loops.
proc unconstrained_violations {} {
  set wrong {}
  set found 0
  foreach {line check count} [regexp -all -inline -line {checking (\w+) \((\d+)\)} [check_timing -return_string]] {
    set found 1
    if {$count > 0} { lappend wrong "check_timing: $check: $count" }
  }
  if {!$found} { lappend wrong "check_timing lists no checks: this Vivado writes them in another way" }
  # Each check stands in the table of contents and above its section.
  return [lsort -unique $wrong]
}

# The lines of a report's section. Its title is underlined; the table of contents has it without
# a line.
proc section {report title} {
  set lines [split $report "\n"]
  set found {}
  set inside 0
  foreach line $lines underline [lrange $lines 1 end] {
    if {[regexp {^\d+\. } $line] && [regexp {^-+\s*$} $underline]} {
      set inside [string equal [string trim $line] $title]
    } elseif {$inside} {
      lappend found $line
    }
  }
  return $found
}

# A row of the summary begins with its number and the constraint's position, and ends, two lines
# further on, with corner, requirement, actual skew and slack (UG906; in one line where the names
# are short).
proc bus_skew_violations {} {
  set wrong {}
  set rows 0
  set judged 0
  foreach line [section [report_bus_skew -no_detailed_paths -return_string] "1. Bus Skew Report Summary"] {
    if {[regexp {^(\d+)\s+\d+\s} $line -> number]} { incr rows }
    if {[regexp {\s(?:Slow|Fast)\s+(-?[\d.]+)\s+(-?[\d.]+)\s+(-?[\d.]+|inf)\s*$} $line -> required actual slack]} {
      incr judged
      if {$slack eq "inf"} {
        lappend wrong "bus skew of constraint $number has no path: its ends are not those of a crossing"
      } elseif {$slack < 0} { lappend wrong "bus skew of constraint $number is $actual ns, more than $required ns" }
    }
  }
  if {$rows == 0} { lappend wrong "there is no bus skew constraint: the crossings' constraints were not applied" }
  if {$rows != $judged} { lappend wrong "the bus skew report has $rows constraints and $judged slacks: this Vivado writes it in another way" }
  return $wrong
}

# Rows of the report's summary are rule, severity, count, description. Read as text: not every
# Vivado has get_cdc_violations.
proc cdc_violations {} {
  set wrong {}
  set rows [regexp -all -inline -line {^\s*(CDC-\d+)\s+(Critical|Warning|Info)\s+(\d+)\s+(.*)$} [report_cdc -details -return_string]]
  if {[llength $rows] == 0} { return {"report_cdc lists no rule: this Vivado writes it in another way"} }
  foreach {line rule severity count description} $rows {
    if {$severity eq "Critical"} { lappend wrong "cdc: $rule: $count: [string trim $description]" }
  }
  return $wrong
}

# Rows of a rule deck's table, methodology or drc: rule, severity, description, count. Read as text:
# a query for violations answers nothing both if there are none and if it finds no results.
proc rule_violations {deck} {
  set report [report_$deck -return_string]
  set rows [regexp -all -inline -line {^\| +(\S+-\d+) +\| (\S[^|]*?) +\| (\S[^|]*?) +\| (\d+) +\|$} $report]
  set wrong {}
  set told 0
  foreach {line rule severity description count} $rows {
    incr told $count
    if {[lsearch -nocase -exact {Fatal Error {Critical Warning}} $severity] >= 0} {
      lappend wrong "$deck: $severity: $rule: $count: $description"
    }
  }
  # "Checks" from 2024 on.
  if {![regexp -line {^\s+(?:Violations|Checks) found: (\d+)\s*$} $report -> found] || $found != $told} {
    lappend wrong "the rows of report_$deck do not add up to what it found: this Vivado writes it in another way"
  }
  return $wrong
}

# The table of the whole design. A net that reaches only some of its loads is routable and not fully
# routed.
proc unrouted_violations {} {
  set report [report_route_status -return_string]
  foreach {name row} {routable "routable nets" routed "fully routed nets" errors "nets with routing errors"} {
    if {![regexp -line "# of $row\\.* : +(\\d+) :" $report -> $name]} {
      return {"report_route_status has no count of nets: this Vivado writes it in another way"}
    }
  }
  if {$routable > 0 && $routable == $routed && $errors == 0} { return {} }
  return [list "$routed of $routable nets are routed, $errors with errors"]
}
