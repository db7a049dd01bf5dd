"""Writes: each method is called, sync and async, then with its conditions broken, and the whole table compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prejoin.cases.bystanders import add_bystanders
from prejoin.cases.case import WriteCase
from prejoin.cases.case_variation import Break, Variation
from prejoin.cases.large_contents import enlarge_contents
from prejoin.cases.variations import accepted_parts, passed_over_items, replaced_items
from prejoin.cases.write_cases import NothingFitsError
from prejoin.constructs.construct import DeclaredConstruct
from prejoin.design.requests.contents import given_attributes
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.expected_units import units_difference, write_units
from prejoin.proof.histories import can_fill_histories, fill_histories
from prejoin.proof.prove_optional import prove_optional
from prejoin.proof.result import PatternProof
from prejoin.proof.sample_table import REFUSALS, BrokenMethodError, SampleTable
from prejoin.proof.sent_items import SentItems
from prejoin.proof.violations import prove_violations
from prejoin.proof.write_proof import USUAL, WriteProof
from prejoin.table.client.observe import Call
from prejoin.table.codec.values import Json
from prejoin.workload.contents import contents_of
from prejoin.workload.grammar.writes import write_checks
from prejoin.workload.model import Verb, Write
from prejoin.workload.program.resolved_write import resolve_write


def prove_write(sample: SampleTable, write: Write, expected_table: ExpectedTable | None = None) -> PatternProof:
    """Proves a write that the design serves: the table holds what it should, and broken conditions are refused."""
    operation = sample.design.operation(write.id)
    assert operation is not None  # served
    if all(action.verb is Verb.EXPIRE for action in write.actions):
        return replace(PatternProof.of(write), predicted=0.0)  # DynamoDB deletes by itself: nothing is sent
    expected_table = expected_table or ExpectedTable(sample)
    proof = WriteProof(sample, expected_table, write, operation, sample.package.methods[write.id])
    conditions = proof.model.untried_conditions
    if conditions:
        text = write_checks(conditions, frozenset(source.attribute for source in write.inputs))
        return PatternProof.of(write, wrong=f"no item of the write has the condition `{text}`")
    return _WriteProver(proof).prove()


class _WriteProver:
    """Runs the cases of a write one after the other, until one is wrong."""

    def __init__(self, proof: WriteProof) -> None:
        self.proof = proof
        self.sample = proof.sample
        self.expected_table = proof.expected_table
        self.sent_items = SentItems(self.sample.workload, self.sample.design, proof.operation)
        self.first = PatternProof.of(proof.write)
        """The first case, of which the result tells calls and units."""
        self.count = 0

    def prove(self) -> PatternProof:
        try:
            return self._prove_accepted() or self._prove_optional() or self._prove_refused()
        except (NothingFitsError, LookupError, *REFUSALS) as error:
            return replace(self.first, items=0, cases=self.count, predicted=None, problem=str(error))
        except (BrokenMethodError, ValueError) as error:
            return replace(self.first, cases=self.count + 1, wrong=str(error))

    # --- Cases that have to succeed ---------------------------------------------------------------------------------

    def _prove_accepted(self) -> PatternProof | None:
        """The proof of a case that is wrong; None if none is."""
        has_async_method = self.sample.package.async_repository is not None
        for number, variation in enumerate(_accepted_variations(self.proof)):
            case = _case(self.proof, variation)
            if case is None:
                continue  # the parts of a condition cannot be so
            self._prepare(case)
            # The methods take turns: both are rendered from the same data, and each case is a call.
            proof = self._prove_case(case, asynchronous=has_async_method and number % 2 > 0)
            if proof.wrong:
                return proof
        return None

    def _prepare(self, case: WriteCase) -> None:
        """Writes the items that have to be in the table before the call, and other items beside them."""
        variation = case.variation
        if variation.has_large_contents:
            enlarge_contents(case)
        # Bystanders come before the preparation, which writes them with the other items of the case.
        add_bystanders(case)
        self.expected_table.prepare(case)
        if variation.has_full_histories:
            fill_histories(self.sample, self.expected_table, case)
        if variation.hiding is not None:
            _hide_replaced(case, variation.hiding, self.expected_table)

    def _prove_case(self, case: WriteCase, *, asynchronous: bool) -> PatternProof:
        calls = self.proof.run(case, self.proof.arguments(case), asynchronous=asynchronous)
        units = self._predicted_units(case, calls)
        wrong = self.proof.difference_after(case.steps)
        self.count += 1
        proof = PatternProof(
            self.proof.write.id,
            self.proof.write.description,
            tuple(calls),
            sum(call.items for call in calls if call.operation not in ("GetItem", "Query")),
            case.inputs,
            self.count,
            predicted=units,
        )
        # The result shows the usual case, which is the first; the others only have to be right.
        if self.count == 1:
            self.first = proof
        wrong = wrong or units_difference(calls, units) or self.sent_items.difference(calls, case.variation.is_again)
        return replace(proof, wrong=wrong)

    def _predicted_units(self, case: WriteCase, calls: Sequence[Call]) -> float | None:
        """The units that the design predicts. They depend on the items before, so the steps are not applied yet."""
        parts: list[Json] = []
        for step in case.steps:
            parts += self.expected_table.store_contents(step)
        if case.variation.hiding is not None or case.variation.kind is not Break.NOTHING:
            return None  # what an item that is hidden or passed over has cost is not predicted
        return write_units(self.sample, case, calls, self.expected_table, parts)

    # --- Optional inputs and refusals -------------------------------------------------------------------------------

    def _prove_optional(self) -> PatternProof | None:
        """The proof of a call without some inputs that is wrong; None if none is."""
        count, wrong = prove_optional(self.proof)
        if wrong:
            return replace(self.first, cases=self.count, wrong=wrong)
        self.count += count
        return None

    def _prove_refused(self) -> PatternProof:
        refusals, wrong = prove_violations(self.proof)
        wrong = wrong or self.expected_table.difference() or self.sent_items.unsent()
        return replace(self.first, cases=self.count, refused=refusals, wrong=wrong)


def _case(proof: WriteProof, variation: Variation) -> WriteCase | None:
    """A case; with the usual choices, if there is none with others: an upsert may not be able to create an item.

    None if the parts of a condition cannot be as the variation says.
    """
    try:
        return proof.case(variation)
    except NothingFitsError:
        if variation.check is not None or variation.hiding is not None or variation.kind is not Break.NOTHING:
            return None
        if not variation.is_other:
            raise
        return proof.case(replace(variation, is_other=False))


def _accepted_variations(proof: WriteProof) -> list[Variation]:
    """The cases that have to succeed: with lists of several items, one and none, with other choices, with full
    histories, and with contents that are too large for their items.

    Those of conditions with parts are in the end.
    """
    variations = [USUAL, Variation(is_other=True, count=1)]
    if any(action.many for action in proof.write.actions):
        variations.append(Variation(count=0))
    if proof.can_repeat:
        variations.append(Variation(is_again=True))
    if _gives_contents(proof):
        variations.append(Variation(has_large_contents=True))
    if can_fill_histories(proof.sample, proof.write):
        variations.append(Variation(has_full_histories=True))
    model = proof.model
    return [*variations, *accepted_parts(model), *passed_over_items(model), *replaced_items(model)]


def _gives_contents(proof: WriteProof) -> bool:
    """Whether the caller gives a large content."""
    for step in resolve_write(proof.sample.workload, proof.write).steps:
        given_names = given_attributes(step)
        if any(attribute.name in given_names for attribute in contents_of(step.entity)):
            return True
    return False


def _hide_replaced(case: WriteCase, bound: DeclaredConstruct, expected_table: ExpectedTable) -> None:
    """Hides the item that a put replaces, or puts a hidden one under the key of an item that is created."""
    action = case.model.actions[case.variation.place[0]]
    for at, step in enumerate(case.steps):
        replaced_item = step.before or step.after
        if step.action is action and replaced_item is not None:
            hidden_values = expected_table.hide(bound, replaced_item)
            case.steps[at] = replace(step, before=hidden_values if step.before is not None else None)
