"""The first page of a table design, for reviewers: structures, price, risks and assumptions."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.design.checks import check_design
from prejoin.design.cost.assumptions import Assumption, assumptions
from prejoin.design.cost.bill import Bill, PatternCost
from prejoin.design.explain.phrases import count, money
from prejoin.design.model import Design
from prejoin.diagnostics import Severity
from prejoin.keys import KeyValueError, Template, TemplateError
from prejoin.keys.template.encoding import Encoding
from prejoin.workload.model import Workload

MOST_PATTERNS = 5
"""The most patterns listed as expensive."""
MOST_SAID = 8
"""The most risks and assumptions listed."""


def dearest(cost: Bill) -> list[PatternCost]:
    """The most expensive patterns first."""
    return sorted((one for one in cost.patterns if one.dollars), key=lambda p: (-p.dollars, p.pattern))[:MOST_PATTERNS]


def facts(design: Design, workload: Workload, cost: Bill) -> Iterator[tuple[str, list[str]]]:
    """The facts for a reviewer, by label."""
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
        yield "Price", [f"{money(cost.total)} a month on demand, {money(cost.kept)} of it storage"]
    risks = [
        f"{one.code}: {one.message}" for one in check_design(design, workload) if one.severity is not Severity.HINT
    ]
    yield "Risks", _some(risks) or ["the checks have no error and no warning"]
    yield "Assumed", _some(list(_assumed(workload))) or ["nothing: the document says all of it"]
    if numbers := list(_numbers(design, workload)):
        yield "Numbers in keys", ["; ".join(numbers)]


def _assumed(workload: Workload) -> Iterator[str]:
    """Each assumption once, with all names that it is about."""
    about: dict[Assumption, list[str]] = {}
    for one in assumptions(workload):
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
