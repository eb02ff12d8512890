# SPDX-License-Identifier: Apache-2.0
"""Where things are: this clone, and what may lie beside it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Captures and vectors that are not ours to distribute; every test that takes some makes its
# own, too.
SHARED = ROOT.parent / "shared"
