"""Attack: all documents and designs of the project, mutated, through `prejoin check`.

Bytes, lines, cells and words are changed, removed, repeated, and moved between documents. `check` must end with one
envelope of coded messages and a documented status, never with a traceback, and in a time like that of the document
it was made from.
"""

from __future__ import annotations

import io
import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from prejoin.cli.run import run as command
from prejoin.workload.files import read_text, write_text

from .places import ROOT
from .result import Result

PATTERNS, DESIGN = "access-patterns", "table-design"
SLOW = 2.0
"""Seconds of CPU that any document may take; a slower one is compared with the document it was made from."""
LIMIT = 60.0
"""Seconds of CPU after which a check is broken off."""
HOSTILE = [
    *[
        "|",
        "||||||||",
        "\\|",
        "`",
        "``",
        "**",
        "_",
        "<!--",
        "-->",
        "<br>",
        "[]",
        "[x](y)",
        "&amp;",
        "{",
        "}}",
        "{{a}}",
        "→",
    ],
    *[
        "#",
        "## Entities",
        "# ",
        "- ",
        "> ",
        "---",
        "|---|",
        "```",
        "    ",
        "\t",
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "\x00",
        "\x0c",
    ],
    *[
        "\u2028",
        "\u202e",
        "\ufeff",
        "\ud7ff",
        "\U0010ffff",
        "é",
        "İ",
        "0",
        "-1",
        "1e999",
        "9" * 400,
        "NaN",
        "null",
        "~",
    ],
    *["&a [*a]", "*a", "!!python/object:os.system", "? ", ": ", "%", "'", '"', "\\", "${HOME}", "$(id)", "../../etc"],
    *[
        " or ",
        "or",
        "filter a or b = 1 or",
        "a or " * 300,
        "filter ",
        "(keeps 5%)",
        "(keeps 0%)",
        " / ",
        "?",
        "upsert ",
    ],
    *["- User needs its own restore", "- A, A and B need their own stream", " and " * 300, "- **Retention**: 9 days"],
    *["x" * 5000, "(" * 300, "[" * 300, "> " * 300, "a, " * 300, "{a}#" * 100, "| a " * 200],
]


@dataclass(frozen=True)
class Source:
    name: str
    kind: str
    """`access-patterns` or `table-design`."""
    form: str
    data: bytes
    patterns: bytes = b""
    """Of a design: the document that it is for."""


class TooSlow(BaseException):
    """Not an Exception: nothing in the command may take it for an error of its own."""


def run(seconds: float, seed: int) -> Result:
    result = Result()
    end = time.monotonic() + seconds
    found = sources()
    with TemporaryDirectory() as folder:
        number = 0
        while number == 0 or time.monotonic() < end:
            wrong = attack_once(found, Random(f"{seed}/{number}"), Path(folder))
            result.tries += 1
            if wrong:
                result.findings.append(f"documents, seed {seed}/{number}: {wrong}")
            number += 1
    return result


def attack_once(found: list[Source], chance: Random, folder: Path) -> str:
    """One mutated document; what is wrong with the answer, or nothing."""
    source = chance.choice(found)
    data = mutated(source, chance.choice(found), chance)
    wrong, took = checked(source, data, folder)
    if not wrong and took > SLOW:
        _, usual = checked(source, source.data, folder)
        if took > SLOW + 20 * usual:
            wrong = f"{took:.1f} s of CPU for {len(data)} bytes; unchanged {usual:.2f} s"
    return wrong and f"{source.name} mutated: {wrong}"


def sources(*patterns: str) -> list[Source]:
    """Documents of the project (all if none is named) with their designs; the documents in all three forms."""
    found: list[Source] = []
    wanted = patterns or ("examples/*/access-patterns.md", "tests/corpus/*/access-patterns.md")
    for path in sorted(path for pattern in wanted for path in ROOT.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        name = str(path.relative_to(ROOT))
        found.append(Source(name, PATTERNS, "md", text.encode()))
        workload = read_text(text, "md").workload
        found += [
            Source(f"{name} as {form}", PATTERNS, form, write_text(workload, form).encode())
            for form in ("yaml", "json")
        ]
        designs = {"md": path.with_name("table-design.md"), "yaml": path.with_name("expert.yaml")}
        found += [
            Source(str(design.relative_to(ROOT)), DESIGN, form, design.read_bytes(), text.encode())
            for form, design in designs.items()
            if design.exists()
        ]
    assert len({(source.kind, source.form) for source in found}) == 5, "documents of a kind are missing"
    return found


def checked(source: Source, data: bytes, folder: Path) -> tuple[str, float]:
    """What is wrong with the answer of `prejoin check`, and its seconds of CPU."""
    file = folder / f"{source.kind}.{source.form}"
    file.write_bytes(data)
    arguments = ["check", "--format", "json", str(file)]
    if source.patterns:
        patterns = folder / "patterns.md"
        patterns.write_bytes(source.patterns)
        arguments += ["--for", str(patterns)]
    out = io.StringIO()
    begun = time.process_time()
    try:
        with redirect_stdout(out), redirect_stderr(out), _limited():
            status = command(arguments)
    except TooSlow:
        return f"broken off after {LIMIT:.0f} s of CPU, {len(data)} bytes", time.process_time() - begun
    except BaseException as error:
        return f"{type(error).__name__}: {error}", time.process_time() - begun
    return problem(status, out.getvalue(), data), time.process_time() - begun


def problem(status: int, text: str, data: bytes) -> str:
    try:
        envelope: dict[str, Any] = json.loads(text)
    except ValueError:
        return f"status {status}, and no envelope: {text[-300:]}"
    if status not in (0, 1):
        return f"status {status}: {envelope.get('diagnostics')}"[:500]
    lines = data.decode("utf-8", "replace")
    most = 1 + max(len(lines.splitlines()), lines.count("\n"), lines.count("\r")) + 1
    for said in envelope["diagnostics"]:
        if not (said["code"].startswith("PJ") and said["message"] and said["fix"]):
            return f"a message lacks its code, text or fix: {said}"
        if not 0 <= said.get("line", 0) <= most:
            return f"line {said['line']} of {most}: {said['code']} {said['message']}"
    if status == 1 and not any(said["severity"] == "error" for said in envelope["diagnostics"]):
        return "it failed, and does not say why"
    return ""


@contextmanager
def _limited() -> Iterator[None]:
    """Raises TooSlow in the block after LIMIT seconds of CPU."""

    def stop(*_: Any) -> None:
        raise TooSlow

    handler = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)


# --- Mutations ------------------------------------------------------------------------------------------------------


def mutated(source: Source, other: Source, chance: Random) -> bytes:
    data = source.data
    for _ in range(chance.choice([1, 1, 2, 4, 10])):
        change = chance.choice(MUTATIONS)
        data = change(data, other.data, chance)
    return data


def _bytes(data: bytes, _: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    new = chance.choice([b"", chance.randbytes(1), b"\x00", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf"])
    return data[:at] + new + data[at + chance.choice([0, 1, 1, 8]) :]


def _insert(data: bytes, _: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(HOSTILE).encode() + data[at + chance.choice([0, 0, 1, 3, 40]) :]


def _lines(data: bytes, other: bytes, chance: Random) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    match chance.choice(["remove", "repeat", "move", "many", "foreign", "cut", "join"]):
        case "remove":
            del lines[at : at + chance.choice([1, 1, 5, 50])]
        case "repeat":
            lines.insert(chance.randrange(len(lines) + 1), lines[at])
        case "move":
            lines.insert(chance.randrange(len(lines)), lines.pop(at))
        case "many":
            lines[at:at] = [lines[at]] * chance.choice([10, 100])
        case "foreign":
            lines.insert(at, chance.choice(other.split(b"\n")))
        case "cut":
            lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
        case _:
            lines[at : at + 2] = [b" ".join(lines[at : at + 2])]
    return b"\n".join(lines)


def _cells(data: bytes, other: bytes, chance: Random) -> bytes:
    """A cell of a table replaced: by another cell, a hostile text, or nothing."""
    rows = [number for number, line in enumerate(data.split(b"\n")) if line.count(b"|") > 1]
    if not rows:
        return _words(data, other, chance)
    lines = data.split(b"\n")
    at = chance.choice(rows)
    cells = lines[at].split(b"|")
    new = [
        chance.choice(HOSTILE).encode(),
        b"",
        chance.choice(cells),
        chance.choice(lines[chance.choice(rows)].split(b"|")),
    ]
    cells[chance.randrange(len(cells))] = chance.choice(new)
    lines[at] = b"|".join(cells)
    return b"\n".join(lines)


def _words(data: bytes, other: bytes, chance: Random) -> bytes:
    words = data.split(b" ")
    words[chance.randrange(len(words))] = chance.choice(chance.choice([words, other.split(b" ")]))
    return b" ".join(words)


def _cut(data: bytes, _: bytes, chance: Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)] if chance.random() < 0.2 else data


Mutation = Callable[[bytes, bytes, Random], bytes]
MUTATIONS: list[Mutation] = [_bytes, _insert, _insert, _lines, _lines, _cells, _cells, _words, _cut]
