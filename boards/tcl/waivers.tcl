# SPDX-License-Identifier: Apache-2.0
# Findings of report_cdc in corundum's files, which are used as they are. Each waiver has a rule, a
# module, the pins below it where the path begins and ends (`*`: any), and the reason, which
# report_waivers lists. Our own modules have none. `make board-check` finds the same critical rows
# in corundum's netlist, but for CDC-13: there the pins of hard blocks are those that corundum's
# own constraints except. Behind a waived row the report has the next rule that the path meets, so
# some ends have two waivers.
set waivers {
  CDC-1 cmac_gty_ch_wrapper * gt_txpolarity_sync_reg_reg/D
  "A setting of software, which moves between packets at most; the transceiver's port takes it as a level."
  CDC-1 cmac_gty_ch_wrapper * gt_txinhibit_sync_reg_reg/D
  "A setting of software, which moves between packets at most; the transceiver's port takes it as a level."
  CDC-1 cmac_gty_ch_wrapper * gt_rxpolarity_sync_reg_reg/D
  "A setting of software, which moves between packets at most; the transceiver's port takes it as a level."
  CDC-4 cmac_gty_ch_wrapper * gt_txprbssel_sync_reg_reg[*]/D
  "The pattern of a test of the serial line, in which no packet passes; a wrong one for a clock counts as an error."
  CDC-4 cmac_gty_ch_wrapper * gt_rxprbssel_sync_reg_reg[*]/D
  "The pattern of a test of the serial line, in which no packet passes; a wrong one for a clock counts as an error."
  CDC-7 cmac_gty_ch_wrapper * gt_userclk_tx_active_reg_reg/CLR
  "The reset of the transmitter clears this flag without a clock, and its clock sets it; two registers of the DRP clock take it."
  CDC-7 cmac_gty_ch_wrapper * gt_userclk_rx_active_reg_reg/CLR
  "The reset of the receiver clears this flag without a clock, and its clock sets it; two registers of the DRP clock take it."
  CDC-10 cmac_gty_wrapper * sync_reset_tx_rst_inst/sync_reg_reg[*]/PRE
  "An OR of causes of a reset: a spike of it begins a reset, which lasts four clocks. In operation no cause moves."
  CDC-10 cmac_gty_wrapper * sync_reset_rx_rst_inst/sync_reg_reg[*]/PRE
  "An OR of causes of a reset: a spike of it begins a reset, which lasts four clocks. In operation no cause moves."
  CDC-11 cmac_gty_ch_wrapper * gt_userclk_tx_active_reg_reg/CLR
  "The first lane's reset clears this flag and resets the MAC's side by two ways; the MAC leaves its reset last, behind the flag."
  CDC-11 cmac_gty_wrapper * sync_reset_tx_rst_inst/sync_reg_reg[*]/PRE
  "The first lane's reset clears its flag and resets the MAC's side by two ways; the MAC leaves its reset last, behind the flag."
  CDC-13 cmac_gty_ch_wrapper gt_tx_pd_reg_reg/C *
  "Power-down of a transmitter, a setting of software: nothing is sent when it moves."
  CDC-13 cmac_gty_ch_wrapper gt_txelecidle_reg_reg/C *
  "Electrical idle of a transmitter, a setting of software: nothing is sent when it moves."
  CDC-13 cmac_gty_wrapper * cmac_inst/inst/i_cmac_usplus_top/*/RX_SERDES_RESET*
  "The MAC's resets of its lanes: the transceivers' reset machine holds them long after the lanes' clocks run."
}

# Waives each finding in every instance of its module. A waiver that covers nothing stops the run:
# it would hide that names have changed, and the gate would then report a critical finding
# hours later.
proc apply_waivers {} {
  global waivers
  foreach {rule module from to reason} $waivers {
    foreach cell [get_cells -quiet -hierarchical -filter "ORIG_REF_NAME == $module || REF_NAME == $module"] {
      create_waiver -type CDC -id $rule -from [waived $rule $cell $from] -to [waived $rule $cell $to] -description $reason
    }
  }
}

# Pins of a waiver below an instance; *PIN is create_waiver's word for any.
proc waived {rule cell pins} {
  if {$pins eq "*"} { return *PIN }
  set found [get_pins -quiet "$cell/$pins"]
  if {[llength $found] == 0} { error "the waiver of $rule covers nothing: $cell has no $pins; mend boards/tcl/waivers.tcl" }
  return $found
}
