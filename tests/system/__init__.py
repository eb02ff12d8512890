# SPDX-License-Identifier: Apache-2.0
"""Management computers of other processors, booted whole: image, machine and network."""
