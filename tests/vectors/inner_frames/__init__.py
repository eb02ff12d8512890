# SPDX-License-Identifier: Apache-2.0
"""Cases of tests/vectors/test_inner_frames.py, for either path of the inner chip: scapy expressions
and what becomes of them."""
