"""The command line: its commands, run to an exit status. Every exception of a command ends here."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shlex
import sys
import traceback
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from prejoin._version import __version__
from prejoin.cli import extra_of, install_command, wants_json
from prejoin.cli.command import SETTINGS, format_option
from prejoin.cli.invocation import invocation
from prejoin.cli.outcome import ExitStatus, Outcome, outcome_of
from prejoin.cli.output import OutputError, discard, emit, show
from prejoin.cli.text.messages import messages
from prejoin.diagnostics import Code
from prejoin.pipeline import codes
from prejoin.pipeline.errors import PipelineError, Source

_COMMANDS = {
    "init": "Write a document to start from.",
    "interview": "Write a document by answering questions.",
    "check": "Check a document or a design for errors, omissions and common oversights.",
    "design": "Design the table: keys, indexes and copies, explained, priced and proven.",
    "split": "Compare one table with several, and write a document for each.",
    "build": "Generate the design, typed Python with tests, infrastructure and documents.",
    "query": "Run an access pattern by its id, and show its items, requests and cost.",
    "discover": "Derive a document from a relational database and the SQL that runs on it.",
    "migrate": "Move the rows of a relational database into the table: plan, load, follow, verify.",
    "evolve": "Change a table in use from one design to the next: plan, indexes, backfill, clean.",
    "convert": "Convert a document or a design to Markdown, YAML, JSON or a NoSQL Workbench model.",
    "explain": "Explain a message by its code.",
    "schema": "Print the JSON Schema of the document, or of the command's JSON output.",
    "demo": "Run every access pattern of the example shop.",
    "serve": "Run a local DynamoDB server, for every SDK and the AWS CLI.",
    "audit": "Compare the items of a table with its schema, and repair them.",
    "policy": "Print the IAM policy that confines credentials to one tenant of a table.",
    "skill": "Install skills that teach coding agents to use this command.",
}
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Errors of a stream that cannot be written."""


class UnknownCommandError(click.UsageError):
    """There is no command of this name; `meant` is one that is similar, or empty."""

    def __init__(self, name: str, suggestion: str, context: click.Context) -> None:
        super().__init__(f"there is no command `{name}`", context)
        self.meant = suggestion


class Commands(click.Group):
    """The commands. Each is imported when it is called, so that `prejoin --help` is quick."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(_COMMANDS)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"prejoin.cli.commands.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            matches = get_close_matches(args[0].lower(), _COMMANDS, 1)
            raise UnknownCommandError(args[0], matches[0] if matches else "", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group("prejoin", cls=Commands, context_settings=SETTINGS, no_args_is_help=True)
@click.version_option(__version__, message="%(prog)s %(version)s")
@format_option
def cli(**_: Any) -> None:
    """Design, prove and run a single DynamoDB table for the access patterns of your application.

    \b
    Start with
      prejoin init           to write a document, or
      prejoin interview      to be asked for its contents
      prejoin check          to check it
      prejoin design         to design its table
      prejoin build          to generate the design and the code
    """


def run(arguments: list[str]) -> int:
    """Runs a command line, and returns its exit status. Every error becomes a message."""
    _open_streams()
    as_json = wants_json(arguments)
    name = next((word for word in arguments if word in cli.names), "")
    try:
        try:
            status = cli.main(arguments, prog_name="prejoin", standalone_mode=False)
        except Exception as problem:
            if isinstance(problem, OutputError):
                raise
            if isinstance(problem, OSError) and problem.filename is None and problem.errno in _FULL:
                discard(sys.stdout)  # otherwise the interpreter would try to write the rest when it ends
                raise OutputError(problem) from None  # click prints help and version by itself
            outcome = _outcome(problem, arguments)
            emit(name, outcome, as_json)
            return int(outcome.status)
    except KeyboardInterrupt:
        return _emit_interruption(name, as_json)
    except OutputError as problem:
        show(messages(problem.sources), sys.stderr)
        return int(ExitStatus.FAILED)
    return status if isinstance(status, int) else 0


def _open_streams() -> None:
    """Replaces closed streams by the null device. Otherwise the next file to be opened would take their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an ASCII terminal shows `?` for other characters


def _outcome(problem: Exception, arguments: list[str]) -> Outcome:
    if isinstance(problem, PipelineError):
        return outcome_of(problem)
    if isinstance(problem, click.Abort):
        raise KeyboardInterrupt
    if isinstance(problem, click.exceptions.NoArgsIsHelpError):
        help_text = problem.ctx.get_help() if problem.ctx else ""
        return _message_outcome(
            ExitStatus.MISUSED, codes.MISUSED, "no command is given", "name one of these", (help_text,)
        )
    if isinstance(problem, click.ClickException):
        return _message_outcome(ExitStatus.MISUSED, codes.MISUSED, *_usage(problem))
    if isinstance(problem, ModuleNotFoundError) and (extra := extra_of(problem, arguments)):
        message = f"this needs `{problem.name}`, which is not installed"
        fix = f"in a clone of prejoin: `{install_command(extra)}`"
        return _message_outcome(ExitStatus.NOT_INSTALLED, codes.NOT_INSTALLED, message, fix)
    if os.environ.get("PREJOIN_DEBUG"):
        traceback.print_exception(problem)
    message = f"this is a bug in prejoin: {type(problem).__name__}"
    rerun = f"PREJOIN_DEBUG=1 {invocation()} {shlex.join(arguments)}"
    return _message_outcome(
        ExitStatus.FAULT, codes.FAULT, message, f"see the traceback with `{rerun}`, and please report it"
    )


def _message_outcome(status: ExitStatus, code: Code, message: str, fix: str, notes: tuple[str, ...] = ()) -> Outcome:
    return Outcome(status, sources=(Source("", "", (code.at(None, message, fix),)),), notes=notes)


def _usage(problem: click.ClickException) -> tuple[str, str]:
    """An error of click as our messages are written: it begins with a small letter and has no full stop."""
    message, suggestion = problem.format_message().strip().rstrip("."), ""
    if isinstance(problem, click.NoSuchOption):
        message = f"there is no option `{problem.option_name}`"
        suggestion = " or ".join(f"`{name}`" for name in problem.possibilities or ())
    elif isinstance(problem, UnknownCommandError):
        suggestion = f"`{problem.meant}`" if problem.meant else ""
    context = problem.ctx if isinstance(problem, click.UsageError) else None
    path = context.command_path if context else "prejoin"
    see = f"see `{path} --help`"
    text = message[:1].lower() + message[1:] if message[1:2].islower() or message[1:2] == " " else message
    return text, f"did you mean {suggestion}? {see}" if suggestion else see


def _emit_interruption(name: str, as_json: bool) -> int:
    fix = "run the command again; no file is half written"
    with contextlib.suppress(KeyboardInterrupt, PipelineError):
        emit(name, _message_outcome(ExitStatus.INTERRUPTED, codes.INTERRUPTED, "interrupted", fix), as_json)
    return int(ExitStatus.INTERRUPTED)
