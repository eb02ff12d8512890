# SPDX-License-Identifier: Apache-2.0
"""Sallyport's front end: drives the co-simulation (and later a lab tester) and reports."""
