# SPDX-License-Identifier: Apache-2.0
# Held words are looked at three edges after they were written, so two periods of the faster clock (6.6 ns) are theirs. Levels cross in BitSynchronizer.
foreach cell [get_cells -quiet -hierarchical -filter {(ORIG_REF_NAME =~ RegisterCrossing* || REF_NAME =~ RegisterCrossing*)}] {
  set_max_delay -datapath_only -to [get_pins "$cell/seen*_reg[*]/D"] 5.0
}
