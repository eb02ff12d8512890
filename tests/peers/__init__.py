# SPDX-License-Identifier: Apache-2.0
"""What programs that are not ours say of a box (docs/reference/peers.md)."""
