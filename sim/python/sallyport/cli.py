# SPDX-License-Identifier: Apache-2.0
"""The command line of `./sallyport` (docs/reference/commands.md is its contract)."""

from __future__ import annotations

from importlib import import_module

import click

from sallyport.errors import InputError

# The module of each command, whose function is NAME_command. It is imported when it is needed:
# `replay` waits for nothing that only a search or a report uses.
COMMANDS = {
    "replay": "sallyport.commands.replay",
    "live": "sallyport.commands.live",
    "pcie": "sallyport.commands.pcie",
    "wireshark": "sallyport.commands.wireshark",
    "bench": "sallyport.commands.bench",
    "cluster": "sallyport.commands.cluster",
    "rfc2544": "sallyport.rfc2544.command",
    "compare": "sallyport.commands.compare",
    "calibrate": "sallyport.commands.calibrate",
}


class _Group(click.Group):
    """click already exits with 2 on bad usage; this keeps its message to one sentence, without the
    usage lines."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        module = COMMANDS.get(cmd_name)
        return getattr(import_module(module), f"{cmd_name}_command") if module else None

    def main(self, *args, **kwargs):
        try:
            return super().main(*args, **kwargs | {"standalone_mode": False, "prog_name": "./sallyport"})
        except click.UsageError as error:
            where = f" (see ./sallyport {error.ctx.info_name} --help)" if error.ctx and error.ctx.parent else ""
            InputError(error.format_message().rstrip(".") + where).show()
            raise SystemExit(2) from None
        except click.ClickException as error:
            error.show()
            raise SystemExit(error.exit_code) from None
        except click.Abort:
            click.echo("sallyport: interrupted", err=True)
            raise SystemExit(130) from None


@click.group(cls=_Group, name="./sallyport")
def main() -> None:
    """Simulate Sallyport boxes: RFC 2544 runs, captures through a box, TAPs on boxes,
    simulator speed."""
