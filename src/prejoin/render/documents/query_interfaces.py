"""The page `query-interfaces.md`: each access pattern with its method, test, requests and price."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import assert_never

from prejoin.design.cost.background import BackgroundCost
from prejoin.design.cost.bill import PatternCost, bill, pattern_cost
from prejoin.design.cost.contents import contents
from prejoin.design.cost.refreshes import Refresh, refreshes
from prejoin.design.document.cells import has_html, write_code, write_name, write_prose, write_title
from prejoin.design.explain.operations import operation_words, shape
from prejoin.design.explain.phrases import amount, count, listed, money, rate, size
from prejoin.design.model import Design, Operation, Units
from prejoin.render.documents.tables import write_table
from prejoin.render.documents.titles import page_title
from prejoin.render.pattern_outcome import OUT_OF_SCOPE, operation_of, outcome
from prejoin.render.python.method import Method
from prejoin.render.python.tests import TESTS
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.quantities import write_span
from prejoin.workload.grammar.values import write_history
from prejoin.workload.grammar.writes import write_actions, write_checks
from prejoin.workload.model import Direction, Entity, Pattern, Read, Result, Sort, Workload

_BLOCK = re.compile(r"[#>|<=+*~\[-]|\d+[.)]|```|___")
"""Texts that begin a heading, a list, a quote, a table or a code block at the beginning of a line."""
_MATRIX = ("ID", "Asks for", "Method", "Test", "Operation", "Units", "A month")


def query_interfaces(
    workload: Workload,
    design: Design,
    names: Mapping[str, str],
    methods: Mapping[str, Method] | None = None,
    passed: frozenset[str] | None = None,
    unproven: Mapping[str, str] = MappingProxyType({}),
    untested: frozenset[str] = frozenset(),
) -> str:
    """The page. `names` are those of the methods, by pattern; with `methods`, it has their signatures and tests, too.

    A method is called tested only where its tests are among those that `passed`. Patterns that are `unproven`, with the
    reasons, are marked; those that are `untested` have no test.
    """
    page = _Page(workload, design, names, methods, passed, unproven, untested)
    return "\n\n".join(part for part in page.parts() if part) + "\n"


class _Page:
    def __init__(
        self,
        workload: Workload,
        design: Design,
        names: Mapping[str, str],
        methods: Mapping[str, Method] | None,
        passed: frozenset[str] | None,
        unproven: Mapping[str, str],
        untested: frozenset[str],
    ) -> None:
        self.workload = workload
        self.design = design
        self.names = names
        self.costs: Mapping[str, PatternCost] = {p.id: pattern_cost(p, design) for p in workload.patterns}
        self.bill = bill(workload, design)
        self.methods = methods or {}
        tested = {id_: method for id_, method in self.methods.items() if id_ not in untested}
        self.tests = {id_: [f"{TESTS}::{name}" for name in method.tests] for id_, method in tested.items()}
        self.passed = passed
        self.unproven = unproven
        self.coded = methods is not None

    def parts(self) -> Iterator[str]:
        yield page_title(self.workload, "query interfaces")
        yield f"> Access patterns: access-patterns.md\n> Table design: table-design.md\n> Summary: {self._summary()}"
        yield "This page is generated from the access patterns, the design and the code."
        yield "## Traceability"
        yield "For each access pattern: its method, its test, and its requests to DynamoDB."
        yield write_table(_MATRIX, [self._row(pattern) for pattern in self.workload.patterns], optional=["Test"])
        groups = (("Reads", self.workload.reads), ("Writes", self.workload.writes), ("Deletes", self.workload.deletes))
        for name, patterns in groups:
            if patterns:
                yield f"## {name}"
                for pattern in patterns:
                    yield from self._pattern(pattern)
        yield from self._background()
        yield from self._contents()
        yield from self._followed()
        yield from self._histories()

    def _background(self) -> Iterator[str]:
        """The requests that no pattern sends."""
        if self.bill.background:
            yield "## In the background"
            yield "No access pattern sends these requests. Their prices are part of the monthly total."
            yield "\n".join(f"- {_background(one)}" for one in self.bill.background)

    def _contents(self) -> Iterator[str]:
        """The large contents: how they are written and read, and what that takes."""
        found = contents(self.workload, self.design)
        if found:
            yield "## Large contents"
            yield (
                "The methods take and return a `LargeValue`: size, checksum and place. `store_large` stores a content "
                "before a method refers to it, `write_large` replaces that of an item, `read_large` reads it."
            )
            yield "\n".join(
                f"- {write_code(one.name)}: in "
                + (
                    "an object store; the client's schema is `schema(S3Store(…))`. Writing and reading take "
                    f"{count(one.object_count, 'request')} each, and no units of the table"
                    if one.stored
                    else f"{one.part_count} parts of about {size(one.part_size)}; writing takes "
                    f"{amount(one.write_units)} write units, reading {amount(one.read_units)} read units"
                )
                for one in found
            )

    def _followed(self) -> Iterator[str]:
        """The attributes that follow others: how old they may be, and what keeps them current."""
        found = refreshes(self.workload, self.design)
        if found:
            yield "## Attributes that follow others"
            yield "\n".join(f"- {_followed(one)}" for one in found)

    def _histories(self) -> Iterator[str]:
        """The entities with a history, and how their versions are read and restored."""
        kept = [entity for entity in self.workload.entities if entity.history and self.design.item(entity.name)]
        if kept:
            yield "## Version histories"
            yield "\n".join(f"- {_kept(entity)}" for entity in kept)

    def _summary(self) -> str:
        served = sum(operation.served for operation in self.design.operations)
        methods = sum(self._method(pattern) != "-" for pattern in self.workload.patterns)
        parts = [
            f"{methods} method{'s' * (methods != 1)}",
            f"{served} of {len(self.design.operations)} access patterns served",
            f"{money(self.bill.total)} a month, {money(self.bill.kept)} of it storage",
        ]
        if self.coded:
            tests = self.tests.values()
            if self.passed is None:
                parts.insert(1, f"{len(tests)} with a test")
            else:
                parts.insert(1, f"{sum(self.passed.issuperset(found) for found in tests)} tested")
        if self.unproven:
            parts.append(f"{len(self.unproven)} not proven: {', '.join(map(write_prose, self.unproven))}")
        return ", ".join(parts)

    def _operation(self, pattern: Pattern) -> Operation:
        return operation_of(self.workload, self.design, pattern)

    def _method(self, pattern: Pattern) -> str:
        """The name of the method; `-` if there is none."""
        name = self.names.get(pattern.id, "")
        if not name or not self._operation(pattern).served:
            return "-"
        return write_code(name) if not self.coded or pattern.id in self.methods else "-"

    def _row(self, pattern: Pattern) -> Mapping[str, str]:
        operation = self._operation(pattern)
        return {
            "ID": write_prose(pattern.id),
            "Asks for": write_prose(pattern.description or pattern.name),
            "Method": self._method(pattern),
            "Test": self._tests(pattern),
            "Operation": self._shape(pattern, operation) if operation.served else outcome(operation),
            "Units": _units(operation.units) if operation.served else "-",
            "A month": money(self.costs[pattern.id].dollars) if operation.served else "-",
        }

    def _shape(self, pattern: Pattern, operation: Operation) -> str:
        return f"{shape(operation)} (not proven)" if pattern.id in self.unproven else shape(operation)

    def _tests(self, pattern: Pattern) -> str:
        found = self.tests.get(pattern.id, [])
        return ", ".join(write_code(name.rpartition("::")[2]) for name in found)

    def _pattern(self, pattern: Pattern) -> Iterator[str]:
        operation = self._operation(pattern)
        method = self._method(pattern)
        head = write_prose(pattern.id)
        yield f"### {head}: {method}" if method != "-" else f"### {head}"
        about = pattern.description or pattern.name
        yield write_code(about) if about and _BLOCK.match(about) else write_prose(about)
        if (found := self.methods.get(pattern.id)) and method != "-":
            yield f"```python\n{found.signature}\n```"
        facts = self._facts(pattern, operation)
        yield "\n".join(f"- **{label}**: {_line(text)}" for label, text in facts)

    def _facts(self, pattern: Pattern, operation: Operation) -> Iterator[tuple[str, str]]:
        yield "Takes", write_inputs(pattern.inputs) or "nothing"
        if isinstance(pattern, Read):
            yield "Gives", _given(pattern)
        else:
            inputs = frozenset(one.attribute for one in pattern.inputs)
            yield "Does", write_actions(pattern.actions, inputs) or "nothing"
            if pattern.checks:
                yield "If", write_checks(pattern.checks, inputs)
        if not operation.served:
            yield _not(operation)
            return
        names = {one.attribute for one in pattern.inputs}
        yield "Sends", " ".join(operation_words(operation, self.design, names)) or "nothing: DynamoDB does it by itself"
        if operation.assumes:
            yield "The caller knows", ", ".join(map(write_code, operation.assumes))
        if operation.units and operation.requests:
            cost = self.costs[pattern.id]
            often = f"{rate(cost.rate)}, that is {money(cost.dollars)} a month"
            yield "Costs", f"{_units(operation.units)} {_word(operation.units)} a call; {often}"
        if reason := self.unproven.get(pattern.id):
            yield "Not proven", write_prose(f"it could not be run, because {reason}")
        if tests := self.tests.get(pattern.id):
            ran = self.passed is not None and self.passed.issuperset(tests)
            yield "Tested by" if ran else "Test, not run", ", ".join(map(write_code, tests))


def _background(one: BackgroundCost) -> str:
    """What happens in the background, how often, and what it costs."""
    parts = [f"{amount(n)} {word}" for n, word in ((one.units.read, "read"), (one.units.write, "write")) if n]
    units = f", {' + '.join(parts)} units each time" if parts else ""
    return f"{write_code(one.about)}: {write_prose(one.text)}; {rate(one.rate)}{units}, {money(one.dollars)} a month"


def _followed(one: Refresh) -> str:
    """How old attributes may be, and what keeps them current."""
    following, source = one.link, write_title(one.link.source.name)
    named = [(f"{following.entity.name}.{a}", f"{following.source.name}.{b}") for a, b in following.attributes.items()]
    what = listed(f"{write_code(own)} follows {write_code(theirs)}" for own, theirs in named)
    if following.within is None:
        old = f"It is as old as the last `refresh` of the {source}: call it after {_changes(one)}."
    else:
        old = f"It may be {write_span(following.within)} old: the table's stream updates it, by `keep_fresh`."
    price = f"{_units(one.units)} units in {one.requests} requests for {one.items:,.0f} items"
    often = f"{rate(one.rate)}, that is {money(one.dollars)} a month"
    return f"{what}. {old} A refresh takes {price}; {often}."


def _kept(entity: Entity) -> str:
    """How the versions of an entity are read and restored, by functions of the client."""
    title, said = write_title(entity.name), write_history(entity.history) if entity.history else ""
    return (
        f"{title} keeps {said}. `history` lists them, `version_of` reads one, `compare_versions` compares two, and "
        "`restore_version` writes one anew, as the next version. All are in `prejoin`."
    )


def _changes(one: Refresh) -> str:
    """The writes that change a source."""
    return listed(write_prose(write.id) for write in one.writes) or "a change of it"


def _line(text: str) -> str:
    """A text on one line of a list; as code, if it contains markup."""
    return write_code(text) if "\n" in text or has_html(text) else text


def _not(operation: Operation) -> tuple[str, str]:
    if operation.problem == OUT_OF_SCOPE:
        return "Out of scope", "the document says that something else than this table answers it"
    return "Not served", write_prose("; ".join(t for t in (operation.problem, operation.remedy) if t))


def _given(read: Read) -> str:
    """
    >>> from prejoin.workload.model import Direction, Sort
    >>> _given(Read("AP-1", entities=("Order",), sort=(Sort("placedAt", Direction.DESC),), paginated=True, page=20))
    'Order, by placedAt (descending), in pages of 20'
    >>> _given(Read("AP-2", entities=("User",), result=Result.ONE, needs=("name",)))
    'one User, its name'
    """
    what = listed(map(write_title, read.entities)) or "items"
    lead = f"the first {read.limit} of " if read.limit else _quantity(read)
    parts = [
        f"by {listed(_ordered(sort) for sort in read.sort)}" if read.sort else "",
        f"in pages{f' of {read.page}' if read.page else ''}" if read.paginated else "",
        f"{'its' if read.result is Result.ONE else 'their'} {listed(map(write_name, read.needs))}"
        if read.needs
        else "",
        f"{read.consistency.lower()} consistency" if read.consistency and read.is_consistent else "",
    ]
    return ", ".join([lead + what, *(part for part in parts if part)])


def _quantity(read: Read) -> str:
    match read.result:
        case Result.ONE:
            return "one "
        case Result.COUNT:
            return "how many "
        case Result.MANY | None:
            return ""
        case _:
            assert_never(read.result)


def _ordered(sort: Sort) -> str:
    return write_name(sort.attribute) + (" (descending)" if sort.direction is Direction.DESC else "")


def _word(units: Units) -> str:
    """
    >>> _word(Units(read=1)), _word(Units(read=0.5)), _word(Units(0.5, 1))
    ('unit', 'units', 'units')
    """
    return "unit" if units.read + units.write == 1 else "units"


def _units(units: Units | None) -> str:
    parts = [(units.read, "read"), (units.write, "write")] if units else []
    return " + ".join(f"{number:g} {word}" for number, word in parts if number) or "-"
