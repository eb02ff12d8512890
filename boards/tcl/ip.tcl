# SPDX-License-Identifier: Apache-2.0
# IPs out of Vivado's catalogue, each with the properties that CHIP.tcl lists for it, and no other.

# Where an IP's .xci is kept, for later steps and later runs.
proc xci {name} {
  global chip
  return [file join $chip(build) ip $name $name.xci]
}

# Creates one IP and generates what synthesis needs of it.
proc make_ip {name} {
  global chip ip
  array set one $ip($name)
  create_ip -name $one(ip) -vendor xilinx.com -library ip -module_name $name -dir [file join $chip(build) ip]
  if {$one(preset) ne ""} { set_property CONFIG.preset $one(preset) [get_ips $name] }
  set_property -dict $one(config) [get_ips $name]
  # The preset makes four channels; one is left, and its place comes from the pins.
  if {$one(single_channel)} {
    set_property CONFIG.CHANNEL_ENABLE [lindex [get_property CONFIG.CHANNEL_ENABLE [get_ips $name]] 0] [get_ips $name]
  }
  check_ip $name $one(config)
  if {$one(own_constraints)} {
    generate_target all [get_ips $name]
    synth_ip [get_ips $name]
  } else {
    synthesise_with_top $name
    generate_target synthesis [get_ips $name]
    drop_constraints $name
  }
}

# Makes an IP a source of the top's synthesis instead of a checkpoint of its own. A session that
# finds the IP on disk has to say so again: the .xci does not (UG896; Runs 36-527).
proc synthesise_with_top {name} {
  set_property generate_synth_checkpoint false [get_files [xci $name]]
}

# An IP's own constraints would force a site on it; the board file names another.
proc drop_constraints {name} {
  set_property is_enabled false [get_files -of_objects [get_files [xci $name]] $name.xdc]
}

# Numbers may be written in another way, and names of ports in another order.
proc same_value {property wanted found} {
  if {$property eq "CONFIG.ENABLE_OPTIONAL_PORTS"} { return [expr {[lsort -unique $wanted] eq [lsort -unique $found]}] }
  if {[string is double -strict $found] && [string is double -strict $wanted]} { return [expr {$found == $wanted}] }
  return [string equal -nocase $found $wanted]
}

# Vivado may change a property because of another one, and goes on: compare the wanted values with
# the actual ones.
proc check_ip {name config} {
  foreach {property wanted} $config {
    set found [get_property $property [get_ips $name]]
    if {![same_value $property $wanted $found]} {
      error "IP $name: $property is $found, not $wanted: this Vivado does not take the value of boards/ip"
    }
  }
}
