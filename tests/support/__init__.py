# SPDX-License-Identifier: Apache-2.0
"""What tests of several folders use: simulated boxes, what scapy expects of them, and the hosts,
daemons and networks around them."""
