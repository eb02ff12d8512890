# SPDX-License-Identifier: Apache-2.0
"""The tests that run as Python: whole simulated boxes, the front end, IKE, the daemon, the boards'
shells, and the repository itself."""
