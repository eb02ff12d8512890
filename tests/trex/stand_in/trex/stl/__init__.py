# SPDX-License-Identifier: Apache-2.0
"""Stateless mode."""
