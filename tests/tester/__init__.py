# SPDX-License-Identifier: Apache-2.0
"""The front end: RFC 2544 trials, reports, comparisons, and its answers to bad input."""
