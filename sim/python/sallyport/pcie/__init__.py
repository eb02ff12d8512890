# SPDX-License-Identifier: Apache-2.0
"""Cards of a simulated box as PCI Express functions for QEMU, by vfio-user
(docs/reference/simulator-pcie.md)."""
