# SPDX-License-Identifier: Apache-2.0
"""Its stateful half: a server that was started with --astf."""
