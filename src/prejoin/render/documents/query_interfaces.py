"""The page `query-interfaces.md`: each access pattern with its method, test, requests and price."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import assert_never

from prejoin.constructs.refreshed import FLAGS
from prejoin.constructs.registry import CONSTRUCTS, lines_in
from prejoin.design.cost.background import BackgroundCost
from prejoin.design.cost.bill import PatternCost, bill, pattern_cost
from prejoin.design.cost.contents import ContentCost, contents, stored_contents
from prejoin.design.cost.refreshes import Refresh, refreshes
from prejoin.design.document.cells import has_html, write_code, write_name, write_prose, write_title
from prejoin.design.explain.added import added_words
from prejoin.design.explain.operations import operation_words
from prejoin.design.model import Design, Operation, Units
from prejoin.design.operation_text import shape
from prejoin.design.phrases import amount, count, listed, money, rate, size
from prejoin.render.documents.tables import write_table
from prejoin.render.documents.titles import page_title
from prejoin.render.pattern_outcome import OUT_OF_SCOPE, operation_of, outcome
from prejoin.render.python.method import Method
from prejoin.render.python.tests import TESTS
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.writes import write_actions, write_checks
from prejoin.workload.model import Direction, Pattern, Read, Result, Sort, Workload

_BLOCK = re.compile(r"[#>|<=+*~\[-]|\d+[.)]|```|___")
"""Texts that begin a heading, a list, a quote, a table or a code block at the beginning of a line."""
_MATRIX = ("ID", "Asks for", "Method", "Test", "Operation", "Units", "A month")


def query_interfaces(
    workload: Workload,
    design: Design,
    names: Mapping[str, str],
    methods: Mapping[str, Method] | None = None,
    passed_tests: frozenset[str] | None = None,
    unproven: Mapping[str, str] = MappingProxyType({}),
    tests: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """The page. `names` are those of the methods, by pattern; with `methods`, it has their signatures and tests, too.

    `tests` are the names of the generated tests, by pattern. A method is called tested only where its tests are among
    the `passed_tests`. Patterns that are `unproven`, with the reasons, are marked.
    """
    page = _Page(workload, design, names, methods, passed_tests, unproven, tests)
    return "\n\n".join(filter(None, page.parts())) + "\n"


class _Page:
    def __init__(
        self,
        workload: Workload,
        design: Design,
        names: Mapping[str, str],
        methods: Mapping[str, Method] | None,
        passed_tests: frozenset[str] | None,
        unproven: Mapping[str, str],
        tests: Mapping[str, Sequence[str]],
    ) -> None:
        self.workload = workload
        self.design = design
        self.names = names
        self.costs: Mapping[str, PatternCost] = {
            pattern.id: pattern_cost(pattern, design) for pattern in workload.patterns
        }
        self.bill = bill(workload, design)
        self.methods = methods or {}
        self.tests: dict[str, list[str]] = {}
        """The tests of each pattern that has some, as pytest names them."""
        for pattern_id, test_names in tests.items():
            if test_names:
                self.tests[pattern_id] = [f"{TESTS}::{name}" for name in test_names]
        self.passed_tests = passed_tests
        self.unproven = unproven
        self.coded = methods is not None

    def parts(self) -> Iterator[str]:
        yield page_title(self.workload, "query interfaces")
        yield f"> Access patterns: access-patterns.md\n> Table design: table-design.md\n> Summary: {self._summary()}"
        yield (
            "This page is generated from the access patterns, the design and the code. It describes requests in words; "
            "table-design.md has their exact expressions, under Requests."
        )
        yield "## Traceability"
        yield "For each access pattern: its method, its test, and its requests to DynamoDB."
        yield write_table(_MATRIX, list(map(self._row, self.workload.patterns)), optional=["Test"])
        groups = (("Reads", self.workload.reads), ("Writes", self.workload.writes), ("Deletes", self.workload.deletes))
        for name, patterns in groups:
            if patterns:
                yield f"## {name}"
                for pattern in patterns:
                    yield from self._pattern(pattern)
        yield from self._background()
        yield from self._contents()
        yield from self._refreshes()
        yield from self._constructs()

    def _background(self) -> Iterator[str]:
        """The requests that no pattern sends."""
        if self.bill.background:
            yield "## In the background"
            yield "No access pattern sends these requests. Their prices are part of the monthly total."
            yield "\n".join(f"- {_background(cost)}" for cost in self.bill.background)

    def _contents(self) -> Iterator[str]:
        """The large contents: how they are written and read, and what that takes."""
        large_contents = contents(self.workload, self.design)
        if large_contents:
            yield "## Large contents"
            yield (
                "The methods take and return a `LargeValue`: size, checksum and place. `store_large` stores a content "
                "before a method refers to it, `write_large` replaces that of an item, `read_large` reads it."
            )
            yield "\n".join(f"- {_content_text(content)}" for content in large_contents)

    def _refreshes(self) -> Iterator[str]:
        """The attributes that are refreshed: how old they may be, and what keeps them current."""
        all_refreshes = refreshes(self.workload, self.design)
        for flag in FLAGS:
            lines = [f"- {_refresh(refresh)}" for refresh in all_refreshes if refresh.bound.flag is flag]
            if lines:
                yield f"## {flag.title}"
                yield "\n".join(lines)

    def _constructs(self) -> Iterator[str]:
        """The constructs of which the client has functions, with their names."""
        for construct in CONSTRUCTS:
            lines: list[str] = []
            for bound in lines_in(self.workload, self.design):
                words = bound.usage_words() if bound.construct is construct else ""
                if words:
                    lines.append(f"- {write_title(bound.entity.name)} {words}")
            if lines and construct.section:
                yield f"## {construct.section.title.capitalize()}"
                yield "\n".join(lines)

    def _summary(self) -> str:
        served_count = sum(operation.served for operation in self.design.operations)
        methods = sum(self._method(pattern) != "-" for pattern in self.workload.patterns)
        parts = [
            f"{methods} method{'s' * (methods != 1)}",
            f"{served_count} of {len(self.design.operations)} access patterns served",
            f"{money(self.bill.total)} a month, {money(self.bill.kept)} of it storage",
        ]
        if self.coded:
            tests = self.tests.values()
            if self.passed_tests is None:
                parts.insert(1, f"{len(tests)} with a test")
            else:
                parts.insert(1, f"{sum(map(self.passed_tests.issuperset, tests))} tested")
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
            "Units": self._units(operation) if operation.served else "-",
            "A month": money(self.costs[pattern.id].dollars) if operation.served else "-",
        }

    def _units(self, operation: Operation) -> str:
        """The units of a call, and those of the large contents that it stores, if they are of the usual size."""
        parts = [_units(operation.units)]
        for content in stored_contents(operation, self.workload, self.design):
            pieces = count(content.object_count, "object") if content.stored else f"{amount(content.write_units)} write"
            parts.append(f"{pieces} for {write_code(content.name)}")
        return " + ".join(parts)

    def _shape(self, pattern: Pattern, operation: Operation) -> str:
        return f"{shape(operation)} (not proven)" if pattern.id in self.unproven else shape(operation)

    def _tests(self, pattern: Pattern) -> str:
        """The test of a pattern, and how many there are of refusals."""
        names = self.tests.get(pattern.id)
        if not names:
            return ""
        first, refusals = write_code(names[0].rpartition("::")[2]), len(names) - 1
        return f"{first}, {refusals} refusal{'s' * (refusals > 1)}" if refusals else first

    def _pattern(self, pattern: Pattern) -> Iterator[str]:
        operation = self._operation(pattern)
        method = self._method(pattern)
        head = write_prose(pattern.id)
        yield f"### {head}: {method}" if method != "-" else f"### {head}"
        about = pattern.description or pattern.name
        yield write_code(about) if about and _BLOCK.match(about) else write_prose(about)
        if (python_method := self.methods.get(pattern.id)) and method != "-":
            yield f"```python\n{python_method.signature}\n```"
        facts = self._facts(pattern, operation)
        yield "\n".join(f"- **{label}**: {_line(text)}" for label, text in facts)

    def _facts(self, pattern: Pattern, operation: Operation) -> Iterator[tuple[str, str]]:
        yield "Takes", write_inputs(pattern.inputs) or "nothing"
        if isinstance(pattern, Read):
            yield "Gives", _result_text(pattern)
        else:
            inputs = frozenset(input_.attribute for input_ in pattern.inputs)
            yield "Does", write_actions(pattern.actions, inputs) or "nothing"
            if pattern.checks:
                yield "If", write_checks(pattern.checks, inputs)
        if not operation.served:
            yield _unserved_fact(operation)
            return
        sent_requests = [*operation_words(operation), *added_words(operation, self.workload, self.design)]
        yield "Sends", " ".join(sent_requests) or "nothing: DynamoDB does it by itself"
        if operation.assumes:
            yield "The caller knows", ", ".join(map(write_code, operation.assumes))
        if operation.units and operation.requests:
            yield "Costs", self._cost_text(operation, operation.units)
        yield from self._proof_facts(pattern)

    def _cost_text(self, operation: Operation, units: Units) -> str:
        cost = self.costs[operation.pattern]
        rate_text = f"{rate(cost.rate)}, that is {money(cost.dollars)} a month"
        exclusion = ", without large contents" if stored_contents(operation, self.workload, self.design) else ""
        return f"{_units(units)} {_word(units)} a call{exclusion}; {rate_text}"

    def _proof_facts(self, pattern: Pattern) -> Iterator[tuple[str, str]]:
        """Why a pattern is not proven, and its tests."""
        if reason := self.unproven.get(pattern.id):
            yield "Not proven", write_prose(f"it could not be run, because {reason}")
        if tests := self.tests.get(pattern.id):
            has_passed = self.passed_tests is not None and self.passed_tests.issuperset(tests)
            yield "Tested by" if has_passed else "Test, not run", ", ".join(map(write_code, tests))


def _content_text(content: ContentCost) -> str:
    """Where a large content is, and what it takes to write and to read it."""
    if content.stored:
        return (
            f"{write_code(content.name)}: in an object store; the client's schema is `schema(S3Store(…))`. Writing "
            f"and reading take {count(content.object_count, 'request')} each, and no units of the table"
        )
    return (
        f"{write_code(content.name)}: in {content.part_count} parts of about {size(content.part_size)}; writing takes "
        f"{amount(content.write_units)} write units, reading {amount(content.read_units)} read units"
    )


def _background(cost: BackgroundCost) -> str:
    """What happens in the background, how often, and what it costs."""
    numbers = ((cost.units.read, "read"), (cost.units.write, "write"))
    parts = [f"{amount(number)} {word}" for number, word in numbers if number]
    units = f", {' + '.join(parts)} units each time" if parts else ""
    how_often = f"{rate(cost.rate)}{units}, " if cost.rate else ""
    return f"{write_code(cost.about)}: {write_prose(cost.text)}; {how_often}{money(cost.dollars)} a month"


def _refresh(refresh: Refresh) -> str:
    """How old attributes may be, and what keeps them current."""
    bound, entity, source = refresh.bound, refresh.bound.entity.name, refresh.bound.source.name
    pairs: list[str] = []
    for own, origin in bound.attributes.items():
        pairs.append(f"{write_code(f'{entity}.{own}')} {bound.flag.name} {write_code(f'{source}.{origin}')}")
    age_text = bound.usage_words(write_title(source), _changes(refresh))
    price = f"{_units(refresh.units)} units in {refresh.requests} requests for {refresh.items:,.0f} items"
    rate_text = f"{rate(refresh.rate)}, that is {money(refresh.dollars)} a month"
    if refresh.unchanged_sources:
        rate_text = f"no write changes {write_prose(refresh.unchanged_sources)}, so it costs nothing"
    return f"{listed(pairs)}. {age_text} A refresh takes {price}; {rate_text}."


def _changes(refresh: Refresh) -> str:
    """The writes that change a source."""
    return listed(write_prose(write.id) for write in refresh.writes) or "a change of it"


def _line(text: str) -> str:
    """A text on one line of a list; as code, if it contains markup."""
    return write_code(text) if "\n" in text or has_html(text) else text


def _unserved_fact(operation: Operation) -> tuple[str, str]:
    if operation.problem == OUT_OF_SCOPE:
        return "Out of scope", "the document says that something else than this table answers it"
    return "Not served", write_prose("; ".join(filter(None, (operation.problem, operation.remedy))))


def _result_text(read: Read) -> str:
    """
    >>> from prejoin.workload.model import Direction, Sort
    >>> orders = Read("AP-1", entities=("Order",), sort=(Sort("placedAt", Direction.DESC),), paginated=True, page=20)
    >>> _result_text(orders)
    'Order, by placedAt (descending), in pages of 20'
    >>> _result_text(Read("AP-2", entities=("User",), result=Result.ONE, needs=("name",)))
    'one User, its name'
    """
    noun = listed(map(write_title, read.entities)) or "items"
    lead = f"the first {read.limit} of " if read.limit else _quantity(read)
    parts = [lead + noun]
    if read.sort:
        parts.append(f"by {listed(map(_sort_text, read.sort))}")
    if read.paginated:
        parts.append(f"in pages of {read.page}" if read.page else "in pages")
    if read.needs:
        pronoun = "its" if read.result is Result.ONE else "their"
        parts.append(f"{pronoun} {listed(map(write_name, read.needs))}")
    if read.consistency and read.is_consistent:
        parts.append(f"{read.consistency.lower()} consistency")
    return ", ".join(parts)


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


def _sort_text(sort: Sort) -> str:
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
