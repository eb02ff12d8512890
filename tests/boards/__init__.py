# SPDX-License-Identifier: Apache-2.0
"""The shells of the cards: their parts under cocotb, and the generated sources and scripts of
a build."""
