# SPDX-License-Identifier: Apache-2.0
"""Trials of a command: where they are made (this process, a pool, a cluster) and what is remembered of them."""

from sallyport.sweep.cache import Cache
from sallyport.sweep.cluster import ClusterPool, Where
from sallyport.sweep.pool import LocalPool, Pool
from sallyport.sweep.trials import Trials

__all__ = ["Cache", "ClusterPool", "LocalPool", "Pool", "Trials", "Where"]
