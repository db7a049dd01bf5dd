"""Scan: all objects in the table, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from prejoin.keys import TABLE
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import ArgumentError
from prejoin.table.schema.bind import facet_tag
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import filter_text, visible_items

from .cursor import Cursors, Position, check_key, check_query, encode_cursor, fingerprint, open_cursor, refusal
from .decode import DecodedPage, ItemDecoder, split, values_in
from .execute import send_all
from .page import Page

MOST_SEGMENTS = 1_000_000


class Scan:
    """A running Scan: the position of each of its segments."""

    def __init__(
        self,
        schema: Schema,
        table: str,
        classes: Sequence[type[Any]],
        segments: int,
        consistent: bool,
        after: str | None = None,
        include_hidden: bool = False,
        cursors: Cursors | None = None,
        keep: bool = False,
    ) -> None:
        schema.refuse_to_tenant("everything()")
        if not 1 <= segments <= MOST_SEGMENTS:
            raise ArgumentError(f"segments is {segments}, and has to be from 1 to {MOST_SEGMENTS}")
        entities = [schema.entity(cls) for cls in classes] or schema.entities
        decoder = ItemDecoder(schema, [entity.base for entity in entities])
        self._decoder = decoder.keeping if keep else decoder
        self._visible = () if include_hidden else visible_items(schema.by_tag, [entity.base for entity in entities])
        self._schema = schema
        self._table = table
        self._consistent = consistent
        self._cursors = cursors
        self._name = fingerprint(table, "everything", segments, [entity.tag for entity in entities], include_hidden)
        self._starts: list[Json | None] = [None] * segments
        """The key to continue after, for each segment: None at the beginning, empty at the end."""
        self._resumed = after is not None
        if after is not None:
            self._starts = self._open_cursor(after)

    def _open_cursor(self, after: str) -> list[Json | None]:
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
        """Read the next page: the results of one request per segment."""
        segments = [segment for segment, start in enumerate(self._starts) if start != {}]
        try:
            answers: Sequence[DecodedPage] = yield from send_all([self._request(at) for at in segments])
        except DynamoDBError as error:
            # Only the first start key comes from a caller. Later ones are DynamoDB's own.
            raise (self._resumed and refusal(error)) or error from None
        self._resumed = False
        for segment, answer in zip(segments, answers, strict=True):
            self._starts[segment] = answer.start or {}
        results = [result for answer in answers for result in answer.objects]
        objects, unmatched_items, unreadable = split(results)
        cursor = None if self.done else encode_cursor(Position(self._name, 0, self._starts), self._cursors)
        return Page(objects, cursor, tuple(item for item in unmatched_items if not self._is_known(item)), unreadable)

    def _is_known(self, item: Json) -> bool:
        """Return whether the schema knows an item that is of no requested class: a copy, a guard, another entity."""
        table_facets = [facet for facet in self._schema.facets if facet.slot == TABLE]
        tag = item.get(self._schema.type_attribute, {}).get("S")
        if tag is not None:
            return tag in map(facet_tag, table_facets)
        return any(values_in(self._schema, facet, item) is not None for facet in table_facets)

    def _request(self, segment: int) -> Request:
        body: dict[str, Any] = {"TableName": self._table}
        if len(self._starts) > 1:
            body |= {"Segment": segment, "TotalSegments": len(self._starts)}
        if self._consistent:
            body["ConsistentRead"] = True
        if self._starts[segment]:
            body["ExclusiveStartKey"] = self._starts[segment]
        if self._visible:
            placeholders = Placeholders()
            body["FilterExpression"] = filter_text(self._visible, self._schema.type_attribute, False, placeholders)
            body |= placeholders.parameters()
        return Request("Scan", body, f"{self._table}, segment {segment}", self._decoder.page)
