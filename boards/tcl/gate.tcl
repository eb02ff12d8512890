# SPDX-License-Identifier: Apache-2.0
# The gate: what a routed design must not have. Each proc returns a list of sentences, empty if all
# is well; none relies on Vivado's exit status, for Vivado writes bitstreams that miss their timing.

proc gate_violations {} {
  return [concat [slack_violations max setup] [slack_violations min hold] [pulse_width_violations] [unconstrained_violations] \
    [bus_skew_violations] [cdc_violations] [rule_violations methodology] [rule_violations drc] [unrouted_violations]]
}

# The ten worst paths with negative slack.
proc slack_violations {delay_type name} {
  set wrong {}
  foreach path [get_timing_paths -quiet -delay_type $delay_type -max_paths 10 -nworst 1 -slack_lesser_than 0] {
    lappend wrong "$name slack [get_property SLACK $path] ns from [get_property STARTPOINT_PIN $path] to [get_property ENDPOINT_PIN $path]"
  }
  return $wrong
}

# The worst pulse width slack is the ninth figure of the summary's line.
proc pulse_width_violations {} {
  set lines [split [report_timing_summary -no_detailed_paths -return_string] "\n"]
  set header [lsearch -glob $lines "*WNS(ns)*WPWS(ns)*"]
  if {$header < 0} { return {"the timing summary has no line of figures: this Vivado writes it in another way"} }
  set slack [lindex [regexp -all -inline {\S+} [lindex $lines [expr {$header + 2}]]] 8]
  if {$slack eq "NA" || $slack >= 0} { return {} }
  return [list "pulse width slack $slack ns"]
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
    if {[regexp {\s(?:Slow|Fast)\s+(-?[\d.]+)\s+(-?[\d.]+)\s+(-?[\d.]+)\s*$} $line -> required actual slack]} {
      incr judged
      if {$slack < 0} { lappend wrong "bus skew of constraint $number is $actual ns, more than $required ns" }
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

# What a rule deck, methodology or drc, calls an error or a critical warning. The report is made
# here, so that they are of this design.
proc rule_violations {deck} {
  report_$deck -file [file join $::chip(build) gate_$deck.rpt]
  set wrong {}
  foreach violation [get_${deck}_violations -quiet] {
    set severity [get_property SEVERITY $violation]
    if {[lsearch -nocase -exact {Fatal Error {Critical Warning}} $severity] >= 0} { lappend wrong "$deck: $severity: $violation" }
  }
  return $wrong
}

proc unrouted_violations {} {
  # A net that reaches only some of its loads is PARTIAL (UG912).
  set states {UNROUTED PARTIAL CONFLICTS ANTENNAS}
  set nets [get_nets -quiet -hierarchical -filter [join [lmap state $states { format "ROUTE_STATUS == %s" $state }] " || "]]
  if {[llength $nets] == 0} { return {} }
  return [list "[llength $nets] nets are not routed, the first is [lindex $nets 0]"]
}
