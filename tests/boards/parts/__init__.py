# SPDX-License-Identifier: Apache-2.0
"""cocotb's tests of one part of a shell each; tests/boards/simulation.py runs them."""
