# SPDX-License-Identifier: Apache-2.0
"""sallyportd in front of simulated boxes: its control socket, its page, its packages, and two boxes
that stand in for each other."""
