# SPDX-License-Identifier: Apache-2.0
# The first register's input comes from another clock or a pin: it has no edge to meet. 5 ns bound
# the way, so that a level is not late. UG903: -datapath_only needs -from; a constant has
# no beginning.
foreach cell [get_cells -quiet -hierarchical -filter {(ORIG_REF_NAME =~ BitSynchronizer* || REF_NAME =~ BitSynchronizer*)}] {
  set taken [get_pins -quiet "$cell/settling_reg/D"]
  set sent [all_fanin -quiet -flat -startpoints_only $taken]
  if {[llength $sent]} { set_max_delay -datapath_only -from $sent -to $taken 5.0 }
}
