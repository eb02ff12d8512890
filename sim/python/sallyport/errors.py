# SPDX-License-Identifier: Apache-2.0
"""How the front end fails: one sentence, and the exit status of the contract."""

from __future__ import annotations

import click


class InputError(click.ClickException):
    """Bad arguments or bad input: exit status 2."""

    exit_code = 2

    def show(self, file=None) -> None:
        """Print the sentence alone, with the program's name in front."""
        click.echo(f"sallyport: {self.format_message()}", err=True, file=file)


class CheckFailed(InputError):
    """A trial or a check failed: exit status 1."""

    exit_code = 1
