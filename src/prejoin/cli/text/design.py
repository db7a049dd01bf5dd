"""A design as text: item collections, keys, indexes, the operation and price of each pattern, and the verdicts."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from prejoin.cli.outcome import Line
from prejoin.cli.output import width_of
from prejoin.cli.text.evolution import evolution_lines
from prejoin.cli.text.frontier import proposal_lines
from prejoin.cli.text.messages import coded, file_name
from prejoin.cli.text.tables import SHORTEST, Row, cut, fitted, titled
from prejoin.design.checks.fit import FitVerdict
from prejoin.design.cost.background import BackgroundKind
from prejoin.design.cost.objective import queries_each
from prejoin.design.explain.explanation import claim
from prejoin.design.explain.phrases import amount, listed, money, rate
from prejoin.design.layout.growth import Growth
from prejoin.design.mapping.facets import history_key
from prejoin.design.model import TABLE, Call, Design, Facet, Item, ItemName, Operation, ProjectionKind, Slot
from prejoin.design.solver.conflicts import ConflictStatement
from prejoin.keys import fields_of
from prejoin.pipeline import codes
from prejoin.pipeline.design.design_document import is_same_file
from prejoin.pipeline.design.design_document import titled as item_title
from prejoin.pipeline.design.design_file import structures
from prejoin.pipeline.design.design_table import DesignResult
from prejoin.pipeline.errors import Source
from prejoin.pipeline.summary import contents, proven_summary, quantity, tally
from prejoin.render.python.package import Options, package_name
from prejoin.workload.model import Workload

_ATTRIBUTE = re.compile(r"\{\w++([^{}]*)\}")
_FEW = 3
"""Attributes of an index that are listed by name."""
_DESCRIBED = 26
"""Characters of a description that stay as long as a key can be cut instead."""
_MANY = frozenset({Call.TRANSACT_WRITE, Call.BATCH_WRITE})


def design_page(result: DesignResult, output: Path) -> list[Line]:
    """The whole design, for approval. `output` is the file that it is for."""
    lines = [_head(result), (), *proposal_lines(result), *_together(result.design)]
    lines += [*_keys(result.design, result.workload), (), *_indexes(result.design), *_patterns(result), ()]
    lines += _background(result)
    if result.growth is not None:
        lines += [*growth_lines(result.growth), *_next_step(result, result.growth, output), ()]
    lines += [*unserved_lines(result), *relaxation_lines(result), *_tables(result), *_verdicts(result)]
    return lines


def besides_page(source: Source) -> Source:
    """The diagnostics that the page does not show: all but those about patterns that are not served."""
    return replace(source, diagnostics=tuple(d for d in source.diagnostics if d.code != codes.UNSERVED.id))


def _head(result: DesignResult) -> Line:
    w = result.workload
    name = file_name(result.request.document.file)
    return ((w.title or name, "bold"), f": {contents(w)}, from ", (name, "bold"), f"; {structures(result.design)}.")


# --- Keys and indexes ------------------------------------------------------------------------------------------------


def collections(design: Design) -> list[tuple[str, str, list[str]]]:
    """Slot, partition key and items, for partitions that several kinds of items share.

    Their attributes may have different names, but hold the same value.
    """
    found: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for item in design.items:
        for facet in item.facets:
            text = " ".join(facet.pk)
            _, names = found.setdefault((facet.slot, _ATTRIBUTE.sub(r"{\1}", text)), (text, []))
            names.append(item_title(item))
    return [(slot, text, names) for (slot, _), (text, names) in found.items() if len(names) > 1]


def _together(design: Design) -> Iterator[Line]:
    rows: list[Row] = [(text, slot, ", ".join(names)) for slot, text, names in collections(design)]
    if rows:
        yield from titled(("Read together", "In", "Entities in one partition"), rows, ("", "cyan", "bold"))
        yield ()


def _keys(design: Design, workload: Workload) -> list[Line]:
    rows: list[Row] = []
    for item in design.items:
        for facet in item.facets:
            conditions = {w.attribute: str(w) for w in facet.when}
            conditions = {**{name: f"{name} is there" for name in _required(workload, item, facet)}, **conditions}
            only = " and ".join(conditions.values())
            rows.append((item_title(item), facet.slot, " ".join(facet.pk), " ".join(facet.sk), only))
    guards = [f"{guard.entity}!{'+'.join(guard.attributes)}" for guard in design.guards]
    rows += [(guard, TABLE, "(makes it unique)", "", "") for guard in guards]
    rows += [(one.name, TABLE, f"({one.shards} shards)", "", "") for one in design.counters]
    rows += [(one.name, "object store", "", "", "") for one in design.stores]
    for entity in (e for e in workload.entities if e.history and design.item(e.name)):
        rows.append((str(ItemName(entity.name, history=True)), TABLE, *history_key(design, entity), ""))
    header: Row = ("Entity", "In", "Partition key", "Sort key", "Only when")
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return titled(header, rows, ("bold", "cyan", "", "", ""))


def _required(workload: Workload, item: Item, facet: Facet) -> list[str]:
    """The optional attributes that an item needs to be in a slot."""
    entity = workload.entity(item.entity)
    optional = {a.name for a in entity.attributes if a.optional} if entity else set()
    names = [n for text in (*facet.pk, *facet.sk) for n in fields_of(text) if f"{{{n}?" not in text]
    return [name for name in dict.fromkeys(names) if name in optional]


def _indexes(design: Design) -> list[Line]:
    """The purpose of each index, wrapped to the terminal."""
    if not design.indexes:
        return []
    holds = [_projection(slot) for slot in design.indexes]
    left = max(len(slot.name) for slot in design.indexes) + max(map(len, (*holds, "Holds"))) + 4
    width = width_of(sys.stdout)
    rows: list[Row] = []
    for slot, held in zip(design.indexes, holds, strict=True):
        purpose = slot.purpose or "-"
        first, *more = textwrap.wrap(purpose, max(width - left, 30)) if width else [purpose]
        rows += [(slot.name, held, first), *(("", "", line) for line in more)]
    return [*titled(("Index", "Holds", "For"), rows, ("cyan", "", "")), ()]


def _projection(slot: Slot) -> str:
    names = slot.projection.attributes
    if slot.projection.kind is not ProjectionKind.INCLUDE:
        return slot.projection.kind.value
    return ", ".join(names) if len(names) <= _FEW else f"{len(names)} attributes"


# --- Patterns -------------------------------------------------------------------------------------------------------


def _patterns(result: DesignResult) -> list[Line]:
    header = ("Pattern", "", "Operation", "Index", "Key", "Units", "A month")
    rows: list[Row] = []
    for pattern in result.workload.patterns:
        operation = result.design.operation(pattern.id)
        if operation is None:
            rows.append((pattern.id, pattern.description, "out of scope", "", "", "", ""))
            continue
        cost = result.bill.pattern(pattern.id)
        dollars = money(cost.dollars) if cost and operation.served else "-"
        units = operation.units
        spent = f"{units.read + units.write:g}" if units and operation.served else "-"
        rows.append((pattern.id, pattern.description, *_operation(operation), spent, dollars))
    fit_to = width_of(sys.stdout)
    cut_to = ((1, _DESCRIBED), (4, SHORTEST), (1, SHORTEST))
    return titled(header, fitted(header, rows, fit_to, cut_to), ("bold", "", "green", "cyan", "", "", ""))


def _background(result: DesignResult) -> list[Line]:
    """The requests that no pattern sends, with their prices, which are part of the total."""
    rows: list[Row] = []
    for one in result.bill.background:
        units = one.units.read + one.units.write
        price = money(one.dollars) if one.dollars else "free" if one.kind is BackgroundKind.EXPIRY else "nothing"
        rows.append((one.about, one.text, rate(one.rate), amount(units) if units else "-", price))
    if not rows:
        return []
    header = ("In the background", "", "How often", "Units", "A month")
    rows = fitted(header, rows, width_of(sys.stdout), ((1, _DESCRIBED), (0, SHORTEST), (1, SHORTEST)))
    return [*titled(header, rows, ("bold", "", "", "", "")), ()]


def _operation(operation: Operation) -> tuple[str, str, str]:
    """The call, its index and its key."""
    if not operation.served:
        return "not served", "", ""
    if not operation.requests:
        return "(TTL)", "-", ""
    request, more = operation.requests[0], len(operation.requests) - 1
    times = f" ×{request.shards}" if request.shards > 1 else ""
    each = f" each {request.bucket or request.each}" if request.bucket or request.each else ""
    called = f"{request.call}{times}{each}" + (", filtered" if request.filters else "")
    if more:
        called += f" +{more}" + " each" * queries_each(operation)
    if request.call in _MANY:
        key = ", ".join(f"{a.action} {a.item}{'[]' * a.many}" for a in request.actions)
    else:
        action = next(iter(request.actions), None)
        pk, sk = (action.pk, action.sk) if action else (request.pk, request.sk)
        key = f"{pk} / {sk}" if sk else pk
    return called, "-" if request.slot == TABLE else request.slot, cut(key)


def unserved_lines(result: DesignResult) -> Iterator[Line]:
    """Patterns that are not served: why, the alternatives, and the statements that prevent it."""
    for operation in result.unserved:
        about = next((one for one in result.explanation.patterns if one.pattern == operation.pattern), None)
        yield ((f"{operation.pattern} ", "bold red"), ("is not served", "bold"))
        for sentence in about.text if about else (operation.problem,):
            yield ("  ", *coded(sentence))
        for one in about.alternatives if about else ():
            yield ("  Possible: ", *coded(one.text))
            yield from (("    ", line) for line in one.take)
    yield from conflict_lines(result.conflicts)
    if result.unserved:
        yield ()


def relaxation_lines(result: DesignResult) -> Iterator[Line]:
    """Simpler or much cheaper designs, if something is given up, with the decisions or lines for them."""
    for one in result.explanation.relaxations:
        yield (("Possible, ", "bold"), *coded(one.text))
        if one.changes_document:
            yield from (("    ", line) for line in one.take)
        else:
            yield ("  ", *coded(" ".join(f'`--decide "{line}"`' for line in one.take)))
    if result.explanation.relaxations:
        yield ()


def _tables(result: DesignResult) -> Iterator[Line]:
    """One table against several."""
    if result.tables is None:
        return
    yield from (coded(sentence) for sentence in result.tables.text)
    file = result.request.document.file
    yield from (coded(f"`prejoin split {file} -o FOLDER` writes a document for each table."), ())


def conflict_lines(sets: Sequence[Sequence[ConflictStatement]]) -> Iterator[Line]:
    """Sets of statements that cannot all hold. Sets that differ in one pattern only are shown as one."""
    merged: dict[tuple[ConflictStatement, ...], list[ConflictStatement]] = {}
    for statements in sets:
        patterns = [one for one in statements if one.kind == "pattern"]
        rest = tuple(one for one in statements if one not in patterns[-1:])
        if len(statements) > 1:
            merged.setdefault(rest, []).extend(patterns[-1:])
    for rest, patterns in merged.items():
        yield (("These cannot all hold; changing any one of them is enough:", "bold"),)
        if patterns:
            names = listed(one.name for one in patterns)
            yield ("  - ", f"{names} {'is' if len(patterns) == 1 else 'are, each on its own,'} required")
        for statement in rest:
            yield ("  - ", *coded(str(statement)))


def _next_step(result: DesignResult, grown: Growth, output: Path) -> Iterator[Line]:
    package = package_name(result.workload, Options())
    return evolution_lines(other_file_in_use(result, output), output, result.workload, result.design, grown, package)


def other_file_in_use(result: DesignResult, output: Path) -> Path | None:
    """The file of the design in use, unless the new design replaces it."""
    file = result.request.file_in_use
    return Path(file) if file and not is_same_file(Path(file), output) else None


def growth_lines(grown: Growth) -> Iterator[Line]:
    """The changes for the table in use."""
    if not grown:
        yield (("The keys of the table in use need no change.", "bold"),)
        return
    yield (("Changes to the table in use:", "bold"),)
    for slot in grown.indexes:
        names = listed(a.name for a in (*slot.pk, *slot.sk))
        yield ("  - ", *coded(f"create the index `{slot.name}`, with the keys {names} ({_projection(slot)})"))
    new = grown.entities
    if new:
        yield ("  - ", f"{listed(new)} {'is' if len(new) == 1 else 'are'} new: no stored item has to change")
    for entity in grown.moved:
        yield ("  - ", f"{entity} has another type or other keys: all its items have to be written again")
    for counter in grown.counters:
        counted = f"{counter.entity}'s {listed(counter.attributes)} in {counter.shards} shards"
        yield ("  - ", f"count {counted}: no stored item has to change")
    for store in grown.stores:
        yield ("  - ", f"create a bucket for {store.name}: contents that are in the table stay there")
    for backfill in grown.backfills:
        many = f"{backfill.items:,} {backfill.entity} items"
        once = f"; paid once: {money(backfill.dollars)}"
        yield ("  - ", f"for about {many} that may exist, write {listed(backfill.why)}{once}")


# --- Verdicts ------------------------------------------------------------------------------------------------


def _verdicts(result: DesignResult) -> Iterator[Line]:
    operations = result.design.operations
    served = sum(operation.served for operation in operations)
    bill = result.bill
    price = f", for {money(bill.total)} a month at the rates of the document, {money(bill.kept)} of it storage"
    yield (
        (f"{served} of {len(operations)} patterns served", "bold red" if result.unserved else "bold green"),
        f"{'' if result.false_claims else price}{_bound(result)}.",
    )
    yield _proven(result)
    found = result.fit
    style = {FitVerdict.FITS: "bold green", FitVerdict.CARE: "bold yellow", FitVerdict.DOUBT: "bold yellow"}[
        found.verdict
    ]
    reasons = found.speaks_against or found.speaks_for
    why = f": {'; '.join(reasons)}" if reasons else ""
    yield ("A single table ", (found.verdict.value, style), f"{why}.")
    if result.explanation.assumed:
        yield coded(f"{quantity(len(result.explanation.assumed), 'assumption')} made where the document says nothing.")
    if counts := tally(result.diagnostics):
        yield coded(f"The checks have {counts}.")


def _bound(result: DesignResult) -> str:
    known = "" if result.request.kept or result.false_claims else claim(result.workload, result.solution)
    return f"; {known}" if known else ""


def _proven(result: DesignResult) -> Line:
    proof = result.proof
    if proof is None:
        return ("Not proven: ", *coded("`--no-proof` was given."))
    cases = sum(answer.cases for answer in proof.in_scope)
    how = f"run {cases} times on the embedded engine, each result compared with the data itself"
    if proof.right:
        return (("Proven", "bold green"), f": {quantity(len(proof.in_scope), 'pattern')} {how}.")
    not_proven = [answer.pattern for answer in proof.in_scope if not answer.right]
    said = proven_summary(len(proof.in_scope), not_proven) if not_proven else "Not proven"
    style = "bold yellow" if set(not_proven) == result.unproven.keys() and not proof.findings else "bold red"
    return ((said, style), f"; {how}; see the messages below.")
