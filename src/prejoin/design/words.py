"""The words of the keys: partitions by whose id they are made of, sort keys by the type of the item.

In a sort key the type comes first, `ORDER#{orderId}`; or, where several types are read side by side in a part of the
partition, after what that part is made of, `ORDER#{orderId}` and `ORDER#{orderId}#ITEM#{itemId}`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TypeVar

from prejoin.design.candidates import Candidate
from prejoin.design.choose import Chosen, Placed, lies
from prejoin.design.model import Facet, When
from prejoin.design.needs import Question, Tail
from prejoin.design.spread import bucket_of, shards_of
from prejoin.workload.lookup import root
from prejoin.workload.model import Entity, Workload

_MOST_STEPS = 20_000
"""How many orders of the types of one partition are tried out, or begun."""

Unit = TypeVar("Unit", bound=Hashable)


class Words:
    """The keys of a choice as templates."""

    def __init__(self, workload: Workload, questions: Sequence[Question], chosen: Chosen, separator: str) -> None:
        self._workload = workload
        self._questions = questions
        self._separator = separator
        self._words: dict[Placed, tuple[str, ...]] = {}
        """What stands before the attributes that all types of a group have in common, and after them."""
        rooms: dict[tuple[int, str], list[Placed]] = {}
        for placed in chosen.placed:
            rooms.setdefault((placed.slot, self.partition(placed.candidate)), []).append(placed)
        asked = {q.read.id: q for q in questions}
        for (slot, _), there in rooms.items():
            sets = []
            for way in (way for way in chosen.together if way.slot == slot):
                question = asked[way.read]
                found = [p for p in there for n in question.needs if lies(p, question, n, way)]
                if len({p.entity for p in found}) == len(question.needs):
                    sets.append((bool(way.rest) or any(n.mingled for n in question.needs), frozenset(found)))
            self._name(there, sets)

    def facet(self, placed: Placed, slot: str) -> Facet:
        candidate = placed.candidate
        entity = self._entity(candidate.entity)
        fields = [self._field(entity, one) for one in candidate.sk]
        head, word = self._words[placed]
        late = candidate.mingled
        sk = self._separator.join(part for part in (head, *fields[:late], word, *fields[late:]) if part)
        when = tuple(When(attribute, (value,)) for attribute, value in candidate.when)
        return Facet(slot, (self.partition(candidate),), (sk,), when)

    def partition(self, candidate: Candidate) -> str:
        entity = self._entity(candidate.entity)
        parts = [part for name in candidate.pk for part in (self._word(entity, name), f"{{{name}}}")]
        if not candidate.pk:
            # What holds all items of an entity says so; there is one of a singleton anyway.
            parts = [upper(entity.name)] if entity.singleton or candidate.when else ["ALL", upper(entity.name)]
        parts += [upper(value) for _, value in candidate.when]
        parts += self._cut(entity, candidate)
        return self._separator.join(parts)

    def _cut(self, entity: Entity, candidate: Candidate) -> list[str]:
        """What a partition is cut into, that would be too hot: units of time, or shards."""
        if entity.singleton or not entity.id:
            return []
        if bucket := bucket_of(self._workload, entity, candidate, self._questions):
            return [f"{{{bucket[0]}:{bucket[1]}}}"]
        shards = shards_of(self._workload, entity, candidate)
        return [f"{{{entity.id[0].name}:shard({shards})}}"] if shards > 1 else []

    def _word(self, entity: Entity, name: str) -> str:
        attribute = entity.attribute(name)
        assert attribute is not None
        owner, field = root(self._workload, entity, attribute)
        whose = self._workload.entity(owner)
        if whose and (found := whose.attribute(field)) and found.id and len(whose.id) == 1:
            return upper(owner)
        return upper(field)

    def _field(self, entity: Entity, one: Tail) -> str:
        attribute = entity.attribute(one.attribute)
        assert attribute is not None
        return f"{{{one.attribute}{'?' if attribute.optional else ''}{':desc' if one.descending else ''}}}"

    def _entity(self, name: str) -> Entity:
        found = self._workload.entity(name)
        assert found is not None
        return found

    def _name(self, there: Sequence[Placed], sets: Sequence[tuple[bool, frozenset[Placed]]]) -> None:
        """Words for the items of one partition, so that what is read together lies side by side."""
        plain: dict[Placed, str] = {}
        for one in there:
            twins = [p for p in there if p.entity == one.entity and p.item < one.item]
            plain[one] = upper(one.entity) + (f"_{len(twins) + 1}" if twins else "")
        groups: dict[str, list[Placed]] = {}
        for one in there:
            label = self._label(one) if one.candidate.mingled else ""
            groups.setdefault(label or f" {plain[one]}", []).append(one)
        heads = {label: self._head(label, members, plain) for label, members in groups.items()}
        usual = sorted(groups, key=heads.__getitem__)
        whole = [frozenset(label for label in groups if set(groups[label]) & found) for deep, found in sets if not deep]
        for rank, label in enumerate(order := side_by_side(usual, whole)):
            head = heads[label] if order == usual else f"{rank}{heads[label]}"
            members = groups[label]
            if label.startswith(" "):
                self._words[members[0]] = ("", head)
                continue
            inner = [found for deep, found in sets if deep and found <= set(members)]
            first = sorted(members, key=lambda one: (len(one.candidate.sk) > one.candidate.mingled, plain[one]))
            within = side_by_side(first, inner)
            for at, one in enumerate(within):
                # What the part is made of is the id of the first: it needs no word of its own.
                own = at == 0 and len(one.candidate.sk) == one.candidate.mingled
                word = "" if own else plain[one] if within == first else f"{at}{plain[one]}"
                self._words[one] = (head, word)

    def _label(self, placed: Placed) -> str:
        """What comes before the type: for all that is read side by side the same."""
        entity = self._entity(placed.entity)
        names = [one.attribute for one in placed.candidate.sk[: placed.candidate.mingled]]
        return self._separator.join(self._word(entity, name) for name in names)

    def _head(self, label: str, members: Sequence[Placed], plain: dict[Placed, str]) -> str:
        if label.startswith(" "):
            return label[1:]
        first = label.split(self._separator)[0]
        alone = {plain[one] for one in plain if not one.candidate.mingled}
        return f"{first}S" if first in alone else first


def side_by_side(usual: Sequence[Unit], sets: Sequence[frozenset[Unit]]) -> list[Unit]:
    """The first order in which each set is contiguous, the usual one before others; the usual one if there is none.

    >>> side_by_side("abc", [frozenset("ac"), frozenset("bc")])
    ['a', 'c', 'b']
    """
    steps = 0
    wanted = [one for one in dict.fromkeys(sets) if 1 < len(one) < len(usual)]

    def extended(order: list[Unit]) -> list[Unit] | None:
        nonlocal steps
        steps += 1
        if len(order) == len(usual) or steps > _MOST_STEPS:
            return order if len(order) == len(usual) else None
        begun = [one for one in wanted if one & set(order) and not one <= set(order)]
        for unit in usual:
            if unit not in order and all(unit in one for one in begun):
                found = extended([*order, unit])
                if found is not None:
                    return found
        return None

    return extended([]) or list(usual)


def upper(name: str) -> str:
    """A name as a word of a key: `OrderItem` is `ORDER_ITEM`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^\w]+", "_", spaced).strip("_").upper() or "ITEM"
