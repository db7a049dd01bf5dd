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
from prejoin.cli.text.messages import coded
from prejoin.cli.text.tables import table
from prejoin.diagnostics import Code
from prejoin.pipeline import codes
from prejoin.pipeline.errors import InvalidArgumentError

_CATALOGUES = ("prejoin.pipeline.codes", "prejoin.workload.codes", "prejoin.design.codes", "prejoin.migrate.codes")
"""The modules with a `CATALOGUE` of messages."""


def catalogue() -> Mapping[str, Code]:
    found: dict[str, Code] = {}
    for module in _CATALOGUES:
        found |= import_module(module).CATALOGUE
    return dict(sorted(found.items()))


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [code for code in catalogue() if code.startswith(incomplete.upper())]


@command("explain")
@click.argument("code", required=False, shell_complete=_complete)
def explain(code: str | None) -> Outcome:
    """Explain a message by its CODE (PJ120, pj120 or 120); without one, list them all."""
    known = catalogue()
    if code is None:
        rows = [(c.id, c.severity.value, c.title) for c in known.values()]
        return Outcome(result={"codes": [_brief(c) for c in known.values()]}, page=table(rows, ("bold", "", "")))
    found = known.get(_normal(code))
    if found is None:
        message, fix = f"there is no message with the code `{code}`", _meant(code, known)
        raise InvalidArgumentError(codes.MISUSED, message, fix)
    head: Line = ((found.id, "bold"), f" · {found.severity} · ", (found.title, "bold"))
    body = [coded(line) for line in _lines(found.explanation, width_of(sys.stdout))][:-1]
    return Outcome(result={**_brief(found), "explanation": found.explanation}, page=[head, (), *body])


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


def _meant(code: str, known: Mapping[str, Code]) -> str:
    """Codes with a similar number or, if there are none, with the word in their title."""
    given, word = _normal(code), code.lower().strip()
    tail = given.removeprefix("PJ").lstrip("0")
    close = [c for c in known if tail.isdigit() and c.removeprefix("PJ").startswith(tail)]
    close = close or [c.id for c in known.values() if len(word) > 2 and word in c.title.lower()]
    close = close or get_close_matches(given, known, 3, 0.75)
    named = ", ".join(f"`{c}` ({known[c].title})" for c in close[:4])
    return f"did you mean {named}?" if named else "`prejoin explain` lists them all"
