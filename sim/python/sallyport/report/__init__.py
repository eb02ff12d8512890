# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: tables on the terminal, an HTML page that needs no network, CSV and
JSON (docs/reference/report.md)."""

from sallyport.report.files import check_places, kept, write, write_all, write_rows
from sallyport.report.kinds import verdict
from sallyport.report.page import html
from sallyport.report.terminal import table

__all__ = ["check_places", "html", "kept", "table", "verdict", "write", "write_all", "write_rows"]
