"""`PairWork`: goes through the items of entities that have two keys in the table, and does what `twins.decide` says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from prejoin.migrate.evolve.passes import PassOutcome, TablePasses
from prejoin.migrate.evolve.twins import (
    MOST_COMPARED,
    Decision,
    Pair,
    PairKind,
    TwinAction,
    decide,
    is_comparable,
    requests,
)
from prejoin.patterns.integrity.audit import patiently, read_items, reasons
from prejoin.patterns.integrity.findings import Finding, Judge
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.codec.values import Json
from prejoin.table.conversation import Request

_OPEN = (TwinAction.CONFLICT, TwinAction.DAMAGED)


class _PairMember(NamedTuple):
    """An item that was met, before its twin is read."""

    kind: PairKind
    item: Json
    is_leaving: bool
    twin_key: Json | None
    """None if it does not matter what became of the twin."""


class PairWork:
    """A pass over the items with two keys."""

    def __init__(self, passes: TablePasses, kinds: tuple[PairKind, ...], decision: Decision) -> None:
        self._passes = passes
        self._client = passes.client
        self._kinds = {tag: kind for kind in kinds for tag in kind.tags}
        self._decision = decision
        self._at_end = decision is not decide
        self.written: Counter[str] = Counter()

    def run_pass(self, name: str) -> PassOutcome:
        """Goes through the table once."""
        return self._passes.settle(name, self._pairs_of, self._settle, TwinAction.NOTHING, self.written)

    def _pairs_of(self, items: list[Json], outcome: PassOutcome) -> Iterator[Pair]:
        """The pairs of a page with something to do, each once: by its leaving item, or by a coming one without it.

        The twins are read in batches, and may be old. That does no harm: all requests have the condition that both
        items are as they were read.
        """
        judge = Judge(self._client.schema)
        members: list[_PairMember] = []
        for item in items:
            member = self._member(judge, item)
            if isinstance(member, Finding):
                outcome.report(member)
            elif member is not None:
                members.append(member)
        twin_keys = {judge.key(member.twin_key): member.twin_key for member in members if member.twin_key is not None}
        twins = self._client._run(read_items(self._client.table, judge, list(twin_keys.values())))
        for member in members:
            twin = twins[judge.key(member.twin_key)] if member.twin_key is not None else None
            if member.is_leaving:
                pair = Pair(member.kind, member.item, twin)
            elif twin is None:
                pair = Pair(member.kind, None, member.item)
            else:
                continue  # the pass meets its leaving item, too
            if not pair.is_expired and pair.action(self._decision) is not TwinAction.NOTHING:
                yield pair

    def _member(self, judge: Judge, item: Json) -> _PairMember | Finding | None:
        """An item as a member of a pair; None if it is none, or needs nothing at this step."""
        schema = self._client.schema
        tag = item.get(schema.type_attribute, {}).get("S", "")
        kind = self._kinds.get(tag)
        if kind is None:
            return None
        is_leaving = tag == kind.leaving.tag
        if self._at_end and not is_leaving:
            return None
        values = kind.values(item, kind.leaving if is_leaving else kind.coming)
        own_key = schema.item_key(item)
        if values is None:
            return Finding("damaged", tag, own_key, item, None)
        leaving_key, coming_key = kind.keys(values)
        expected_key, twin_key = (leaving_key, coming_key) if is_leaving else (coming_key, leaving_key)
        if judge.key(own_key) != judge.key(expected_key):
            return Finding("misplaced", tag, own_key, item, None)
        # At the end, an item that is as it was marked is removed, whatever became of its twin.
        is_settled = self._at_end and kind.is_marked(item, values) and not kind.foreign(item)
        return _PairMember(kind, item, is_leaving, None if is_settled else twin_key)

    def _settle(self, pair: Pair) -> TwinAction | Finding | None:
        """Does what is to be done with a pair, and returns it; None if an item is not any more as it was read."""
        action = pair.action(self._decision)
        if action in _OPEN:
            pair = self._read_pair(pair)
            action = pair.action(self._decision)
        if action in _OPEN:
            return _finding("conflict", pair)
        if not is_comparable(pair):
            return _finding("unfit", pair, f"it has more than {MOST_COMPARED} attributes, too many for one condition")
        actions = list(requests(pair, action))
        if not actions:
            return TwinAction.NOTHING
        try:
            return action if self._passes.write(actions) else None
        except DynamoDBError as error:
            if error.code != "ValidationException" and reasons(error) != {"ValidationError"}:
                raise
            return _finding("unfit", pair, f"it cannot be written with its mark: {error.message}")

    def _read_pair(self, pair: Pair) -> Pair:
        """The pair, read again in one transaction."""
        values = pair.leaving_values or pair.coming_values
        if values is None:
            return pair
        gets = [{"Get": {"TableName": self._client.table, "Key": key}} for key in pair.kind.keys(values)]
        request = Request("TransactGetItems", {"TransactItems": gets}, pair.kind.leaving.tag)
        answer = self._client._run(patiently(request))
        leaving, coming = (response.get("Item") for response in answer["Responses"])
        return Pair(pair.kind, leaving, coming)


def _finding(kind: Literal["conflict", "unfit"], pair: Pair, reason: str = "") -> Finding:
    """The finding about a pair that no program can decide about."""
    item = pair.leaving if pair.leaving is not None else pair.coming
    assert item is not None  # one of them was met
    entity = pair.kind.leaving if pair.leaving is not None else pair.kind.coming
    key = pair.kind.leaving_schema.item_key(item)
    return Finding(kind, entity.tag, key, item, pair.coming, reason=reason)
