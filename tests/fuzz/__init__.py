# SPDX-License-Identifier: Apache-2.0
"""The crypto chip's RTL under hostile links and registers (docs/explanation/fuzzing.md)."""
