"""The commands there are. Each is imported when it is called, so `prejoin --help` is there at once."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

from prejoin import __version__
from prejoin.cli.command import SETTINGS, format_option

_COMMANDS = {
    "init": "Write a document to start from.",
    "interview": "Ask, step by step, for what goes into the document.",
    "check": "Say what is wrong with a document or a design, what is missing, and what people forget.",
    "design": "Design the table: keys, indexes and copies, explained, priced and proven.",
    "build": "Make everything from the document: the design, typed Python with tests, infrastructure, pages.",
    "query": "Run an access pattern by its id, and show what it finds, sends and costs.",
    "convert": "Turn a document or a design into Markdown, YAML, JSON or a NoSQL Workbench model.",
    "explain": "Tell about a message by its code.",
    "schema": "Print the JSON Schema of the document, or of this command's JSON.",
    "demo": "Run the shop: every access pattern, answered.",
    "serve": "Be a DynamoDB on a port of this machine, for every SDK and the AWS CLI.",
    "audit": "Say what is in a table and not as its schema says, and mend it.",
    "policy": "Print the IAM policy that confines credentials to one tenant of a table.",
    "skill": "Write the skills that coding agents need to drive this command.",
}


class Commands(click.Group):
    @property
    def names(self) -> tuple[str, ...]:
        return tuple(_COMMANDS)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in _COMMANDS if find_spec(f"prejoin.cli.commands.{name}")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = getattr(import_module(f"prejoin.cli.commands.{cmd_name}"), cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            meant = get_close_matches(args[0].lower(), self.list_commands(ctx), 1)
            ctx.fail(f"there is no command `{args[0]}`." + (f" Did you mean {meant[0]}?" if meant else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name]) for name in self.list_commands(ctx)])


@click.group("prejoin", cls=Commands, context_settings=SETTINGS, no_args_is_help=True)
@click.version_option(__version__, message="%(prog)s %(version)s")
@format_option
def cli(**_: Any) -> None:
    """You write down what your application asks; prejoin designs, proves and runs the one DynamoDB table.

    \b
    Begin with
      prejoin init           a document to start from, or
      prejoin interview      which asks for what goes into it
      prejoin check          what is wrong with it, missing in it, or often forgotten
      prejoin design         the table for it
      prejoin build          all of it, with the code
    """
