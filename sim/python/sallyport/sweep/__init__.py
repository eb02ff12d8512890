# SPDX-License-Identifier: Apache-2.0
"""Trials of a command: where they run (this process, a pool, a cluster), and the cache of
their results."""

from sallyport.sweep.cache import Cache
from sallyport.sweep.cluster import ClusterPool, Where
from sallyport.sweep.pool import LocalPool, Pool
from sallyport.sweep.trials import Trials

__all__ = ["Cache", "ClusterPool", "LocalPool", "Pool", "Trials", "Where"]
