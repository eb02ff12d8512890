# SPDX-License-Identifier: Apache-2.0
"""The tests of tests/ike that need two charons alone, with those of strongSwan 6."""

from tests.ike import test_failures, test_ike, test_ppk, test_traffic

# What strongSwan 6 does otherwise, and not the plugin; and what makes charons of this machine.
LEFT_OUT = {
    "test_usage",  # packets are a sign of life with NAT traversal alone
    "test_refused_rekey",  # it closes a CHILD_SA whose successor was refused, and makes another
    "test_daemon_comes_later",
    "test_answer_timeout",
}

for _module in (test_ike, test_ppk, test_traffic, test_failures):
    globals().update({name: what for name, what in vars(_module).items() if name not in LEFT_OUT and name[:2] != "__"})
