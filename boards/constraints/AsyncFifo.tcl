# SPDX-License-Identifier: Apache-2.0
# A row of LUT RAM is read several clocks after it was written: its pointer crosses first. The
# registers of block RAM have their reader's clock alone.
foreach cell [get_cells -quiet -hierarchical -filter {(ORIG_REF_NAME =~ AsyncFifo* || REF_NAME =~ AsyncFifo*)}] {
  set rows [get_cells -quiet -hierarchical -filter "NAME =~ $cell/memory/* && (REF_NAME =~ RAM32* || REF_NAME =~ RAM64*)"]
  if {[llength $rows]} {
    set taken [get_cells -hierarchical -filter "NAME =~ $cell/memory/*R0_distributed_*_reg*"]
    set period [get_property PERIOD [get_clocks -of_objects [get_pins -of_objects $taken -filter {REF_PIN_NAME == C}]]]
    set_max_delay -datapath_only -from $rows -to $taken $period
  }
}
