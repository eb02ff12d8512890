"""cocotb's tests of one part of a shell each; tests/boards/simulation.py runs them."""
