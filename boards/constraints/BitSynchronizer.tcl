# SPDX-License-Identifier: Apache-2.0
# Whatever comes to the first register is another clock's or a pin's: it has no edge to meet. 5 ns bound the way, so that a level is not late.
foreach cell [get_cells -quiet -hierarchical -filter {(ORIG_REF_NAME =~ BitSynchronizer* || REF_NAME =~ BitSynchronizer*)}] {
  set_max_delay -datapath_only -to [get_pins "$cell/settling_reg/D"] 5.0
}
