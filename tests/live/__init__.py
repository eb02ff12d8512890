# SPDX-License-Identifier: Apache-2.0
"""Boxes on TAP devices, with Linux and scapy as the hosts on their cables."""
