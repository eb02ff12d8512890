# SPDX-License-Identifier: Apache-2.0
"""The differential test: generated frames through both directions of a simulated box, and through a
model of it built on scapy.

From a seed come a configuration ([configuration]), frames of every kind, right and broken
([red_frames], [black_frames]), and by the raw bytes of those frames what must become of each
([red_judge], [black_judge]). [run] puts the frames through a box and compares every counter, every
punted frame and every frame sent. `python -m tests.differential --help` is its long form. Boxes
with VRFs have runs of their own ([vrf_configuration], [vrf_frames]).
"""
