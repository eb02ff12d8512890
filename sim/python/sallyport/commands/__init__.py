# SPDX-License-Identifier: Apache-2.0
"""The commands of `./sallyport` but rfc2544, a file each."""
