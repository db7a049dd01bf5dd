"""The first page of a table design, for reviewers: structures, price, risks and assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from msgspec.structs import replace

from prejoin.design.checks import check_design
from prejoin.design.cost.assumed import assumed
from prejoin.design.cost.assumptions import Assumption
from prejoin.design.cost.bill import Bill
from prejoin.design.document.annotations import Validation
from prejoin.design.explain.phrases import count, money, rate
from prejoin.design.model import Design, Units
from prejoin.diagnostics import Severity
from prejoin.keys import KeyValueError, Template, TemplateError
from prejoin.keys.template.encoding import Encoding
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
    lines = [ExpensiveLine(one.pattern, one.rate, one.units, one.dollars) for one in cost.patterns if one.dollars]
    lines += [ExpensiveLine(b.about, b.rate, b.units, b.dollars, b.text) for b in cost.background if b.dollars]
    return sorted(lines, key=lambda line: (-line.dollars, line.name))[:MOST_LINES]


def facts(
    design: Design, workload: Workload, cost: Bill, validation: Sequence[Validation] = ()
) -> Iterator[tuple[str, list[str]]]:
    """The facts for a reviewer, by label. `validation` has the results of the proof."""
    counted = [
        (len(design.indexes), "index", "indexes"),
        (len(design.copies), "copy", "copies"),
        (len(design.guards), "guard", "guards"),
        (len(design.counters), "sharded counter", "sharded counters"),
        (1 if design.stores else 0, "object store", "object stores"),
    ]
    parts = [count(number, one, many) for number, one, many in counted if number]
    held = count(len({item.entity for item in design.items}), "entity", "entities")
    yield "Structures", [f"one table for {held}" + (f", {', '.join(parts)}" if parts else ", no index and no copy")]
    if design.operations:
        served = sum(operation.served for operation in design.operations)
        yield "Served", [f"{served} of {count(len(design.operations), 'access pattern')}"]
        yield "Price", list(_price(cost))
    yield "Risks", _some(list(_risks(design, workload, validation))) or ["the checks have no error and no warning"]
    yield "Assumed", _some(list(_assumed(design, workload))) or ["nothing: the document says all of it"]
    if numbers := list(_numbers(design, workload)):
        yield "Numbers in keys", ["; ".join(numbers)]


def _risks(design: Design, workload: Workload, validation: Sequence[Validation]) -> Iterator[str]:
    """The errors and warnings about the design and its access patterns, and what the proof did not confirm."""
    diagnostics = [one for one in check_design(design, workload) if one.severity is not Severity.HINT]
    for one in diagnostics:
        yield f"{one.code}: {one.message}"
    reported = {one.about for one in diagnostics}
    for operation in design.operations:
        if not operation.served and operation.pattern not in reported:
            yield f"{operation.pattern} is not served: {operation.problem}"
    for row in validation:
        if row.check in DOUBTS:
            yield f"{row.check}: {row.result}" + (f", {row.detail}" if row.detail else "")
    for one in check_workload(workload):
        if one.severity is not Severity.HINT:
            yield f"{one.code}: {one.message}"


def _price(cost: Bill) -> Iterator[str]:
    """The price of a month. If it includes more than patterns and storage, with its parts."""
    yield f"{money(cost.total)} a month on demand, {money(cost.kept)} of it storage"
    for line in cost.background:
        part = f"{money(line.dollars)} of it" if line.dollars else "nothing"
        yield f"{part} for {line.about}: {line.text}, {rate(line.rate)}"


def _assumed(design: Design, workload: Workload) -> Iterator[str]:
    """Each assumption once, with all names that it is about."""
    about: dict[Assumption, list[str]] = {}
    for one in assumed(workload, design):
        about.setdefault(replace(one, about=""), []).append(one.about)
    for one, names in about.items():
        yield str(replace(one, about=", ".join(names)))


def _some(said: list[str]) -> list[str]:
    more = len(said) - MOST_SAID
    return said if more <= 1 else [*said[:MOST_SAID], f"and {more} more"]


def _numbers(design: Design, workload: Workload) -> Iterator[str]:
    """Each number format in the keys of a design."""
    found: dict[str, Encoding] = {}
    for item in design.items:
        entity = workload.entity(item.entity)
        types = {a.name: a.type for a in entity.attributes} if entity else {}
        for text in (t for facet in item.facets for t in (*facet.pk, *facet.sk)):
            try:
                fields = Template.of(text, types, design.separator, design.raw_keys).fields
            except TemplateError:
                continue
            numbers = [f for f in fields if f.attribute in types and types[f.attribute].numeric]
            found |= {f.spec: f.encoding for f in numbers if not f.encoding.derived}
    for spec, encoding in sorted(found.items()):
        name = f"{{n:{spec}}}" if spec else "{n}"
        order = "from the largest to the smallest" if encoding.descending else "so that keys sort as the numbers do"
        if not encoding.ordered:
            order = "and no order depends on it"
        yield f"`{name}` writes {_written(encoding)}, {order}"


def _written(encoding: Encoding) -> str:
    """A number and its text."""
    try:
        return f"42 as `{encoding.encode(42)}`"
    except KeyValueError:  # it is padded to one digit
        return f"4 as `{encoding.encode(4)}`"
