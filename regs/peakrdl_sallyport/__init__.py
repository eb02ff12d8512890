# SPDX-License-Identifier: Apache-2.0
"""PeakRDL exporters of Sallyport: Scala descriptors for the hardware, Go tables for the management
software."""
