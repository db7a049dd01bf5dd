"""The first page of a table design, for reviewers: structures, price, risks and assumptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal

from msgspec.structs import replace

from prejoin.design.checks import check_design
from prejoin.design.cost.assumed import assumed
from prejoin.design.cost.assumptions import Assumption
from prejoin.design.cost.bill import Bill
from prejoin.design.document.annotations import Validation
from prejoin.design.model import Design, Item, Units
from prejoin.design.phrases import count, money, rate
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.keys import KeyField, KeyValueError, Template, TemplateError
from prejoin.keys.template.encoding import Encoding
from prejoin.types import Type
from prejoin.workload.checks import check as check_workload
from prejoin.workload.model import Model, Workload

MOST_LINES = 5
"""The most patterns and requests in the background that are listed as expensive."""
DOUBTS = frozenset({"Not proven", "Table after the proof", "Figures"})
"""Results of the proof, and of the second calculation, that are risks."""
MOST_SAID = 8
"""The most risks and assumptions listed."""


class ExpensiveLine(Model, frozen=True):
    """A pattern, or a kind of request in the background, with its price."""

    name: str
    rate: float
    units: Units
    dollars: Decimal
    text: str = ""
    """What a request in the background does."""


def dearest(cost: Bill) -> list[ExpensiveLine]:
    """The most expensive patterns and requests in the background."""
    lines = [ExpensiveLine(cost.pattern, cost.rate, cost.units, cost.dollars) for cost in cost.patterns if cost.dollars]
    lines += [
        ExpensiveLine(cost.about, cost.rate, cost.units, cost.dollars, cost.text)
        for cost in cost.background
        if cost.dollars
    ]
    return sorted(lines, key=lambda line: (-line.dollars, line.name))[:MOST_LINES]


def facts(
    design: Design, workload: Workload, cost: Bill, validation: Sequence[Validation] = ()
) -> Iterator[tuple[str, list[str]]]:
    """The facts for a reviewer, by label. `validation` has the results of the proof."""
    yield "Structures", [_structures_line(design)]
    if design.operations:
        served_count = sum(operation.served for operation in design.operations)
        yield "Served", [f"{served_count} of {count(len(design.operations), 'access pattern')}"]
        yield "Price", list(_price_lines(cost))
    risks = _shorten(list(_risk_lines(design, workload, validation)))
    yield "Risks", risks or ["the checks have no error and no warning"]
    assumptions = _shorten(list(_assumption_lines(design, workload)))
    yield "Assumed", assumptions or ["nothing: the document says all of it"]
    if formats := list(_number_format_lines(design, workload)):
        yield "Numbers in keys", ["; ".join(formats)]


def _structures_line(design: Design) -> str:
    entities = count(len({item.entity for item in design.items}), "entity", "entities")
    return f"one table for {entities}, {', '.join(structure_words(design)) or 'no index and no copy'}"


def structure_words(design: Design) -> list[str]:
    """The structures of a design beside its table: `2 indexes`, `1 copy`."""
    plurals = {"index": "indexes", "copy": "copies"}
    counts = design.structure_counts()
    return [count(number, word, plurals.get(word, "")) for word, number in counts.items() if number]


def _risk_lines(design: Design, workload: Workload, validation: Sequence[Validation]) -> Iterator[str]:
    """The errors and warnings about the design and its access patterns, and what the proof did not confirm."""
    diagnostics = _without_hints(check_design(design, workload))
    for diagnostic in diagnostics:
        yield f"{diagnostic.code}: {diagnostic.message}"
    reported_patterns = {diagnostic.about for diagnostic in diagnostics}
    for operation in design.operations:
        if not operation.served and operation.pattern not in reported_patterns:
            yield f"{operation.pattern} is not served: {operation.problem}"
    for row in validation:
        if row.check in DOUBTS:
            yield f"{row.check}: {row.result}" + (f", {row.detail}" if row.detail else "")
    for diagnostic in _without_hints(check_workload(workload)):
        yield f"{diagnostic.code}: {diagnostic.message}"


def _without_hints(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    return [diagnostic for diagnostic in diagnostics if diagnostic.severity is not Severity.HINT]


def _price_lines(cost: Bill) -> Iterator[str]:
    """The price of a month. If it includes more than patterns and storage, with its parts."""
    yield f"{money(cost.total)} a month on demand, {money(cost.kept)} of it storage"
    for line in cost.background:
        part = f"{money(line.dollars)} of it" if line.dollars else "nothing"
        how_often = f", {rate(line.rate)}" if line.rate else ""
        yield f"{part} for {line.about}: {line.text}{how_often}"


def _assumption_lines(design: Design, workload: Workload) -> Iterator[str]:
    """Each assumption once, with all names that it is about."""
    names_by_assumption: dict[Assumption, list[str]] = {}
    for assumption in assumed(workload, design):
        names_by_assumption.setdefault(replace(assumption, about=""), []).append(assumption.about)
    for assumption, names in names_by_assumption.items():
        yield str(replace(assumption, about=", ".join(names)))


def _shorten(lines: list[str]) -> list[str]:
    """The first lines, and how many more there are. One more is listed: its line is no longer than that number's."""
    omitted_count = len(lines) - MOST_SAID
    return lines if omitted_count <= 1 else [*lines[:MOST_SAID], f"and {omitted_count} more"]


def _number_format_lines(design: Design, workload: Workload) -> Iterator[str]:
    """Each number format in the keys of a design."""
    encodings: dict[str, Encoding] = {}
    for item in design.items:
        entity = workload.entity(item.entity)
        types = entity.types if entity else {}
        for field in _key_fields(item, types, design):
            is_number = field.attribute in types and types[field.attribute].numeric
            if is_number and not field.encoding.derived:
                encodings[field.spec] = field.encoding
    for spec, encoding in sorted(encodings.items()):
        name = f"{{n:{spec}}}" if spec else "{n}"
        order = "from the largest to the smallest" if encoding.descending else "so that keys sort as the numbers do"
        if not encoding.ordered:
            order = "and no order depends on it"
        yield f"`{name}` writes {_number_example(encoding)}, {order}"


def _key_fields(item: Item, types: Mapping[str, Type], design: Design) -> Iterator[KeyField]:
    """The fields in the keys of an item. Templates that cannot be read have none: checks report them."""
    for facet in item.facets:
        for text in facet.templates:
            with suppress(TemplateError):
                yield from Template.of(text, types, design.separator, design.raw_keys).fields


def _number_example(encoding: Encoding) -> str:
    """A number and its text."""
    try:
        return f"42 as `{encoding.encode(42)}`"
    except KeyValueError:  # it is padded to one digit
        return f"4 as `{encoding.encode(4)}`"
