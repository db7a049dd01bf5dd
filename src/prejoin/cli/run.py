"""Runs a command line to its exit status. Whatever happens in a command ends here, as a sentence and a status."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shlex
import sys
import traceback

import click

from prejoin.cli import extra_of, install_command, wants_json
from prejoin.cli.group import cli
from prejoin.cli.invocation import invocation
from prejoin.cli.outcome import CommandError, Outcome, Source
from prejoin.cli.output import OutputError, emit, show
from prejoin.cli.status import Status
from prejoin.cli.text.messages import messages
from prejoin.diagnostics import Code
from prejoin.pipeline import codes

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Why a stream cannot be written."""


def run(arguments: list[str]) -> int:
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
                raise OutputError(problem) from None  # click prints help and version by itself
            outcome = _outcome(problem, arguments)
            emit(name, outcome, as_json)
            return int(outcome.status)
    except KeyboardInterrupt:
        return _interrupted(name, as_json)
    except OutputError as problem:
        show(messages([problem.source]), sys.stderr)
        return int(problem.status)
    return status if isinstance(status, int) else 0


def _open_streams() -> None:
    """What goes to a stream that was closed goes nowhere. The next file to be opened would else be in its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process is
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an ASCII terminal shows `?` for what it lacks


def _outcome(problem: Exception, arguments: list[str]) -> Outcome:
    if isinstance(problem, CommandError):
        return Outcome(problem.status, problem.result, sources=(problem.source,))
    if isinstance(problem, click.Abort):
        raise KeyboardInterrupt
    if isinstance(problem, click.exceptions.NoArgsIsHelpError):
        help_text = problem.ctx.get_help() if problem.ctx else ""
        return _said(Status.MISUSED, codes.MISUSED, "no command was given", "name one of these", (help_text,))
    if isinstance(problem, click.ClickException):
        return _said(Status.MISUSED, codes.MISUSED, *_usage(problem))
    if isinstance(problem, ModuleNotFoundError) and (extra := extra_of(problem, arguments)):
        message = f"this needs `{problem.name}`, which is not installed"
        fix = f"in a clone of prejoin: `{install_command(extra)}`"
        return _said(Status.NOT_INSTALLED, codes.NOT_INSTALLED, message, fix)
    if os.environ.get("PREJOIN_DEBUG"):
        traceback.print_exception(problem)
    message = f"something went wrong that should not have: {type(problem).__name__}"
    again = f"PREJOIN_DEBUG=1 {invocation()} {shlex.join(arguments)}"
    return _said(Status.FAULT, codes.FAULT, message, f"see the traceback with `{again}`, and please report it")


def _said(status: Status, code: Code, message: str, fix: str, notes: tuple[str, ...] = ()) -> Outcome:
    return Outcome(status, sources=(Source("", "", (code.at(None, message, fix),)),), notes=notes)


def _usage(problem: click.ClickException) -> tuple[str, str]:
    """What click says, as our sentences: small at the start, no stop at the end."""
    message, _, hint = problem.format_message().partition(" Did you mean ")
    message, hint = message.strip().rstrip("."), f"`{hint.rstrip('?')}`" if hint else ""
    if isinstance(problem, click.NoSuchOption):
        message = f"there is no option `{problem.option_name}`"
        hint = " or ".join(f"`{name}`" for name in problem.possibilities or ())
    context = problem.ctx if isinstance(problem, click.UsageError) else None
    path = context.command_path if context else "prejoin"
    see = f"`{path} --help` tells how it is used"
    small = message[:1].lower() + message[1:] if message[1:2].islower() or message[1:2] == " " else message
    return small, f"did you mean {hint}? {see}" if hint else see


def _interrupted(name: str, as_json: bool) -> int:
    fix = "run the command again; no file is half written"
    with contextlib.suppress(KeyboardInterrupt, CommandError):
        emit(name, _said(Status.INTERRUPTED, codes.INTERRUPTED, "interrupted", fix), as_json)
    return int(Status.INTERRUPTED)
