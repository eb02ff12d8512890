# SPDX-License-Identifier: Apache-2.0
# Synthesis, apart from the other steps: a change of those leaves its checkpoint (boards/flow.py).

# Makes the IPs known again to a run that finds them on disk.
proc read_ips {} {
  global chip
  foreach name $chip(ips) {
    if {[llength [get_ips -quiet $name]] == 0} { read_ip [xci $name] }
  }
}

proc step_synth {} {
  global chip
  read_ips
  foreach name $chip(ips) {
    array set one $::ip($name)
    if {!$one(own_constraints)} {
      synthesise_with_top $name
      drop_constraints $name
    }
  }
  read_verilog -sv $chip(verilog)
  # Unmanaged: an error in a managed file is a critical warning, and synthesis goes on without
  # a pin.
  read_xdc -unmanaged $chip(ports)
  # Delays of a few cycles stay flip-flops: placement can spread those, and there are two for
  # each LUT. Equal registers stay apart, for each of them may be in another SLR.
  synth_design -top $chip(top) -part $chip(part) -verilog_define SYNTHESIS -flatten_hierarchy rebuilt -directive PerformanceOptimized -shreg_min_size 8 -keep_equivalent_registers
  write_checkpoint -force [checkpoint synth]
}
