# SPDX-License-Identifier: Apache-2.0
# Loads a bitstream by JTAG: vivado -mode batch -source program.tcl -tclargs FILE PARTS [TARGET]
# PARTS are device names; the card must have one of them. TARGET is a pattern of hw_target, needed
# where several cables are found.
lassign $argv file parts target

proc give_up {sentence} {
  puts stderr "sallyport: $sentence"
  exit 2
}

if {![file exists $file]} { give_up "$file is not there: make bitstreams first" }
open_hw_manager
connect_hw_server
set targets [get_hw_targets -quiet [expr {$target eq "" ? "*" : "*$target*"}]]
if {[llength $targets] == 0} { give_up "no JTAG cable matches '$target': plug it in, start hw_server, or choose another TARGET" }
if {[llength $targets] > 1} { give_up "several JTAG cables ([join $targets {, }]): choose one with TARGET=" }
open_hw_target [lindex $targets 0]

set devices {}
foreach device [get_hw_devices] {
  if {[lsearch $parts [get_property PART $device]] >= 0} { lappend devices $device }
}
if {[llength $devices] != 1} { give_up "[lindex $targets 0] has [llength $devices] devices of type [join $parts { or }], not one: is it another card?" }
set device [lindex $devices 0]
set_property PROGRAM.FILE $file $device
program_hw_devices $device
refresh_hw_device $device
if {[get_property REGISTER.CONFIG_STATUS.BIT14_DONE_PIN $device] != 1} { give_up "$device did not start from $file: is the card powered?" }
puts "sallyport: $device runs $file"
exit 0
