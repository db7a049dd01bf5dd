"""Writes: each method is called, sync and async, then with its conditions broken, and the whole table compared."""

from __future__ import annotations

from dataclasses import replace

from prejoin.design.model import Operation
from prejoin.proof.arguments import write_arguments
from prejoin.proof.bystanders import add_bystanders
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.expected_units import units_difference, write_units
from prejoin.proof.prove_optional import prove_optional
from prejoin.proof.result import PatternProof
from prejoin.proof.sample_table import REFUSALS, BrokenMethodError, SampleTable
from prejoin.proof.violations import accepted_parts, can_repeat, prove_violations
from prejoin.proof.write_cases import NothingFitsError, WriteCase, build_case
from prejoin.proof.write_model import Variation, WriteModel
from prejoin.render.python.method import Method
from prejoin.workload.model import Verb, Write


def prove_write(sample: SampleTable, write: Write, expected: ExpectedTable | None = None) -> PatternProof:
    """Proves a write that the design serves: the table holds what it should, and broken conditions are refused."""
    operation = sample.design.operation(write.id)
    assert operation is not None  # served
    if all(action.verb is Verb.EXPIRE for action in write.actions):
        return PatternProof(write.id, write.description, predicted=0.0)  # DynamoDB deletes by itself: nothing is sent
    method = sample.package.methods[write.id]
    expected = expected or ExpectedTable(sample)
    first: PatternProof | None = None
    count = 0
    try:
        for number, variation in enumerate(_accepted(sample, write, operation, method)):
            case = _case(sample, write, operation, variation)
            if case is None:
                continue  # the parts of a condition cannot be so
            add_bystanders(case)
            expected.prepare(case)
            arguments = write_arguments(method, case, sample.package.record)
            asynchronous = number % 2 > 0 and sample.package.async_repository is not None
            with sample.watched() as calls:
                sample.run(method, arguments, case.tenant, asynchronous=asynchronous)
            units = write_units(case, calls, expected)
            for step in case.steps:
                expected.apply(step)
            count += 1
            written = sum(call.items for call in calls if call.operation not in ("GetItem", "Query"))
            proof = PatternProof(
                write.id, write.description, tuple(calls), written, case.inputs, count, predicted=units
            )
            first = first or proof
            if wrong := expected.difference() or units_difference(calls, units):
                return replace(proof, wrong=wrong)
        optional, wrong = prove_optional(sample, expected, write, operation, method)
        if wrong:
            return replace(first or PatternProof(write.id, write.description), cases=count, wrong=wrong)
        count += optional
        refused, wrong = prove_violations(sample, expected, write, operation, method)
    except (NothingFitsError, LookupError, *REFUSALS) as error:
        unproven = first or PatternProof(write.id, write.description)
        return replace(unproven, items=0, cases=count, predicted=None, problem=str(error))
    except (BrokenMethodError, ValueError) as error:
        unproven = first or PatternProof(write.id, write.description)
        return replace(unproven, cases=count + 1, wrong=str(error))
    assert first is not None  # the first case has run, or raised
    return replace(first, cases=count, refused=refused, wrong=wrong or expected.difference())


def _case(sample: SampleTable, write: Write, operation: Operation, variation: Variation) -> WriteCase | None:
    """A case; with the usual choices, if there is none with others: an upsert may not be able to create an item.

    None if the parts of a condition cannot be as the variation says.
    """
    try:
        return build_case(sample, write, operation, variation)
    except NothingFitsError:
        if variation.check is not None:
            return None
        if not variation.is_other:
            raise
        return build_case(sample, write, operation, replace(variation, is_other=False))


def _accepted(sample: SampleTable, write: Write, operation: Operation, method: Method) -> list[Variation]:
    """The cases that have to succeed: with lists of several items, one and none, and with other choices.

    Those of conditions with parts are in the end.
    """
    cases = [Variation(), Variation(is_other=True, count=1)]
    if any(action.many for action in write.actions):
        cases.append(Variation(count=0))
    if can_repeat(method):
        cases.append(Variation(is_again=True))
    return [*cases, *accepted_parts(WriteModel.of(sample, write, operation, Variation()))]
