# SPDX-License-Identifier: Apache-2.0
"""What holds for the repository as a whole."""
