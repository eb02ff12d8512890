# SPDX-License-Identifier: Apache-2.0
"""The board flow's Python: board data, the files generated from it, and the checks that need
no Vivado."""
