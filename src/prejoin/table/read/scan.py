"""Everything in the table, page by page: a Scan, for work on all the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prejoin.keys import TABLE
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.condition.visibility import filter_text, hiding
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import ArgumentError
from prejoin.table.schema.schema import Schema

from .cursor import Cursors, Position, check_key, check_query, encode_cursor, fingerprint, open_cursor, refusal
from .decode import Answer, Reading, facet_tag, split, values_in
from .execute import together
from .page import Page

MOST_SEGMENTS = 1_000_000


class Scan:
    """A Scan under way: where each of its segments has come to."""

    def __init__(
        self,
        schema: Schema,
        table: str,
        classes: Sequence[type[Any]],
        segments: int,
        consistent: bool,
        after: str | None = None,
        hidden: bool = False,
        cursors: Cursors | None = None,
        keep: bool = False,
    ) -> None:
        if schema.fence is not None:
            raise schema.fence.confined("everything()")
        if not 1 <= segments <= MOST_SEGMENTS:
            raise ArgumentError(f"a table is read in 1 to {MOST_SEGMENTS} segments, not in {segments}")
        entities = [schema.entity(cls) for cls in classes] or schema.entities
        reading = Reading(schema, [entity.base for entity in entities])
        self._reading = reading.keeping if keep else reading
        self._hiding = () if hidden else hiding(schema, [entity.base for entity in entities])
        self._schema = schema
        self._table = table
        self._consistent = consistent
        self._cursors = cursors
        self._name = fingerprint(table, "everything", segments, [entity.tag for entity in entities], hidden)
        self._starts: list[Json | None] = [None] * segments
        """The key after which each goes on: None at the beginning, empty at the end."""
        self._resumed = after is not None
        if after is not None:
            self._starts = self._opened(after)

    def _opened(self, after: str) -> list[Json | None]:
        position = open_cursor(after, self._cursors)
        check_query(position, self._name, len(self._starts), 1)
        keys = self._schema.keys(TABLE)
        for key in position.keys:
            if key:
                check_key(key, keys.names, self._schema.key_types, keys, None)
        return list(position.keys)

    @property
    def done(self) -> bool:
        return all(start == {} for start in self._starts)

    def next(self) -> Steps[Page[Any]]:
        """The next page: of each segment what one request gives."""
        going = [at for at, start in enumerate(self._starts) if start != {}]
        try:
            answers: Sequence[Answer] = yield from together([self._request(at) for at in going])
        except DynamoDBError as error:
            raise (self._resumed and refusal(error)) or error from None
        self._resumed = False
        for at, answer in zip(going, answers, strict=True):
            self._starts[at] = answer.start or {}
        found = [one for answer in answers for one in answer.found]
        objects, unmatched, unreadable = split(found)
        cursor = None if self.done else encode_cursor(Position(self._name, 0, self._starts), self._cursors)
        return Page(objects, cursor, tuple(item for item in unmatched if not self._known(item)), unreadable)

    def _known(self, item: Json) -> bool:
        """Whether it is an item of the schema, if of no class that was asked for: a copy, a guard, another entity."""
        here = [facet for facet in self._schema.facets if facet.slot == TABLE]
        tag = item.get(self._schema.type_attribute, {}).get("S")
        if tag is not None:
            return tag in map(facet_tag, here)
        return any(values_in(self._schema, facet, item) is not None for facet in here)

    def _request(self, at: int) -> Request:
        body: dict[str, Any] = {"TableName": self._table}
        if len(self._starts) > 1:
            body |= {"Segment": at, "TotalSegments": len(self._starts)}
        if self._consistent:
            body["ConsistentRead"] = True
        if self._starts[at]:
            body["ExclusiveStartKey"] = self._starts[at]
        if self._hiding:
            to = Placeholders()
            body["FilterExpression"] = filter_text(self._hiding, self._schema.type_attribute, False, to)
            body |= to.parameters()
        return Request("Scan", body, f"{self._table}, segment {at}", self._reading.page)
