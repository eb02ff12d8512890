# SPDX-License-Identifier: Apache-2.0
"""Tables that scapy makes for the Scala tests, in interface_fpga/test/resources; each test checks
that scapy still makes them."""
