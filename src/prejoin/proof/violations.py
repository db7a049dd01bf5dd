"""Violations: calls of a write that break one of its rules. Each has to be refused, with nothing written."""

from __future__ import annotations

from operator import attrgetter

from prejoin.cases.build_model import build_model
from prejoin.cases.case_variation import Break, Variation
from prejoin.cases.variations import done_before, is_in_steps, repetitions, violations
from prejoin.cases.write_cases import NothingFitsError, build_case
from prejoin.design.model import Operation
from prejoin.keys import KeyValueError
from prejoin.proof.arguments import write_arguments
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.expected_units import READS
from prejoin.proof.sample_table import REFUSALS, SampleTable
from prejoin.render.python.method import Method, Option
from prejoin.table.errors import CodecError, ConditionFailed, TransactionCancelled
from prejoin.workload.model import Write


def prove_violations(
    sample: SampleTable, expected_table: ExpectedTable, write: Write, operation: Operation, method: Method
) -> tuple[tuple[str, ...], str]:
    """Breaks the rules of a write one by one; gives those that were refused, and what was wrong with one."""
    refusals: list[str] = []
    model = build_model(sample, write, operation, Variation())
    for variation in (*violations(model), *(repetitions(model) if can_repeat(method) else ())):
        try:
            case = build_case(sample, write, operation, variation)
        except NothingFitsError:
            continue  # the rule cannot be broken alone: another one says the same
        expected_table.prepare(case)
        if variation.hiding is not None:
            slot = case.model.slot(variation.place)
            expected_table.hide(variation.hiding, slot.before or {})
        arguments = write_arguments(method, case, sample.package.record)
        try:
            sample.calls.clear()
            sample.run(method, arguments, case.tenant)
        except (ConditionFailed, TransactionCancelled):
            pass
        except ValueError as error:  # one of the method itself, or of a value that cannot be written
            is_expected = variation.kind in (Break.AGREEMENT, Break.VALUE, Break.AMOUNT)
            if isinstance(error, KeyValueError):  # only the key refuses the value, and not the bounds
                return tuple(refusals), f"{variation.text}: {error}"
            if not is_expected:
                raise
            # An item that is found or read first changes nothing.
            writes = set(map(attrgetter("operation"), sample.calls)) - READS
            if writes and not (isinstance(error, CodecError) and is_in_steps(model)):
                return tuple(refusals), f"{variation.text}: something was written, and then {error}"
        except REFUSALS as error:
            return tuple(refusals), f"{variation.text}: {error}"
        else:
            return tuple(refusals), f"{variation.text}, and it was not refused"
        for step in done_before(case):
            expected_table.apply(step)
        if wrong := expected_table.difference():
            return tuple(refusals), f"{variation.text}: it was refused, and yet something was written: {wrong}"
        refusals.append(variation.text)
    return tuple(dict.fromkeys(refusals)), ""


def can_repeat(method: Method) -> bool:
    """Whether a method can be called again for items of its lists, with `again=True`."""
    return any(param.meaning == Option.AGAIN for param in method.params)
