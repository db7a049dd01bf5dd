"""Readers under attack: texts that make a parser slow, deep or confused, grown until the growth shows.

A pump is a piece of text that is repeated. A place puts the pumped text where a reader has a grammar for it: a cell of a
table, an attribute, a decision, a key template. Each is tried at growing sizes. CPU time may grow about linearly; much
more than that, and any exception that is not the reader's own, is a finding. A timer of CPU time ends what would run for
hours: `re` looks at signals while it matches.
"""

from __future__ import annotations

import gc
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from random import Random

from prejoin.design.files import read_design_text
from prejoin.design.workbench.read_model import read_workbench
from prejoin.keys import Template, TemplateError
from prejoin.pipeline.build.record import BuildRecord
from prejoin.pipeline.build.settings import read_settings
from prejoin.pipeline.errors import PipelineError
from prejoin.pipeline.query.arguments import read_value
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.expressions import Substitutions, bind_condition, bind_projection, bind_update
from prejoin.types import STRING
from prejoin.workload.files import read_text
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.statements import read_pin
from prejoin.workload.interview import answer, begin
from prejoin.workload.model import Workload
from prejoin.workload.starter import read_change, read_entity, read_question

from .result import Result

SIZES = (14, 28, 1_000, 4_000, 16_000)
"""Characters, about. An exponential pattern is slow with 28 of them, a cubic one with 1,000, a quadratic one with more."""
FLOOR = 0.01
"""Seconds of CPU time that are too few to compare."""
GROWTH = 3.0
"""A text of 4 times the length may take 4 × 3 times as long: a quadratic reader takes 16 times as long."""
FIRST = 1.0
"""Seconds for the shortest text, which there is nothing to compare with."""
TRIES = 4
"""Other processes make a try slower, never faster: the quickest counts."""
LIMIT = 6.0
"""Seconds after which a reader is stopped."""
EXPECTED = (Inexact, PipelineError, TemplateError, DynamoDBError)
"""What readers raise where they do not give diagnostics."""
Place = Callable[[str], object]


class _TooSlow(BaseException):
    """The timer ran out. Not an Exception, so that no reader takes it for one of its own."""


HEAD = "# Shop\n\n> Status: DRAFT\n\n## Entities\n\n### Order\n\n- **Attributes**:\n  - `orderId` (string, id)\n"
READ = "\n## Access Patterns\n\n### Reads\n\n| {names} |\n|{line}|\n| {cells} |\n"
READS = {
    "ID": "AP-001", "Entity": "Order", "Description": "One", "Input Parameters": "orderId", "Result": "Single",
    "Sort": "-", "Paginated": "No", "Frequency": "1/s", "Consistency": "Eventual", "Multi-Entity": "No",
}  # fmt: skip
WRITES = {
    "ID": "AP-002", "Entity": "Order", "Description": "One", "Input Parameters": "orderId",
    "Items Written": "update Order (a = b)", "Transaction": "No", "Conditions": "-", "Frequency": "1/s",
}  # fmt: skip
DESIGN = (
    "# Table Design: Shop\n\n## Table Configuration\n\n| Setting | Value |\n|---|---|\n| Table name | {name} |\n"
    "\n## Key Design\n\n### Table\n\n| Entity | PK | SK |\n|---|---|---|\n| {entity} | {pk} | {sk} |\n\n{rest}\n"
)


def _md(text: str) -> object:
    return read_text(text, "md")


def _table(kind: str, row: dict[str, str], column: str) -> Place:
    def place(text: str) -> object:
        cells = {**row, column: text.replace("|", "\\|").replace("\n", " ")}
        table = READ.replace("### Reads", f"### {kind}").format(
            names=" | ".join(cells), line="---|" * len(cells), cells=" | ".join(cells.values())
        )
        return _md(HEAD + table)

    return place


def _line(template: str) -> Place:
    """A text in the middle of a document, on one line."""
    return lambda text: _md(template.replace("{}", text.replace("\n", " ")))


def _design(**named: str) -> Place:
    def place(text: str) -> object:
        usual = {"name": "shop", "entity": "Order", "pk": "`ORDER#{orderId}`", "sk": "`#`", "rest": ""}
        cells = {name: value.replace("{}", text.replace("\n", " ")) for name, value in (usual | named).items()}
        document = DESIGN
        for name, value in cells.items():
            document = document.replace(f"{{{name}}}", value)
        return read_design_text(document, Workload(), "md")

    return place


def _workbench(text: str) -> object:
    facets = {"S": text}
    table = {
        "TableName": "t",
        "KeyAttributes": {
            "PartitionKey": {"AttributeName": "PK", "AttributeType": "S"},
            "SortKey": {"AttributeName": "SK", "AttributeType": "S"},
        },
        "NonKeyAttributes": [{"AttributeName": text[:200] or "a", "AttributeType": "S"}],
        "TableData": [{"PK": facets, "SK": {"S": f"USER#{text}"}, "type": {"S": "x"}, text[:200] or "a": {"S": text}}],
        "DataAccess": {"MySql": {}},
    }
    metadata = {"Author": "", "DateCreated": "", "DateLastModified": "", "Description": text, "Version": "3.0"}
    return read_workbench(json.dumps({"ModelName": text, "ModelMetadata": metadata, "DataModel": [table]}))


def _keys_line(text: str) -> object:
    description = f"Keys (separator `#`, type attribute {text}):"
    return read_workbench(
        json.dumps({"ModelName": "m", "ModelMetadata": {"Description": description}, "DataModel": []})
    )


def _interview(text: str) -> object:
    workload = begin(Workload())
    for given in ("Shop", text):
        workload = answer(workload, given)
    return workload


def _toml(template: str) -> Place:
    return lambda text: read_settings(template.replace("{}", text))


def _expression(bind: Callable[[str, Substitutions], object]) -> Place:
    return lambda text: bind(text[:4096], Substitutions({"#a": "a"}, {":a": {"S": "a"}}))


PLACES: dict[str, Place] = {
    "document": _md,
    "title": _line("# {}\n"),
    "header line": _line("# Shop\n\n> {}\n"),
    "header value": _line("# Shop\n\n> Status: {}\n"),
    "section": _line("# Shop\n\n## {}\n"),
    "context": _line("# Shop\n\n## Context\n\n- {}\n- Teams: {}\n"),
    "entity": _line("# Shop\n\n## Entities\n\n### {}\n\n- **Attributes**: `a` (string)\n"),
    "entity label": _line("# Shop\n\n## Entities\n\n### Order\n\n- **{}**: a\n- {}: b\n- **a{}\n"),
    "attribute": _line("# Shop\n\n## Entities\n\n### Order\n\n- **Attributes**:\n  - {}\n  - `a` ({})\n  - `b` (enum, {})\n"),
    "relationship": _line(HEAD + "- **Relationships**:\n  - {}\n  - Order 1:N {}\n  - Order 1:N Item via {}\n"),
    "cardinality": _line(HEAD + "- **Cardinality**: {}\n- **Size**: {}\n"),
    "cardinality after a number": _line(HEAD + "- **Cardinality**: ~100 {} per User\n- **Size**: 4{} KB\n"),
    "decision": _line("# Shop\n\n## Decisions\n\n- {}\n- at most {} GSIs\n- Order lives under {}\n- key {}\n"),
    "table row": _line("# Shop\n\n## Access Patterns\n\n### Reads\n\n| ID | {} |\n|---|---|\n| AP-001 | {} |\n"),
    **{f"read, {column}": _table("Reads", READS, column) for column in READS},
    **{f"write, {column}": _table("Writes", WRITES, column) for column in WRITES},
    "yaml": lambda text: read_text(f"title: {text}", "yaml"),
    "yaml string": lambda text: read_text(f"title: {json.dumps(text)}", "yaml"),
    "json": lambda text: read_text(text, "json"),
    "json string": lambda text: read_text(json.dumps({"title": text, "notes": text}), "json"),
    "design": lambda text: read_design_text(text, Workload(), "md"),
    "design name": _design(name="{}"),
    "design entity": _design(entity="{}"),
    "design copy": _design(entity="Order (copy {})"),
    "design key": _design(pk="{}", sk="`{}`"),
    "design key part": _design(pk="`A#{a{}}`", sk="`B#{}{a}`"),
    "design rest": _design(rest="{}: x\n\n> {}\n\n- **{}\n- `{}"),
    "design yaml": lambda text: read_design_text(f"table: {text}", Workload(), "yaml"),
    "workbench": _workbench,
    "workbench description": _keys_line,
    "interview answer": _interview,
    "pin": read_pin,
    "--entity": read_entity,
    "--read": lambda text: read_question(text, Workload()),
    "--read, sorted": lambda text: read_question(f"Order by {text} sort {text}", Workload()),
    "--write": lambda text: read_change(text, Workload()),
    "prejoin.toml": _toml("{}"),
    "prejoin.toml string": lambda text: read_settings(f"package = {json.dumps(text)}"),
    "prejoin.toml key": _toml("{} = 1\n[table]\n{} = 2\n"),
    "key template": lambda text: Template.of(text, {"a": STRING}),
    "key template field": lambda text: Template.of(f"A#{{a{text}}}#B", {"a": STRING}),
    "condition": _expression(bind_condition),
    "update": _expression(bind_update),
    "projection": _expression(bind_projection),
    "argument": lambda text: read_value("a", [text], int),
    "argument list": lambda text: read_value("a", [text], list[str]),
    "build record": lambda text: _record(text),
}  # fmt: skip


def _record(text: str) -> object:
    import msgspec

    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=BuildRecord)
    except (msgspec.MsgspecError, RecursionError):
        return None


PUMPS = (
    " ", "\t", "\n", "\t ", "a", "_a", "a_", "A_A ", "a ", "a,", ", ", "0", "0,", "0.", "1e", "9_", "-", "- ", "Y", "YM", "S",
    "`", "``", "`a", "*", "**", "**a", "_", "(", ")", "[", "[a](", "![", "{", "}", "{a", "{a:", "{a}", "<", "<br>", "<a ", ">",
    "> ", "#", "# ", "'", '"', '\\"', "\\", "|", "a|", ";", ": ", ":", ", a between ", "peak 0 ", " per ", " a ", "0\t", "has\t",
    " via ", " as ", " - ", "all ", " by ", " sort ", "(copy ", " / ", ":tree:r", " AND ", "NOT ", "((", "a.b", "a[0]", "&a ",
    "*a ", "- - ", "1. ", "  - ", "~~~\n", "===\n", "x\n\n", "# a\n", "| a |\n", "\u2028", "\u00e9", "\U0001f642", "'''", '"""',
    "Keys (separator `a", ", values as they stand", "a = 1\n", "[a]\n", "[[a]]\n", "a.", "{a={", "prefix", "_list", "min",
)  # fmt: skip
ENDS = ("", "!", "\0", " x", ")", "`", "}")
STARTS = ("", "a ", "0", "~1 ", "`a` (")


def _wide(n: int) -> str:
    return f"# a\n\n## Access Patterns\n\n### Reads\n\n|{'a|' * n}\n|{'-|' * n}\n|{'b|' * n}\n"


def _rows(n: int) -> str:
    row = "| AP-{} | Order | d | orderId | Single | - | No | 1/s | Eventual | No |\n"
    table = READ.format(names=" | ".join(READS), line="---|" * len(READS), cells=" | ".join(READS.values()))
    return HEAD + table + "".join(row.format(1000 + at) for at in range(n))


def _attributes(n: int) -> str:
    return (
        HEAD + "".join(f"  - `attribute{at:05d}x` (string)\n" for at in range(n)) + "  - `x` (string, references y)\n"
    )


def _wrong_names(n: int) -> str:
    row = "| AP-{0} | Ordr{0} | d | ordrId{0} | Single | x{0} | No | 1/s | Eventual | No |\n"
    table = READ.format(names=" | ".join(READS), line="---|" * len(READS), cells=" | ".join(READS.values()))
    return _attributes(n) + table + "".join(row.format(1000 + at) for at in range(n))


def _entities(n: int) -> str:
    one = "### Entity{0}\n\n- **Attributes**:\n  - `id{0}` (string, id)\n  - `other` (string, references Entity{1})\n\n"
    return "# Shop\n\n## Entities\n\n" + "".join(one.format(at, at + 1) for at in range(n))


FAMILIES: dict[str, tuple[Callable[[int], str], Place]] = {
    "wide table": (_wide, _md),
    "wide design table": (lambda n: DESIGN + _wide(n), lambda text: read_design_text(text, Workload(), "md")),
    "many rows": (_rows, _md),
    "many attributes": (_attributes, _md),
    "many wrong names": (_wrong_names, _md),
    "many entities": (_entities, _md),
    "many headings": (lambda n: "# a\n\n" + "### b\n\ntext\n\n" * n, _md),
    "many sections": (lambda n: "# a\n\n" + "".join(f"## Section {at}\n\ntext\n\n" for at in range(n)), _md),
    "many tables": (lambda n: "# a\n\n" + "| a | b |\n|---|---|\n| c | d |\n\n" * n, _md),
    "many decisions": (lambda n: HEAD + "\n## Decisions\n\n" + "- no copies for Order\n" * n, _md),
    "nested lists": (lambda n: "# a\n\n" + "".join(f"{'  ' * min(at, 60)}- b\n" for at in range(n)), _md),
    "nested quotes": (lambda n: "# a\n\n" + "".join(f"{'>' * (at % 200)} b\n" for at in range(n)), _md),
    "lazy quote": (lambda n: "> a\n" + "b\n" * n, _md),
    "link definitions": (lambda n: "".join(f"[a{at}]: b\n" for at in range(n)), _md),
    "open link definitions": (lambda n: "[a]: b 'c\n" * n, _md),
    "html": (lambda n: "<!--\n" + "a\n<!--\n" * n, _md),
    "fences": (lambda n: "~~~\n```\n" * n, _md),
    "yaml depth": (lambda n: "a: " + "[" * n, lambda text: read_text(text, "yaml")),
    "yaml blocks": (lambda n: "".join(" " * at + "- a:\n" for at in range(min(n, 300))), lambda t: read_text(t, "yaml")),
    "yaml aliases": (
        lambda n: "a: &a [x]\n" + "".join(f"b{at}: &b{at} [*a, *a, *a]\n" for at in range(n)),
        lambda text: read_text(text, "yaml"),
    ),
    "yaml keys": (lambda n: "".join(f"k{at}: 1\n" for at in range(n)), lambda text: read_text(text, "yaml")),
    "yaml merge": (lambda n: "<<: {a: b}\n" * n, lambda text: read_text(text, "yaml")),
    "yaml number": (lambda n: "a: " + "9" * n, lambda text: read_text(text, "yaml")),
    "json depth": (lambda n: '{"title":' + "[" * n, lambda text: read_text(text, "json")),
    "json objects": (lambda n: '{"a":' * n, lambda text: read_text(text, "json")),
    "json number": (lambda n: '{"title": ' + "9" * n + "}", lambda text: read_text(text, "json")),
    "json exponent": (lambda n: '{"title": 1e' + "9" * n + "}", lambda text: read_text(text, "json")),
    "json list": (lambda n: '{"entities": [' + '{"name":"a"},' * n + '{"name":"b"}]}', lambda t: read_text(t, "json")),
    "toml depth": (lambda n: "a = " + "[" * n, read_settings),
    "toml tables": (lambda n: "a = " + "{b=" * n, read_settings),
    "toml keys": (lambda n: "".join(f"k{at} = 1\n" for at in range(n)), read_settings),
    "toml dotted": (lambda n: "a" + ".a" * n + " = 1\n", read_settings),
    "toml roles": (lambda n: "[roles]\n" + "".join(f'r{at} = ["x"]\n' for at in range(n)), read_settings),
    "record depth": (lambda n: '{"files":' * n, _record),
    "template fields": (lambda n: "#".join("{a}" for _ in range(n)), lambda text: Template.of(text, {"a": STRING})),
    "conditions": (lambda n: "#a = :a AND " * min(n, 300) + "#a = :a", _expression(bind_condition)),
    "open brackets": (lambda n: "(" * n, _expression(bind_condition)),
    "not": (lambda n: "NOT " * n + "#a = :a", _expression(bind_condition)),
}  # fmt: skip
"""Whole texts that grow, and who reads them."""
FAMILY_SIZES = (50, 200, 800, 3_200)


def pumped(start: str, pump: str, end: str, characters: int) -> str:
    return start + pump * max(1, characters // len(pump)) + end


def attempt(place: Place, text: str) -> tuple[float, str]:
    """CPU seconds that a reader takes, and what went wrong.

    Without the garbage collector: its time depends on all objects of the process, not on the reader.
    """
    problem = ""
    gc.collect()
    gc.disable()
    began = time.thread_time()
    try:
        with _timer():
            place(text)
    except EXPECTED:
        pass
    except _TooSlow:
        problem = "stopped"
    except Exception as error:
        problem = f"{type(error).__name__}: {str(error)[:80]}"
    finally:
        gc.enable()
    return time.thread_time() - began, problem


def try_growth(name: str, sizes: tuple[int, ...], make: Callable[[int], str], place: Place) -> str:
    """What is wrong with a reader on a text that grows; empty where nothing is."""
    length, seconds = 0, 0.0
    for size in sizes:
        text = make(size)
        allowed = max(FLOOR, seconds) * GROWTH * max(1.0, len(text) / length) if length else FIRST
        taken = LIMIT
        for _ in range(TRIES):
            one, problem = attempt(place, text)
            taken = min(taken, one)
            if problem == "stopped" or taken > allowed * 8:
                break
            if problem:
                return f"{name}: {len(text):,} characters: {problem}"
            if taken <= allowed:
                break
        if taken > allowed:
            return (
                f"{name}: {len(text):,} characters took {taken:.3f} s of CPU, more than {allowed:.3f} s "
                f"({length:,} took {seconds:.3f} s)"
            )
        length, seconds = len(text), taken
    return ""


def cases() -> Iterator[tuple[str, tuple[int, ...], Callable[[int], str], Place]]:
    """Everything that is tried: each family, and each pump in each place."""
    for name, (make, place) in FAMILIES.items():
        yield name, FAMILY_SIZES, make, place
    for (where, place), pump, start, end in product(PLACES.items(), PUMPS, STARTS, ENDS):
        name = f"{where}: {start!r} + {pump!r} × n + {end!r}"
        yield name, SIZES, _maker(start, pump, end), place


def _maker(start: str, pump: str, end: str) -> Callable[[int], str]:
    return lambda size: pumped(start, pump, end, size)


def run(seconds: float, seed: int) -> Result:
    """Tries cases in random order until the time is over."""
    result = Result()
    found = list(cases())
    Random(seed).shuffle(found)
    gc.freeze()  # the cases are many, and each attempt collects garbage
    until = time.monotonic() + seconds
    for name, sizes, make, place in found:
        if time.monotonic() > until:
            break
        result.tries += 1
        if problem := try_growth(name, sizes, make, place):
            result.findings.append(problem)
    return result


@contextmanager
def _timer() -> Iterator[None]:
    """Raises `_TooSlow` after LIMIT seconds of CPU time, where signals can be had."""
    if not hasattr(signal, "ITIMER_VIRTUAL") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
