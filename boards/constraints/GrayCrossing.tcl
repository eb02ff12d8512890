# SPDX-License-Identifier: Apache-2.0
# Bits of one code word come within a period of the clock that sends them, together, so that no two
# changes are seen at once.
foreach cell [get_cells -quiet -hierarchical -filter {(ORIG_REF_NAME =~ GrayCrossing* || REF_NAME =~ GrayCrossing*)}] {
  set sent [get_cells "$cell/gray_reg*"]
  set taken [get_cells "$cell/settling_reg*"]
  set period [get_property PERIOD [get_clocks -of_objects [get_pins "$cell/gray_reg*/C"]]]
  set_max_delay -datapath_only -from $sent -to $taken $period
  set_bus_skew -from $sent -to $taken $period
}
