# SPDX-License-Identifier: Apache-2.0
"""A cluster of simulated boxes that is one gateway without a dispatcher
(docs/reference/gateway-cluster.md): its configuration, its trials and their judgement."""
