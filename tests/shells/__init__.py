# SPDX-License-Identifier: Apache-2.0
"""Boxes whose chips stand in their shells: clocks, links and PCIe of a card, judged by scapy."""
