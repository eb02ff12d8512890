# SPDX-License-Identifier: Apache-2.0
# The reset comes to the asynchronous inputs at any time and leaves them two clocks before
# anything else.
foreach cell [get_cells -quiet -hierarchical -filter {(ORIG_REF_NAME =~ ResetSynchronizer* || REF_NAME =~ ResetSynchronizer*)}] {
  set_false_path -to [get_pins "$cell/settling_reg/PRE"]
  set_false_path -to [get_pins "$cell/settled_reg/PRE"]
}
