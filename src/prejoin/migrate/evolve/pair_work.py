"""`PairWork`: goes through the items of entities that have two keys in the table, and does what `twins.decide` says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

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
from prejoin.patterns.integrity.audit import is_race, patiently, read_items, reasons
from prejoin.patterns.integrity.findings import Finding, Judge
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.codec.values import Json
from prejoin.table.conversation import Request

_OPEN = (TwinAction.CONFLICT, TwinAction.DAMAGED)


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
        outcome = PassOutcome()
        for page in self._passes.pages(name):
            for _, result in self._passes.each(self._settle, self._pairs_of(page, outcome)):
                match result:
                    case Finding():
                        outcome.report(result)
                    case TwinAction.NOTHING:
                        pass
                    case TwinAction():
                        outcome.changes += 1
                        self.written[result.value] += 1
                    case None:
                        outcome.changes += 1  # the next pass looks at it again
                self._passes.show(f"{self._passes.read:,} items read, {outcome.changes:,} done")
        return outcome

    def _pairs_of(self, items: list[Json], outcome: PassOutcome) -> Iterator[Pair]:
        """The pairs of a page with something to do, each once: by its leaving item, or by a coming one without it.

        The twins are read in batches, and may be old. That does no harm: all requests have the condition that both
        items are as they were read.
        """
        judge, type_attribute = Judge(self._client.schema), self._client.schema.type_attribute
        found: list[tuple[PairKind, Json, bool, Json | None]] = []
        for item in items:
            tag = item.get(type_attribute, {}).get("S", "")
            kind = self._kinds.get(tag)
            if kind is None:
                continue
            is_leaving = tag == kind.leaving.tag
            if self._at_end and not is_leaving:
                continue
            values = kind.values(item, kind.leaving if is_leaving else kind.coming)
            if values is None:
                outcome.report(Finding("damaged", tag, self._client.schema.item_key(item), item, None))
                continue
            keys = kind.keys(values)
            own_key = self._client.schema.item_key(item)
            if judge.key(own_key) != judge.key(keys[0 if is_leaving else 1]):
                outcome.report(Finding("misplaced", tag, own_key, item, None))
                continue
            # At the end, an item that is as it was marked is removed, whatever became of its twin.
            is_settled = self._at_end and kind.is_marked(item, values) and not kind.foreign(item)
            twin_key = None if is_settled else keys[1 if is_leaving else 0]
            found.append((kind, item, is_leaving, twin_key))
        twin_keys = {judge.key(key): key for _, _, _, key in found if key is not None}
        twins = self._client._run(read_items(self._client.table, judge, list(twin_keys.values())))
        for kind, item, is_leaving, key in found:
            twin = twins[judge.key(key)] if key is not None else None
            if is_leaving:
                pair = Pair(kind, item, twin)
            elif twin is None:
                pair = Pair(kind, None, item)
            else:
                continue  # the pass meets its leaving item, too
            if not pair.is_expired and pair.action(self._decision) is not TwinAction.NOTHING:
                yield pair

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
        actions = [
            (name, {"TableName": self._client.table, **body})
            for request in requests(pair, action)
            for name, body in request.items()
        ]
        if not actions:
            return TwinAction.NOTHING
        try:
            return action if self._send(actions) else None
        except DynamoDBError as error:
            if error.code != "ValidationException" and reasons(error) != {"ValidationError"}:
                raise
            return _finding("unfit", pair, f"it cannot be written with its mark: {error.message}")

    def _send(self, actions: list[tuple[str, dict[str, Any]]]) -> bool:
        """Sends the actions. Returns False if an item is not any more as it was read."""
        try:
            if len(actions) == 1:
                name, body = actions[0]
                self._client.call(f"{name}Item", body)
            else:
                self._client.call("TransactWriteItems", {"TransactItems": [{name: body} for name, body in actions]})
        except DynamoDBError as error:
            if not is_race(error):
                raise
            return False
        return True

    def _read_pair(self, pair: Pair) -> Pair:
        """The pair, read again in one transaction."""
        values = pair.leaving_values or pair.coming_values
        if values is None:
            return pair
        gets = [{"Get": {"TableName": self._client.table, "Key": key}} for key in pair.kind.keys(values)]
        request = Request("TransactGetItems", {"TransactItems": gets}, pair.kind.leaving.tag)
        answer = self._client._run(patiently(request))
        leaving, coming = (one.get("Item") for one in answer["Responses"])
        return Pair(pair.kind, leaving, coming)


def _finding(kind: Literal["conflict", "unfit"], pair: Pair, reason: str = "") -> Finding:
    """The finding about a pair that no program can decide about."""
    item = pair.leaving if pair.leaving is not None else pair.coming
    assert item is not None  # one of them was met
    entity = pair.kind.leaving if pair.leaving is not None else pair.kind.coming
    key = pair.kind.leaving_schema.item_key(item)
    return Finding(kind, entity.tag, key, item, pair.coming, reason=reason)
