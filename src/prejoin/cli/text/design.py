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
from prejoin.cli.text.messages import file_name, with_code_style
from prejoin.cli.text.tables import SHORTEST, Row, cut, fit_columns, table_with_titles
from prejoin.constructs.registry import kept_items
from prejoin.design.checks.fit import FitVerdict
from prejoin.design.cost.background import BackgroundKind
from prejoin.design.cost.objective import queries_each
from prejoin.design.explain.explanation import claim
from prejoin.design.layout.growth import Growth
from prejoin.design.model import TABLE, Call, Design, Facet, Item, Operation, ProjectionKind, Slot
from prejoin.design.phrases import amount, listed, money, rate
from prejoin.design.whatif.conflicts import ConflictStatement
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
_NAMED_ATTRIBUTES = 3
"""Attributes of an index that are listed by name."""
_DESCRIPTION_WIDTH = 26
"""Characters of a description that stay as long as a key can be cut instead."""
_CALLS_OF_SEVERAL = frozenset({Call.TRANSACT_WRITE, Call.BATCH_WRITE})


def design_page(result: DesignResult, output: Path) -> list[Line]:
    """The whole design, for approval. `output` is the file that it is for."""
    lines = [_head(result), (), *proposal_lines(result), *_shared_partitions(result.design)]
    lines += [*_keys(result.design, result.workload), (), *_indexes(result.design), *_patterns(result), ()]
    lines += _background(result)
    if result.growth is not None:
        lines += [*growth_lines(result.growth), *_next_step(result, result.growth, output), ()]
    lines += [*unserved_lines(result), *relaxation_lines(result), *_tables(result), *_verdicts(result)]
    return lines


def besides_page(source: Source) -> Source:
    """The diagnostics that the page does not show: all but those about patterns that are not served."""
    return replace(
        source,
        diagnostics=tuple(diagnostic for diagnostic in source.diagnostics if diagnostic.code != codes.UNSERVED.id),
    )


def _head(result: DesignResult) -> Line:
    workload = result.workload
    name = file_name(result.request.document.file)
    return (
        (workload.title or name, "bold"),
        f": {contents(workload)}, from ",
        (name, "bold"),
        f"; {structures(result.design)}.",
    )


# --- Keys and indexes ------------------------------------------------------------------------------------------------


def collections(design: Design) -> list[tuple[str, str, list[str]]]:
    """Slot, partition key and items, for partitions that several kinds of items share.

    Their attributes may have different names, but hold the same value.
    """
    partitions: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for item in design.items:
        for facet in item.facets:
            text = " ".join(facet.pk)
            _, names = partitions.setdefault((facet.slot, _ATTRIBUTE.sub(r"{\1}", text)), (text, []))
            names.append(item_title(item))
    return [(slot, text, names) for (slot, _), (text, names) in partitions.items() if len(names) > 1]


def _shared_partitions(design: Design) -> Iterator[Line]:
    rows: list[Row] = [(text, slot, ", ".join(names)) for slot, text, names in collections(design)]
    if rows:
        yield from table_with_titles(("Read together", "In", "Entities in one partition"), rows, ("", "cyan", "bold"))
        yield ()


def _keys(design: Design, workload: Workload) -> list[Line]:
    rows: list[Row] = []
    for item in design.items:
        for facet in item.facets:
            conditions = {condition.attribute: str(condition) for condition in facet.when}
            conditions = {
                **{name: f"{name} is there" for name in _condition_attributes(workload, item, facet)},
                **conditions,
            }
            condition_text = " and ".join(conditions.values())
            rows.append((item_title(item), facet.slot, " ".join(facet.pk), " ".join(facet.sk), condition_text))
    guards = [f"{guard.entity}!{'+'.join(guard.attributes)}" for guard in design.guards]
    rows += [(guard, TABLE, "(makes it unique)", "", "") for guard in guards]
    rows += [(counter.name, TABLE, f"({counter.shards} shards)", "", "") for counter in design.counters]
    rows += [(store.name, "object store", "", "", "") for store in design.stores]
    rows += [(str(item.name), TABLE, item.pk, item.sk, "") for _, item in kept_items(workload, design)]
    header: Row = ("Entity", "In", "Partition key", "Sort key", "Only when")
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return table_with_titles(header, rows, ("bold", "cyan", "", "", ""))


def _condition_attributes(workload: Workload, item: Item, facet: Facet) -> list[str]:
    """The optional attributes that an item needs to be in a slot."""
    entity = workload.entity(item.entity)
    optional = {attribute.name for attribute in entity.attributes if attribute.optional} if entity else set()
    names = [name for text in (*facet.pk, *facet.sk) for name in fields_of(text) if f"{{{name}?" not in text]
    return [name for name in dict.fromkeys(names) if name in optional]


def _indexes(design: Design) -> list[Line]:
    """The purpose of each index, wrapped to the terminal."""
    if not design.indexes:
        return []
    holds = [_projection(slot) for slot in design.indexes]
    other_width = max(len(slot.name) for slot in design.indexes) + max(map(len, (*holds, "Holds"))) + 4
    width = width_of(sys.stdout)
    rows: list[Row] = []
    for slot, projection in zip(design.indexes, holds, strict=True):
        purpose = slot.purpose or "-"
        first, *continuation = textwrap.wrap(purpose, max(width - other_width, 30)) if width else [purpose]
        rows += [(slot.name, projection, first), *(("", "", line) for line in continuation)]
    return [*table_with_titles(("Index", "Holds", "For"), rows, ("cyan", "", "")), ()]


def _projection(slot: Slot) -> str:
    names = slot.projection.attributes
    if slot.projection.kind is not ProjectionKind.INCLUDE:
        return slot.projection.kind.value
    return ", ".join(names) if len(names) <= _NAMED_ATTRIBUTES else f"{len(names)} attributes"


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
        units_text = f"{units.read + units.write:g}" if units and operation.served else "-"
        rows.append((pattern.id, pattern.description, *_operation(operation), units_text, dollars))
    fit_to = width_of(sys.stdout)
    cut_to = ((1, _DESCRIPTION_WIDTH), (4, SHORTEST), (1, SHORTEST))
    return table_with_titles(
        header, fit_columns(header, rows, fit_to, cut_to), ("bold", "", "green", "cyan", "", "", "")
    )


def _background(result: DesignResult) -> list[Line]:
    """The requests that no pattern sends, with their prices, which are part of the total."""
    rows: list[Row] = []
    for job in result.bill.background:
        units = job.units.read + job.units.write
        price = money(job.dollars) if job.dollars else "free" if job.kind is BackgroundKind.EXPIRY else "nothing"
        rows.append((job.about, job.text, rate(job.rate), amount(units) if units else "-", price))
    if not rows:
        return []
    header = ("In the background", "", "How often", "Units", "A month")
    rows = fit_columns(header, rows, width_of(sys.stdout), ((1, _DESCRIPTION_WIDTH), (0, SHORTEST), (1, SHORTEST)))
    return [*table_with_titles(header, rows, ("bold", "", "", "", "")), ()]


def _operation(operation: Operation) -> tuple[str, str, str]:
    """The call, its index and its key."""
    if not operation.served:
        return "not served", "", ""
    if not operation.requests:
        return "(TTL)", "-", ""
    request, more_requests = operation.requests[0], len(operation.requests) - 1
    times = f" ×{request.shards}" if request.shards > 1 else ""
    each_text = f" each {request.bucket or request.each}" if request.bucket or request.each else ""
    call_text = f"{request.call}{times}{each_text}" + (", filtered" if request.filters else "")
    if more_requests:
        call_text += f" +{more_requests}" + " each" * queries_each(operation)
    if request.call in _CALLS_OF_SEVERAL:
        key = ", ".join(f"{action.action} {action.item}{'[]' * action.many}" for action in request.actions)
    else:
        action = next(iter(request.actions), None)
        pk, sk = (action.pk, action.sk) if action else (request.pk, request.sk)
        key = f"{pk} / {sk}" if sk else pk
    return call_text, "-" if request.slot == TABLE else request.slot, cut(key)


def unserved_lines(result: DesignResult) -> Iterator[Line]:
    """Patterns that are not served: why, the alternatives, and the statements that prevent it."""
    for operation in result.unserved:
        explanation = next(
            (pattern for pattern in result.explanation.patterns if pattern.pattern == operation.pattern), None
        )
        yield ((f"{operation.pattern} ", "bold red"), ("is not served", "bold"))
        for sentence in explanation.text if explanation else (operation.problem,):
            yield ("  ", *with_code_style(sentence))
        for alternative in explanation.alternatives if explanation else ():
            yield ("  Possible: ", *with_code_style(alternative.text))
            yield from (("    ", line) for line in alternative.take)
    yield from conflict_lines(result.conflicts)
    if result.unserved:
        yield ()


def relaxation_lines(result: DesignResult) -> Iterator[Line]:
    """Simpler or much cheaper designs, if something is given up, with the decisions or lines for them."""
    for relaxation in result.explanation.relaxations:
        yield (("Possible, ", "bold"), *with_code_style(relaxation.text))
        if relaxation.changes_document:
            yield from (("    ", line) for line in relaxation.take)
        else:
            yield ("  ", *with_code_style(" ".join(f'`--decide "{sentence}"`' for sentence in relaxation.take)))
    if result.explanation.relaxations:
        yield ()


def _tables(result: DesignResult) -> Iterator[Line]:
    """One table against several."""
    if result.tables is None:
        return
    yield from (with_code_style(sentence) for sentence in result.tables.text)
    file = result.request.document.file
    yield from (with_code_style(f"`prejoin split {file} -o FOLDER` writes a document for each table."), ())


def conflict_lines(sets: Sequence[Sequence[ConflictStatement]]) -> Iterator[Line]:
    """Sets of statements that cannot all hold. Sets that differ in one pattern only are shown as one."""
    merged_sets: dict[tuple[ConflictStatement, ...], list[ConflictStatement]] = {}
    for statements in sets:
        patterns = [statement for statement in statements if statement.kind == "pattern"]
        common = tuple(statement for statement in statements if statement not in patterns[-1:])
        if len(statements) > 1:
            merged_sets.setdefault(common, []).extend(patterns[-1:])
    for common, patterns in merged_sets.items():
        yield (("These cannot all hold; changing any one of them is enough:", "bold"),)
        if patterns:
            names = listed(statement.name for statement in patterns)
            yield ("  - ", f"{names} {'is' if len(patterns) == 1 else 'are, each on its own,'} required")
        for statement in common:
            yield ("  - ", *with_code_style(str(statement)))


def _next_step(result: DesignResult, growth: Growth, output: Path) -> Iterator[Line]:
    package = package_name(result.workload, Options())
    return evolution_lines(other_file_in_use(result, output), output, result.workload, result.design, growth, package)


def other_file_in_use(result: DesignResult, output: Path) -> Path | None:
    """The file of the design in use, unless the new design replaces it."""
    file = result.request.file_in_use
    return Path(file) if file and not is_same_file(Path(file), output) else None


def growth_lines(growth: Growth) -> Iterator[Line]:
    """The changes for the table in use."""
    if not growth:
        yield (("The keys of the table in use need no change.", "bold"),)
        return
    yield (("Changes to the table in use:", "bold"),)
    for slot in growth.indexes:
        names = listed(attribute.name for attribute in (*slot.pk, *slot.sk))
        yield ("  - ", *with_code_style(f"create the index `{slot.name}`, with the keys {names} ({_projection(slot)})"))
    new_entities = growth.entities
    if new_entities:
        yield (
            "  - ",
            f"{listed(new_entities)} {'is' if len(new_entities) == 1 else 'are'} new: no stored item has to change",
        )
    for entity in growth.moved:
        yield ("  - ", f"{entity} has another type or other keys: all its items have to be written again")
    for counter in growth.counters:
        counts = f"{counter.entity}'s {listed(counter.attributes)} in {counter.shards} shards"
        yield ("  - ", f"count {counts}: no stored item has to change")
    for store in growth.stores:
        yield ("  - ", f"create a bucket for {store.name}: contents that are in the table stay there")
    for backfill in growth.backfills:
        items = f"{backfill.items:,} {backfill.entity} items"
        price = f"; paid once: {money(backfill.dollars)}"
        yield ("  - ", f"for about {items} that may exist, write {listed(backfill.why)}{price}")


# --- Verdicts ------------------------------------------------------------------------------------------------


def _verdicts(result: DesignResult) -> Iterator[Line]:
    operations = result.design.operations
    served_count = sum(operation.served for operation in operations)
    bill = result.bill
    price = f", for {money(bill.total)} a month at the rates of the document, {money(bill.kept)} of it storage"
    yield (
        (f"{served_count} of {len(operations)} patterns served", "bold red" if result.unserved else "bold green"),
        f"{price}{_claim_text(result)}.",
    )
    yield proof_line(result)
    fit = result.fit
    style = {FitVerdict.FITS: "bold green", FitVerdict.CARE: "bold yellow", FitVerdict.DOUBT: "bold yellow"}[
        fit.verdict
    ]
    reasons = fit.speaks_against or fit.speaks_for
    reason_text = f": {'; '.join(reasons)}" if reasons else ""
    yield ("A single table ", (fit.verdict.value, style), f"{reason_text}.")
    if result.explanation.assumed:
        yield with_code_style(
            f"{quantity(len(result.explanation.assumed), 'assumption')} made where the document says nothing."
        )
    if counts := tally(result.diagnostics):
        yield with_code_style(f"The checks have {counts}.")


def _claim_text(result: DesignResult) -> str:
    claim_words = "" if result.request.kept else claim(result.workload, result.solution)
    return f"; {claim_words}" if claim_words else ""


def proof_line(result: DesignResult) -> Line:
    """Whether the proof ran, and what it confirms."""
    proof = result.proof
    if proof is None:
        return ("Not proven: ", *with_code_style("`--no-proof` was given."))
    cases = sum(answer.cases for answer in proof.in_scope)
    method = f"run {cases} times on the embedded engine, each result compared with the data itself"
    if proof.right:
        return (("Proven", "bold green"), f": {quantity(len(proof.in_scope), 'pattern')} {method}.")
    not_proven = [answer.pattern for answer in proof.in_scope if not answer.right]
    summary = proven_summary(len(proof.in_scope), not_proven) if not_proven else "Not proven"
    style = "bold yellow" if set(not_proven) == result.unproven.keys() and not proof.findings else "bold red"
    return ((summary, style), f"; {method}; see the messages.")
