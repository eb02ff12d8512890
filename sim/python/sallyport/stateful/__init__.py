# SPDX-License-Identifier: Apache-2.0
"""The stateful tests (RFC 9411): TCP connections from clients behind one box to servers behind the
other.

`TESTS` has the applications by the names of their tests, `Wire` their size on the wire.
"""

from sallyport.stateful.application import TESTS, Application
from sallyport.stateful.wire import Wire

__all__ = ["TESTS", "Application", "Wire"]
