# SPDX-License-Identifier: Apache-2.0
"""The co-simulation as a tester: trials of one or two simulated boxes."""

from sallyport.backend_sim.sim_backend import SimBackend

__all__ = ["SimBackend"]
