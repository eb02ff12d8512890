# SPDX-License-Identifier: Apache-2.0
"""Boxes whose chips stand in their shells, with a card's clocks, links and PCIe, judged by scapy."""
