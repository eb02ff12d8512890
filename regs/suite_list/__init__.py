# SPDX-License-Identifier: Apache-2.0
"""The list of ESP suites, regs/suites.yaml, and what each language makes of it."""
