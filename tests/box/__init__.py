# SPDX-License-Identifier: Apache-2.0
"""Packets through one or two simulated boxes, judged by scapy."""
