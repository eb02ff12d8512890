"""The board flow's Python: board data, what is generated from it, and the checks that need no Vivado."""
