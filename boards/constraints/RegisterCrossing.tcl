# SPDX-License-Identifier: Apache-2.0
# Held words are taken three edges after they were written, so two periods of the faster clock (6.6
# ns) are theirs. Levels cross in BitSynchronizer.
foreach cell [get_cells -quiet -hierarchical -filter {(ORIG_REF_NAME =~ RegisterCrossing* || REF_NAME =~ RegisterCrossing*)}] {
  set taken [get_pins "$cell/*seen*_reg[*]/D"]
  set_max_delay -datapath_only -from [all_fanin -flat -startpoints_only $taken] -to $taken 5.0
}
