"""Writes: each method is called, sync and async, then with its conditions broken, and the whole table compared."""

from __future__ import annotations

from dataclasses import replace

from prejoin.cases.build_model import build_model
from prejoin.cases.bystanders import add_bystanders
from prejoin.cases.case import WriteCase
from prejoin.cases.case_variation import Variation
from prejoin.cases.large_contents import enlarge_contents
from prejoin.cases.variations import accepted_parts, replaced_items
from prejoin.cases.write_cases import NothingFitsError, build_case
from prejoin.constructs.construct import DeclaredConstruct
from prejoin.design.model import Operation
from prejoin.design.requests.contents import given_attributes
from prejoin.proof.arguments import write_arguments
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.expected_units import units_difference, write_units
from prejoin.proof.histories import can_fill_histories, fill_histories
from prejoin.proof.prove_optional import prove_optional
from prejoin.proof.result import PatternProof
from prejoin.proof.sample_table import REFUSALS, BrokenMethodError, SampleTable
from prejoin.proof.sent_items import SentItems
from prejoin.proof.violations import can_repeat, prove_violations
from prejoin.render.python.method import Method
from prejoin.workload.contents import contents_of
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.model import Verb, Write
from prejoin.workload.program.resolved_write import resolve_write


def prove_write(sample: SampleTable, write: Write, expected_table: ExpectedTable | None = None) -> PatternProof:
    """Proves a write that the design serves: the table holds what it should, and broken conditions are refused."""
    operation = sample.design.operation(write.id)
    assert operation is not None  # served
    if all(action.verb is Verb.EXPIRE for action in write.actions):
        return PatternProof(write.id, write.description, predicted=0.0)  # DynamoDB deletes by itself: nothing is sent
    method = sample.package.methods[write.id]
    expected_table = expected_table or ExpectedTable(sample)
    conditions = build_model(sample, write, operation, Variation()).untried_conditions
    if conditions:
        text = write_checks(conditions, frozenset(source.attribute for source in write.inputs))
        return PatternProof(write.id, write.description, wrong=f"no item of the write has the condition `{text}`")
    sent_items = SentItems(sample.workload, sample.design, operation)
    first: PatternProof | None = None
    count = 0
    try:
        for number, variation in enumerate(_accepted_variations(sample, write, operation, method)):
            case = _case(sample, write, operation, variation)
            if case is None:
                continue  # the parts of a condition cannot be so
            if variation.has_large_contents:
                enlarge_contents(case)
            add_bystanders(case)
            expected_table.prepare(case)
            if variation.has_full_histories:
                fill_histories(sample, expected_table, case)
            if variation.hiding is not None:
                _hide_replaced(case, variation.hiding, expected_table)
            arguments = write_arguments(method, case, sample.package.record)
            asynchronous = number % 2 > 0 and sample.package.async_repository is not None
            with sample.watched() as calls:
                sample.run(method, arguments, case.tenant, asynchronous=asynchronous)
            parts = [part for step in case.steps for part in expected_table.store_contents(step)]
            # What a hidden item has cost is not predicted.
            units = write_units(sample, case, calls, expected_table, parts) if variation.hiding is None else None
            for step in case.steps:
                expected_table.apply(step)
            count += 1
            written_items = sum(call.items for call in calls if call.operation not in ("GetItem", "Query"))
            proof = PatternProof(
                write.id, write.description, tuple(calls), written_items, case.inputs, count, predicted=units
            )
            first = first or proof
            wrong = expected_table.difference() or units_difference(calls, units)
            if wrong := wrong or sent_items.difference(calls, variation.is_again):
                return replace(proof, wrong=wrong)
        optional, wrong = prove_optional(sample, expected_table, write, operation, method)
        if wrong:
            return replace(first or PatternProof(write.id, write.description), cases=count, wrong=wrong)
        count += optional
        refusals, wrong = prove_violations(sample, expected_table, write, operation, method)
    except (NothingFitsError, LookupError, *REFUSALS) as error:
        unproven = first or PatternProof(write.id, write.description)
        return replace(unproven, items=0, cases=count, predicted=None, problem=str(error))
    except (BrokenMethodError, ValueError) as error:
        unproven = first or PatternProof(write.id, write.description)
        return replace(unproven, cases=count + 1, wrong=str(error))
    assert first is not None  # the first case has run, or raised
    return replace(
        first, cases=count, refused=refusals, wrong=wrong or expected_table.difference() or sent_items.unsent()
    )


def _case(sample: SampleTable, write: Write, operation: Operation, variation: Variation) -> WriteCase | None:
    """A case; with the usual choices, if there is none with others: an upsert may not be able to create an item.

    None if the parts of a condition cannot be as the variation says.
    """
    try:
        return build_case(sample, write, operation, variation)
    except NothingFitsError:
        if variation.check is not None or variation.hiding is not None:
            return None
        if not variation.is_other:
            raise
        return build_case(sample, write, operation, replace(variation, is_other=False))


def _accepted_variations(sample: SampleTable, write: Write, operation: Operation, method: Method) -> list[Variation]:
    """The cases that have to succeed: with lists of several items, one and none, with other choices, with full
    histories, and with contents that are too large for their items.

    Those of conditions with parts are in the end.
    """
    cases = [Variation(), Variation(is_other=True, count=1)]
    if any(action.many for action in write.actions):
        cases.append(Variation(count=0))
    if can_repeat(method):
        cases.append(Variation(is_again=True))
    steps = resolve_write(sample.workload, write).steps
    if any(a.name in given_attributes(step) for step in steps for a in contents_of(step.entity)):
        cases.append(Variation(has_large_contents=True))
    if can_fill_histories(sample, write):
        cases.append(Variation(has_full_histories=True))
    model = build_model(sample, write, operation, Variation())
    return [*cases, *accepted_parts(model), *replaced_items(model)]


def _hide_replaced(case: WriteCase, bound: DeclaredConstruct, expected_table: ExpectedTable) -> None:
    """Hides the item that a put replaces, or puts a hidden one under the key of an item that is created."""
    action = case.model.actions[case.variation.place[0]]
    for at, step in enumerate(case.steps):
        replaced_item = step.before or step.after
        if step.action is action and replaced_item is not None:
            hidden_values = expected_table.hide(bound, replaced_item)
            case.steps[at] = replace(step, before=hidden_values if step.before is not None else None)
