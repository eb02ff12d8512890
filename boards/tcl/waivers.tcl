# SPDX-License-Identifier: Apache-2.0
# Findings of report_cdc in corundum's files, which are used as they are. Each waiver has a rule, a
# module, the pins below it where the path ends, and the reason, which report_waivers lists. Our own
# modules have none.
set waivers {
  CDC-7 cmac_gty_ch_wrapper gt_userclk_tx_active_reg_reg/CLR
  "The reset of the transmitter clears this flag without a clock, and its clock sets it; two registers of the DRP clock take it."
  CDC-7 cmac_gty_ch_wrapper gt_userclk_rx_active_reg_reg/CLR
  "The reset of the receiver clears this flag without a clock, and its clock sets it; two registers of the DRP clock take it."
  CDC-10 cmac_gty_wrapper sync_reset_tx_rst_inst/sync_reg_reg[*]/PRE
  "An OR of causes of a reset: a spike of it begins a reset, which lasts four clocks. In operation no cause moves."
  CDC-10 cmac_gty_wrapper sync_reset_rx_rst_inst/sync_reg_reg[*]/PRE
  "An OR of causes of a reset: a spike of it begins a reset, which lasts four clocks. In operation no cause moves."
}

# Waives each finding in every instance of its module. A waiver that covers nothing stops the run:
# it would hide that names have changed, and the gate would then report a critical finding
# hours later.
proc apply_waivers {} {
  global waivers
  foreach {rule module ends reason} $waivers {
    foreach cell [get_cells -quiet -hierarchical -filter "ORIG_REF_NAME == $module || REF_NAME == $module"] {
      set pins [get_pins -quiet "$cell/$ends"]
      if {[llength $pins] == 0} { error "the waiver of $rule covers nothing: $cell has no $ends; mend boards/tcl/waivers.tcl" }
      create_waiver -type CDC -id $rule -from *PIN -to $pins -description $reason
    }
  }
}
