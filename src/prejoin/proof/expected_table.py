"""What the table should hold: each item with its keys, copies and guards, made from the design; and what it does hold.

The client's write path has no part in what should be there: keys are built from the design's templates, item by item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from prejoin.design.mapping.addressing import held
from prejoin.design.mapping.facets import ending, types_of
from prejoin.design.model import TABLE, Item
from prejoin.keys import Facet, Natural, Template, guard_key
from prejoin.proof.data import Values
from prejoin.proof.sample_table import Bench
from prejoin.protocol.values import canonical_item, equal
from prejoin.table.codec.codec import Codec

Json = dict[str, Any]
Dump = dict[tuple[str, ...], Json]
"""Items as DynamoDB has them, by the texts of their keys."""
_OWNER = "owner"


class State:
    """The items that should be in the table."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._names = [k.name for k in (*bench.design.slots[0].pk, *bench.design.slots[0].sk)]
        self._facets = {(f.entity, f.copy, f.slot): f for f in bench.facets}
        self.items: Dump = {}
        for entity, items in bench.items.items():
            for values in items:
                self.items |= self.of(entity, values)

    def of(self, entity: str, values: Values) -> Dump:
        """All that is in the table for one item: its own, copies and guards."""
        return {self.key(item): item for item in self._made(entity, values)}

    def key(self, item: Json) -> tuple[str, ...]:
        return tuple(text for name in self._names for text in item[name].values())

    def replace(self, entity: str, before: Values | None, after: Values | None) -> None:
        """Follows a write."""
        for key in self.of(entity, before) if before is not None else ():
            self.items.pop(key, None)
        if after is not None:
            self.items |= self.of(entity, after)

    def read(self) -> Dump:
        """What is in the table."""
        found: Dump = {}
        start: Json = {}
        while True:
            page = self._bench.unobserved.call("Scan", {"ConsistentRead": True, **start})
            found |= {self.key(item): item for item in page["Items"]}
            if "LastEvaluatedKey" not in page:
                return found
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def difference(self, there: Dump | None = None) -> str:
        """How the table differs from what it should hold; empty where it does not."""
        found = self.read() if there is None else there
        for key, item in self.items.items():
            if key not in found:
                return f"{self._what(item)} {_shown(key)} is not there"
            if item != found[key] and not _same(item, found[key]):
                return f"{self._what(item)} {_shown(key)} is {found[key]} instead of {item}"
        strange = next((key for key in found if key not in self.items), None)
        return "" if strange is None else f"{self._what(found[strange])} {_shown(strange)} should not be there"

    def _what(self, item: Json) -> str:
        return str(item.get(self._bench.design.type_attribute, {}).get("S", "an item"))

    def _made(self, entity: str, values: Values) -> Iterator[Json]:
        bench, design = self._bench, self._bench.design
        described = bench.entity(entity)
        own = design.item(entity)
        if own is None:
            return
        yield self._item(own, own.tag, values, {a.name for a in described.attributes})
        for copy in (i for i in design.items if i.entity == entity and i.copy):
            if self._facets[entity, copy.copy, TABLE].has(values):
                yield self._item(copy, f"{own.tag}.{copy.copy}", values, held(copy, design, described))
        for guard in (g for g in design.guards if g.entity == entity):
            if all(values.get(name) is not None for name in guard.attributes):
                types = types_of(described)
                sorted_ = bool(design.slots[0].sk)
                pk, sk = guard_key(own.tag, guard.attributes, types, design.separator, sorted_)
                base = self._keys(self._facets[entity, "", TABLE], values)
                label = ", ".join(guard.attributes)
                keys = self._written(TABLE, pk, sk, values)
                tag = {"S": f"{own.tag} unique {label}"}
                ends = {n: values[n] for n in [ending(design, described)] if values.get(n) is not None}
                until = self._codec(entity).encode_values(bench.package.named(entity, ends))
                yield {_OWNER: {"M": base}, **until, **keys, design.type_attribute: tag}

    def _item(self, item: Item, tag: str, values: Values, holds: Collection[str]) -> Json:
        bench = self._bench
        kept = {name: value for name, value in values.items() if name in holds}
        found = {
            **self._codec(item.entity).encode_values(bench.package.named(item.entity, kept)),
            bench.design.type_attribute: {"S": tag},
        }
        for facet in item.facets:
            keys = self._facets[item.entity, item.copy, facet.slot]
            if keys.has(values):
                found |= self._keys(keys, values)
        return found

    def _codec(self, entity: str) -> Codec[Any]:
        return self._bench.package.schema.entity(self._bench.package.classes[entity]).codec

    def _keys(self, facet: Facet, values: Values) -> Json:
        return self._written(facet.slot, facet.pk, facet.sk, values)

    def _written(
        self, name: str, pk: Template | Natural, sk: Template | Natural | None, values: Mapping[str, Any]
    ) -> Json:
        slot = self._bench.design.slot(name)
        assert slot is not None  # the facet is in it
        found: Json = {}
        for form, attributes in ((pk, slot.pk), (sk, slot.sk)):
            if isinstance(form, Template):
                found[attributes[0].name] = {"S": form.build({name: values.get(name) for name in form.attributes})}
            elif form is not None:
                written = form.writer(values)
                parts = written if isinstance(written, tuple) else (written,)
                for attribute, part in zip(attributes, parts, strict=True):
                    if attribute.name not in values:
                        found[attribute.name] = {attribute.type: part if attribute.type == "S" else str(part)}
        return found


def _same(one: Json, other: Json) -> bool:
    return equal({"M": canonical_item(one)}, {"M": canonical_item(other)})


def _shown(key: tuple[str, ...]) -> str:
    return " / ".join(key)
