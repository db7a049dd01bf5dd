"""Violations: calls of a write that break one of its rules. Each has to be refused, with nothing written."""

from __future__ import annotations

from prejoin.cases.case import WriteCase
from prejoin.cases.case_variation import Break
from prejoin.cases.variations import done_before, is_in_steps, repetitions, violations
from prejoin.cases.write_cases import NothingFitsError
from prejoin.keys import KeyValueError
from prejoin.proof.expected_units import READS
from prejoin.proof.sample_table import REFUSALS
from prejoin.proof.write_proof import WriteProof
from prejoin.table.errors import CodecError, ConditionFailed, TransactionCancelled


def prove_violations(proof: WriteProof) -> tuple[tuple[str, ...], str]:
    """Breaks the rules of a write one by one; gives those that were refused, and what was wrong with one."""
    model = proof.model
    variations = list(violations(model))
    if proof.can_repeat:
        variations += repetitions(model)
    refusals: list[str] = []
    for variation in variations:
        try:
            case = proof.case(variation)
        except NothingFitsError:
            continue  # the rule cannot be broken alone: another one says the same
        wrong = _wrong_refusal(proof, case)
        if wrong:
            return tuple(refusals), wrong
        refusals.append(variation.text)
    return tuple(dict.fromkeys(refusals)), ""


def _wrong_refusal(proof: WriteProof, case: WriteCase) -> str:
    """What is wrong with the call of a case that breaks a rule; empty if it is refused as it should be."""
    variation = case.variation
    proof.expected_table.prepare(case)
    if variation.hiding is not None:
        proof.expected_table.hide(variation.hiding, case.model.slot(variation.place).before or {})
    # Arguments that cannot be made are a mistake of the proof, and no refusal.
    arguments = proof.arguments(case)
    try:
        proof.run(case, arguments)
    except (ConditionFailed, TransactionCancelled):
        pass
    except KeyValueError as error:  # only the key refuses the value, and not the bounds
        return f"{variation.text}: {error}"
    except ValueError as error:  # one of the method itself, or of a value that cannot be written
        if variation.kind not in (Break.AGREEMENT, Break.VALUE, Break.AMOUNT):
            raise
        if _has_written(proof) and not (isinstance(error, CodecError) and is_in_steps(case.model)):
            return f"{variation.text}: something was written, and then {error}"
    except REFUSALS as error:
        return f"{variation.text}: {error}"
    else:
        return f"{variation.text}, and it was not refused"
    # Without a transaction, the items before the refused one are written.
    wrong = proof.difference_after(done_before(case))
    return f"{variation.text}: it was refused, and yet something was written: {wrong}" if wrong else ""


def _has_written(proof: WriteProof) -> bool:
    """Whether the last call has sent a write. An item that is found or read first changes nothing."""
    return any(call.operation not in READS for call in proof.sample.calls)
