"""The items that a write sends, compared with the documented requests of its operation.

Prices, pages and the permissions of roles are made of these requests, and the generated code is not. So a write could
be right, and its role not be allowed to do it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, assert_never

from prejoin.design.model import Call, Design, Did, Operation
from prejoin.design.requests.literal import (
    ItemRequest,
    KeyPart,
    LiteralRequest,
    ObjectRequest,
    PartRequest,
    ReadRequest,
    WriteRequest,
)
from prejoin.design.requests.lower import literal_requests, repeated_requests
from prejoin.table.client.observe import Call as SentCall
from prejoin.workload.model import Workload

_SINGLE = {"PutItem": Did.PUT, "UpdateItem": Did.UPDATE, "DeleteItem": Did.DELETE}
_BATCH = {"PutRequest": Did.PUT, "DeleteRequest": Did.DELETE}


class SentItems:
    """Compares the calls of all cases of a write with its documented requests."""

    def __init__(self, workload: Workload, design: Design, operation: Operation) -> None:
        self._design = design
        self._first = tuple(_documented_items(literal_requests(operation, workload, design)))
        self._repeated = tuple(_documented_items(repeated_requests(operation, workload, design)))
        self._sent: set[int] = set()
        """The positions of the items of `_first` that were sent."""

    def difference(self, calls: Sequence[SentCall], is_again: bool) -> str:
        """An item that was sent in a case, and that is not documented; empty if there is none."""
        documented_items = self._repeated if is_again else self._first
        times: Counter[tuple[int, ...]] = Counter()
        for call in calls:
            for effect, key in _items_of(call, self._design):
                positions = tuple(at for at, item in enumerate(documented_items) if item.is_instance(effect, key))
                if not positions:
                    return f"it sent a {effect} of {key}, which is not in the requests of the design"
                # Several documented items may have keys of one form. Then only the number of them all can be compared.
                times[positions] += 1
                if times[positions] > sum(documented_items[at].times for at in positions):
                    return f"it sent a {effect} of {key} and others like it, more than the requests of the design have"
                if not is_again:
                    self._sent.update(positions)
        return ""

    def unsent(self) -> str:
        """An item that every call should write, and none has sent; empty if there is none."""
        for position, item in enumerate(self._first):
            if not item.is_optional and position not in self._sent:
                return f"no call sent the {item.text}, which is in the requests of the design"
        return ""


class _DocumentedItem:
    """An item of a documented request."""

    def __init__(self, text: str, effects: Mapping[Did, Sequence[KeyPart]], is_optional: bool, times: float) -> None:
        self.text = text
        self._effects = effects
        """The key for each effect that it may have."""
        self.is_optional = is_optional
        self.times = times
        """How often it is sent, at most."""

    def is_instance(self, effect: Did, key: Mapping[str, str]) -> bool:
        """Whether this is done to an item with this key."""
        parts = self._effects.get(effect, ())
        if {part.attribute for part in parts} != key.keys():
            return False
        return all(_pattern(part.template).fullmatch(key[part.attribute]) for part in parts)


def _documented_items(requests: Sequence[LiteralRequest]) -> Iterator[_DocumentedItem]:
    for request in requests:
        match request:
            case WriteRequest():
                for item in request.items:
                    yield _documented_item(item)
            case PartRequest():
                yield _DocumentedItem(f"part of {request.content}", {Did.PUT: request.key}, False, math.inf)
            case ReadRequest() | ObjectRequest():
                pass
            case _:
                assert_never(request)


def _documented_item(item: ItemRequest) -> _DocumentedItem:
    effects = {item.action: item.key}
    if item.otherwise is not None:
        effects.setdefault(item.otherwise.action, item.otherwise.key)
    is_optional = item.is_optional or item.is_list
    times = math.inf if item.is_list else item.times
    return _DocumentedItem(f"{item.action} of {item.item}", effects, is_optional, times)


def _items_of(call: SentCall, design: Design) -> Iterator[tuple[Did, Mapping[str, str]]]:
    """What a request does to items, each with its key."""
    if call.operation in _SINGLE:
        yield _SINGLE[call.operation], _key_of(call.request, design)
    elif call.operation == Call.TRANSACT_WRITE:
        for part in call.request["TransactItems"]:
            for name, body in part.items():
                yield Did(name), _key_of(body, design)
    elif call.operation == Call.BATCH_WRITE:
        for part in call.request["RequestItems"][design.table]:
            for name, body in part.items():
                yield _BATCH[name], _key_of(body, design)


def _key_of(body: Mapping[str, Any], design: Design) -> Mapping[str, str]:
    """The key of an item, with its values as texts."""
    item = body["Key"] if "Key" in body else body["Item"]
    base = design.slots[0]
    return {key.name: str(value) for key in (*base.pk, *base.sk) for value in item[key.name].values()}


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """The values that can be made of a template: its texts are in them, in their places."""
    parts = re.split(r"(\{[^{}]*\})", template)
    # Values are compared by the expected table: here any text will do for a placeholder.
    return re.compile("".join(".*" if part.startswith("{") else re.escape(part) for part in parts), re.DOTALL)
