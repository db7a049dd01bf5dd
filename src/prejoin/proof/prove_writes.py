"""Writes: each method is called, sync and async, then with its conditions broken, and the whole table compared."""

from __future__ import annotations

from dataclasses import replace

from prejoin.proof.arguments import refer_to_checked, tenant_of_steps, write_arguments
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.expected_units import units_difference, write_units
from prejoin.proof.result import PatternProof
from prejoin.proof.sample_table import REFUSALS, BrokenMethodError, SampleTable
from prejoin.proof.violations import prove_violations
from prejoin.proof.write_cases import NothingFitsError, WriteCase, steps_of
from prejoin.table.errors import TooMany
from prejoin.workload.model import Verb, Write

_CASES = 2
"""How often a write is done: the second time by the async repository."""
_ATTEMPTS = 6
"""How many cases are tried until so many could be run."""


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
        for turn in range(_ATTEMPTS):
            case = WriteCase(sample, write, operation, turn)
            steps = refer_to_checked(case, steps_of(case, replacing=count > 0))
            expected.prepare(case)
            arguments = write_arguments(method, case, steps, sample.package.record)
            asynchronous = count > 0 and sample.package.async_repository is not None
            try:
                with sample.watched() as calls:
                    sample.run(method, arguments, tenant_of_steps(case, steps), asynchronous=asynchronous)
            except TooMany:
                if turn == _ATTEMPTS - 1 or not case.found_first:
                    raise
                continue  # several items fit what the caller knows, and the method refuses to choose
            units = write_units(case, steps, calls, expected)
            for step in steps:
                expected.apply(step)
            count += 1
            written = sum(call.items for call in calls if call.operation not in ("GetItem", "Query"))
            given = case.inputs | case.lists
            proof = PatternProof(write.id, write.description, tuple(calls), written, given, count, predicted=units)
            first = first or proof
            if wrong := expected.difference() or units_difference(calls, units):
                return replace(proof, wrong=wrong)
            if count == _CASES:
                break
        refused, wrong = prove_violations(sample, expected, WriteCase(sample, write, operation, _CASES), method)
    except (NothingFitsError, LookupError, *REFUSALS) as error:
        unproven = first or PatternProof(write.id, write.description)
        return replace(unproven, items=0, cases=count, predicted=None, problem=str(error))
    except (BrokenMethodError, ValueError) as error:
        unproven = first or PatternProof(write.id, write.description)
        return replace(unproven, cases=count + 1, wrong=str(error))
    assert first is not None  # the last attempt has run, or raised
    return replace(first, cases=count, refused=refused, wrong=wrong or expected.difference())
