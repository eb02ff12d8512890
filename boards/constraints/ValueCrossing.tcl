# SPDX-License-Identifier: Apache-2.0
# The value is held from when the toggle leaves; it is used two or more clocks of the taker later,
# and so has one of them for the way.
foreach cell [get_cells -quiet -hierarchical -filter {(ORIG_REF_NAME =~ ValueCrossing* || REF_NAME =~ ValueCrossing*)}] {
  set taken [get_pins "$cell/seen_reg*/D"]
  set sent [all_fanin -flat -startpoints_only $taken]
  set period [get_property PERIOD [get_clocks -of_objects [get_pins "$cell/seen_reg*/C"]]]
  set_max_delay -datapath_only -from $sent -to $taken $period
}
