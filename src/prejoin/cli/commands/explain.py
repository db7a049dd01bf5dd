"""`prejoin explain`: the meaning of a message, by its code."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from prejoin.cli.command import command
from prejoin.cli.outcome import Line, Outcome
from prejoin.cli.output import width_of
from prejoin.cli.text.messages import with_code_style
from prejoin.cli.text.tables import table
from prejoin.diagnostics import Code
from prejoin.pipeline import codes
from prejoin.pipeline.errors import InvalidArgumentError

_CATALOGUES = ("prejoin.pipeline.codes", "prejoin.workload.codes", "prejoin.design.codes", "prejoin.migrate.codes")
"""The modules with a `CATALOGUE` of messages."""


def catalogue() -> Mapping[str, Code]:
    messages: dict[str, Code] = {}
    for module in _CATALOGUES:
        messages |= import_module(module).CATALOGUE
    return dict(sorted(messages.items()))


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [code for code in catalogue() if code.startswith(incomplete.upper())]


@command("explain")
@click.argument("code", required=False, shell_complete=_complete)
def explain(code: str | None) -> Outcome:
    """Explain a message by its CODE (PJ120, pj120 or 120); without one, list them all."""
    messages = catalogue()
    if code is None:
        rows = [
            (message_code.id, message_code.severity.value, message_code.title) for message_code in messages.values()
        ]
        return Outcome(
            result={"codes": [_brief(message_code) for message_code in messages.values()]},
            page=table(rows, ("bold", "", "")),
        )
    found_code = messages.get(_normal(code))
    if found_code is None:
        message, fix = f"there is no message with the code `{code}`", _suggestion(code, messages)
        raise InvalidArgumentError(codes.MISUSED, message, fix)
    head: Line = ((found_code.id, "bold"), f" · {found_code.severity} · ", (found_code.title, "bold"))
    body = [with_code_style(line) for line in _lines(found_code.explanation, width_of(sys.stdout))][:-1]
    return Outcome(result={**_brief(found_code), "explanation": found_code.explanation}, page=[head, (), *body])


def _lines(text: str, width: int | None) -> Iterator[str]:
    """The lines of a text; on a terminal, paragraphs are wrapped to its width, and examples are not."""
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        example = any(line.startswith((" ", "|", "-")) for line in lines)
        yield from lines if example or width is None else textwrap.wrap(" ".join(lines), min(width, 100))
        yield ""


def _brief(code: Code) -> dict[str, Any]:
    return {"code": code.id, "severity": code.severity.value, "title": code.title}


def _normal(code: str) -> str:
    digits = re.sub(r"\A\s*+(?:pj)?[-\s]*", "", code.lower()).strip()
    return f"PJ{digits.zfill(3)}" if digits.isascii() and digits.isdigit() else code.strip().upper()


def _suggestion(code: str, messages: Mapping[str, Code]) -> str:
    """Codes with a similar number or, if there are none, with the word in their title."""
    normal_code, word = _normal(code), code.lower().strip()
    tail = normal_code.removeprefix("PJ").lstrip("0")
    close = [candidate for candidate in messages if tail.isdigit() and candidate.removeprefix("PJ").startswith(tail)]
    close = close or [
        candidate.id for candidate in messages.values() if len(word) > 2 and word in candidate.title.lower()
    ]
    close = close or get_close_matches(normal_code, messages, 3, 0.75)
    names = ", ".join(f"`{candidate}` ({messages[candidate].title})" for candidate in close[:4])
    return f"did you mean {names}?" if names else "`prejoin explain` lists them all"
