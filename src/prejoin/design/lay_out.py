"""Chosen keys as a design: slots, templates with their words, items and guards. Words say what a key is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import permutations

from prejoin.design.candidates import Candidate
from prejoin.design.choose import BASE, OWN, Chosen, Placed, Together, answers
from prejoin.design.model import TABLE, Design, Facet, Guard, Item, KeyAttribute, Slot, When
from prejoin.design.needs import Question, Tail
from prejoin.design.spread import bucket_of, heat
from prejoin.workload.lookup import root
from prejoin.workload.model import Entity, Naming, Workload

_MOST_ORDERED = 7
"""Entities of one partition whose order is tried out."""


def lay_out(workload: Workload, questions: Sequence[Question], chosen: Chosen) -> Design:
    """The design of a choice. Its operations are the planner's to say."""
    names = {d.pin.what: d.pin.name for d in workload.decisions if isinstance(d.pin, Naming)}
    words = _Words(workload, questions, chosen, names.get("separator", "#"))
    items = []
    for entity in workload.entities:
        own = [p for p in chosen.placed if p.entity == entity.name]
        for number in sorted({p.item for p in own}):
            placed = sorted((p for p in own if p.item == number), key=lambda p: p.slot)
            copy = "" if number == OWN else _copy_name(placed[0])
            facets = tuple(words.facet(p) for p in placed)
            items.append(Item(entity.name, words.tag(entity) if not copy else f"{entity.name}.{copy}", facets, copy))
    return Design(
        table=names.get("table", _table_name(workload)),
        slots=tuple(_slots(chosen, names)),
        items=tuple(items),
        guards=tuple(_guards(workload, chosen)),
        type_attribute=names.get("type attribute", "entityType"),
        separator=names.get("separator", "#"),
        ttl_attribute=next((a.name for e in workload.entities for a in e.attributes if a.ttl), ""),
    )


def slot_name(number: int) -> str:
    return TABLE if number == BASE else f"gsi{number}"


def _slots(chosen: Chosen, names: dict[str, str]) -> Iterable[Slot]:
    pk, sk = names.get("partition key", "pk"), names.get("sort key", "sk")
    for number in range(chosen.indexes + 1):
        prefix = "" if number == BASE else slot_name(number)
        yield Slot(slot_name(number), (KeyAttribute(f"{prefix}{pk}"),), (KeyAttribute(f"{prefix}{sk}"),))


def _copy_name(placed: Placed) -> str:
    return "by-" + "-".join(re.sub(r"\W+", "-", name) for name in (placed.candidate.pk or ("all",)))


def _table_name(workload: Workload) -> str:
    text = re.sub(r"[^a-z0-9]+", "-", workload.title.lower()).strip("-")[:60].strip("-")
    return text if len(text) >= 3 else "table"


def _guards(workload: Workload, chosen: Chosen) -> Iterable[Guard]:
    """Items that make values unique: what is said to be, and ids that are only a part of the table's key."""
    for entity in workload.entities:
        base = next(p.candidate for p in chosen.placed if (p.entity, p.item, p.slot) == (entity.name, OWN, BASE))
        groups = [(a.name,) for a in entity.attributes if a.unique and not a.id] + list(entity.unique)
        ids = tuple(a.name for a in entity.id)
        if ids and set(base.attributes) > set(ids) and not any(a.generated for a in entity.id):
            groups.append(ids)
        for group in dict.fromkeys(groups):
            if set(group) != set(base.attributes):
                yield Guard(entity.name, tuple(group))


class _Words:
    """The words of the keys: partitions by whose id they are made of, sort keys by the type of the item."""

    def __init__(self, workload: Workload, questions: Sequence[Question], chosen: Chosen, separator: str) -> None:
        self._workload = workload
        self._questions = questions
        self._separator = separator
        self._words = self._ordered(questions, chosen)

    def tag(self, entity: Entity) -> str:
        return entity.name

    def facet(self, placed: Placed) -> Facet:
        candidate = placed.candidate
        entity = self._entity(candidate)
        word = self._words[placed]
        first = [self._field(entity, one) for one in candidate.sk[: candidate.mingled]]
        rest = [self._field(entity, one) for one in candidate.sk[candidate.mingled :]]
        sk = self._separator.join((*first, word, *rest))
        when = tuple(When(attribute, (value,)) for attribute, value in candidate.when)
        return Facet(slot_name(placed.slot), (self.partition(candidate),), (sk,), when)

    def partition(self, candidate: Candidate) -> str:
        entity = self._entity(candidate)
        parts = [part for name in candidate.pk for part in (self._word(entity, name), f"{{{name}}}")]
        if not candidate.pk:
            # What holds all items of an entity says so; there is one of a singleton anyway.
            parts = [_upper(entity.name)] if entity.singleton or candidate.when else ["ALL", _upper(entity.name)]
        parts += [_upper(value) for _, value in candidate.when]
        parts += self._cut(entity, candidate)
        return self._separator.join(parts)

    def _cut(self, entity: Entity, candidate: Candidate) -> list[str]:
        """What a partition is cut into, that would be too hot: units of time, or shards."""
        if entity.singleton or not entity.id:
            return []
        if bucket := bucket_of(self._workload, entity, candidate, self._questions):
            return [f"{{{bucket[0]}:{bucket[1]}}}"]
        shards = heat(self._workload, entity, candidate).shards
        return [f"{{{entity.id[0].name}:shard({shards})}}"] if shards > 1 else []

    def _word(self, entity: Entity, name: str) -> str:
        attribute = entity.attribute(name)
        assert attribute is not None
        owner, field = root(self._workload, entity, attribute)
        whose = self._workload.entity(owner)
        if whose and (found := whose.attribute(field)) and found.id and len(whose.id) == 1:
            return _upper(owner)
        return _upper(field)

    def _field(self, entity: Entity, one: Tail) -> str:
        attribute = entity.attribute(one.attribute)
        assert attribute is not None
        mark = "?" if attribute.optional else ""
        return f"{{{one.attribute}{mark}}}"

    def _entity(self, candidate: Candidate) -> Entity:
        found = self._workload.entity(candidate.entity)
        assert found is not None
        return found

    def _ordered(self, questions: Sequence[Question], chosen: Chosen) -> dict[Placed, str]:
        """The word for each item in each slot, so that what is read together lies side by side, and nothing between."""
        rooms: dict[tuple[int, str], list[Placed]] = {}
        for placed in chosen.placed:
            rooms.setdefault((placed.slot, self.partition(placed.candidate)), []).append(placed)
        asked = {q.read.id: q for q in questions}
        words: dict[Placed, str] = {}
        for (slot, _), there in rooms.items():
            groups = [_group(asked[way.read], way, there) for way in chosen.together if way.slot == slot]
            words |= _named(there, [group for group in groups if group])
        return words


def _group(question: Question, way: Together, placed: Sequence[Placed]) -> frozenset[Placed] | None:
    """Which of the items in a partition a read finds there."""
    found = set()
    for need in question.needs:
        mine = {a for a in need.given if question.ask.name(need.entity, a) in way.names}
        one = next(
            (p for p in placed if p.entity == need.entity and set(p.candidate.pk) == mine and answers(p, need)), None
        )
        if one is None:
            return None
        found.add(one)
    return frozenset(found)


def _named(placed: Sequence[Placed], sets: Sequence[frozenset[Placed]]) -> dict[Placed, str]:
    """Words for the items of one partition: their entities' names, unless the order has to be another."""
    plain = {}
    for one in placed:
        twins = [p for p in placed if p.entity == one.entity and p.item < one.item]
        plain[one] = _upper(one.entity) + (f"_{len(twins) + 1}" if twins else "")
    usual = sorted(placed, key=plain.__getitem__)
    order = _side_by_side(usual, sets)
    if order is None or order == usual:
        return plain
    return {one: f"{rank}{plain[one]}" for rank, one in enumerate(order)}


def _side_by_side(usual: list[Placed], sets: Sequence[frozenset[Placed]]) -> list[Placed] | None:
    """The first order in which each set is contiguous, the usual one before others."""
    orders = permutations(usual) if len(usual) <= _MOST_ORDERED else [tuple(usual)]
    for order in orders:
        if all(_contiguous(order, one) for one in sets):
            return list(order)
    return None


def _contiguous(order: Sequence[Placed], wanted: frozenset[Placed]) -> bool:
    places = [at for at, name in enumerate(order) if name in wanted]
    return not places or places[-1] - places[0] == len(places) - 1


def _upper(name: str) -> str:
    """A name as a word of a key: `OrderItem` is `ORDER_ITEM`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^\w]+", "_", spaced).strip("_").upper() or "ITEM"
