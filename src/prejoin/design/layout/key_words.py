"""Literal words of the keys: partitions are named after the entity whose id they hold, sort keys after the type.

In a sort key the type comes first, `ORDER#{orderId}`. If several types are read together from a part of the partition,
the type follows the attributes of that part: `ORDER#{orderId}` and `ORDER#{orderId}#ITEM#{itemId}`.

Words also decide the order of types in a partition, so they decide whether types that are read together are
neighbours. For each partition, each read of several types is a set that must be contiguous (`contiguous.py`). Where
there is no such order, `apart` names a minimal set of reads that exclude each other; the solver gets it as a cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count, permutations, product

from prejoin import keys
from prejoin.design.layout.contiguous import (
    MOST_STEPS,
    contiguous_order,
    ends,
    excluding_sets,
    is_contiguous,
    side_by_side,
)
from prejoin.design.layout.sharding import bucket_of, shards_of, spread_by
from prejoin.design.model import Design, Facet, When
from prejoin.design.solver.candidates import Candidate, serves
from prejoin.design.solver.needs import Membership, Need, ReadNeeds, SortAttribute
from prejoin.design.solver.placement import (
    BASE,
    OWN,
    CollectionPlace,
    Placement,
    Problem,
    Selection,
    key_as_asked,
    lies_in,
)
from prejoin.types import Kind
from prejoin.workload.lookup import chain, root
from prejoin.workload.model import Attribute, Direction, Entity, Workload
from prejoin.workload.tenants import is_owned, own_id

_MOST_ORDERED = 6
"""The most types in one partition for which all orders are compared."""


def _asked(need: Need) -> list[str]:
    """The attributes that a read gives, has a range of, or sorts by."""
    return [*sorted(need.given), *(one.attribute for one in need.tail)]


class Alike:
    """Groups attributes that hold the same values: by references, or because a read of several entities equates
    them.
    """

    def __init__(self, problem: Problem) -> None:
        self._workload = problem.workload
        self._heads: dict[tuple[str, str], tuple[str, str]] = {}
        self._mixed = {kind for question in problem.reads for kind in self._shared(question)}
        """The kinds of ids of one of several entities that are given once for two of them in one read."""
        for question in problem.reads:
            for need in question.needs if len(question.needs) > 1 else ():
                for attribute in _asked(need):
                    name = question.ask.name(need.entity, attribute)
                    others = [(n.entity, a) for n in question.needs for a in _asked(n)]
                    for entity, other in others:
                        if question.ask.name(entity, other) == name:
                            self._join((need.entity, attribute), (entity, other))

    def _shared(self, question: ReadNeeds) -> set[str]:
        origins: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for need in question.needs:
            entity = self._workload.entity(need.entity)
            for attribute in filter(None, map(entity.attribute, need.given)) if entity else ():
                assert entity is not None
                _, kind = root(self._workload, entity, attribute)
                asked = question.ask.name(need.entity, attribute.name)
                origins.setdefault((kind, asked), set()).add(_own_origin(self._workload, entity, attribute))
        return {kind for (kind, _), places in origins.items() if len(places) > 1}

    def root(self, entity: Entity, attribute: Attribute) -> tuple[str, str]:
        found = root(self._workload, entity, attribute)
        if not found[0] and found[1] in self._workload.shared_ids.values() and found[1] not in self._mixed:
            found = _own_origin(self._workload, entity, attribute)  # no read needs them in one partition
        return self._head(found)

    def _join(self, *names: tuple[str, str]) -> None:
        found = [(e, e.attribute(attribute)) for name, attribute in names if (e := self._workload.entity(name))]
        heads = {self.root(entity, attribute) for entity, attribute in found if attribute}
        best = min(heads, key=lambda head: (not self._is_id(head), not self._is_named(head), head))
        self._heads |= {head: best for head in heads if head != best}

    def _is_id(self, name: tuple[str, str]) -> bool:
        entity = self._workload.entity(name[0])
        return entity is not None and [a.name for a in own_id(self._workload, entity)] == [name[1]]

    def _is_named(self, name: tuple[str, str]) -> bool:
        entity = self._workload.entity(name[0])
        attribute = entity.attribute(name[1]) if entity else None
        return bool(entity and attribute and attribute.id and identifies(self._workload, entity, attribute))

    def _head(self, name: tuple[str, str]) -> tuple[str, str]:
        while name in self._heads:
            name = self._heads[name]
        return name


def identifies(workload: Workload, entity: Entity, attribute: Attribute) -> bool:
    """Whether an attribute identifies its entity: it is the whole id, or the part that is named after the entity.

    The `flightNo` of `Flight` does, even if a date is part of the id, too.
    """
    ids, word = own_id(workload, entity), upper(entity.name)
    named = [a for a in ids if upper(a.name) == word or upper(a.name).startswith(f"{word}_")]
    return ids == (attribute,) or named == [attribute]


def _own_origin(workload: Workload, entity: Entity, attribute: Attribute) -> tuple[str, str]:
    """The attribute that an id comes from. What may hold the id of one of several entities comes from itself."""
    places = [place for place in chain(workload, entity, attribute) if place[0]]
    held = [(place, e.attribute(place[1])) for place in places if (e := workload.entity(place[0]))]
    return next((place for place, a in held if a and a.references_or), places[-1])


def padded_to(workload: Workload, entity: Entity, attribute: Attribute) -> int:
    """The number of digits of the largest value of an integer that is never negative; 0 without a bound.

    The bounds are the attribute's own, or those of the id that it holds.

    >>> from prejoin.types import Type
    >>> copy = Attribute("copyNumber", Type(Kind.INTEGER), max=9999)
    >>> padded_to(Workload(), Entity("Copy"), copy)
    4
    """
    places = chain(workload, entity, attribute)[1:]
    held = [e.attribute(name) for owner, name in places if (e := workload.entity(owner))]
    for one in (attribute, *held):
        if one is not None and one.max is not None:
            least, _ = one.bounds
            whole = attribute.type.kind is Kind.INTEGER and least is not None and 0 <= least <= one.max
            return len(str(one.max)) if whole else 0
    return 0


class KeyWords:
    """The selected keys as templates."""

    def __init__(self, problem: Problem, chosen: Selection, separator: str, same: Alike | None = None) -> None:
        self._workload = problem.workload
        self._questions = problem.reads
        self._needs = tuple(need for one in (*problem.reads, *problem.finds) for need in one.needs)
        self._fixed = problem.fixed
        self._separator = separator
        self._same = same or Alike(problem)
        self._ordered = {
            self._same.root(entity, attribute)
            for need in self._needs
            if (entity := problem.workload.entity(need.entity))
            for one in need.tail
            if (attribute := entity.attribute(one.attribute))
        }
        """Attributes that some read sorts by or has a range of."""
        self._attributes = {upper(a.name) for e in problem.workload.entities for a in e.attributes}
        self._partitions: dict[Placement, str] = {}
        self._words: dict[Placement, tuple[str, ...]] = {}
        """The words before and after the attributes that all types of a group share."""
        rooms: dict[tuple[int, str], list[Placement]] = {}
        self.rooms = rooms
        """The placements in each partition, by slot and partition."""
        for placed in chosen.placed:
            rooms.setdefault((placed.slot, self._room(placed)), []).append(placed)
        self.apart: list[frozenset[CollectionPlace]] = []
        """Places that exclude each other: their types cannot all be neighbours."""
        asked = {q.read.id: q for q in problem.reads}
        for (slot, _), there in rooms.items():
            sets = []
            ways: dict[frozenset[Placement], CollectionPlace] = {}
            ends: dict[Placement, set[int]] = {}
            for way in (way for way in chosen.together if way.slot == slot):
                question = asked[way.read]
                found = [next((p for p in there if _is_meant(p, question, n, way)), None) for n in question.needs]
                meant = frozenset(p for p in found if p)
                if len(meant) == len(question.needs):
                    sets.append((bool(way.rest) or any(n.interleaved for n in question.needs), meant))
                    ways[meant] = way
                    for one in meant if question.read.paginated else ():
                        if not one.candidate.sk:
                            ends.setdefault(one, set()).add(_end(question))
            self._name(there, sets, {one: min(wanted) for one, wanted in ends.items() if len(wanted) == 1})
            for types, wanted in self._orders(there, sets):
                if all(p.item == OWN for p in types) and contiguous_order(types, wanted) is None:
                    self.apart.append(frozenset(ways[one] for one in excluding_sets(types, wanted)))

    def _orders(
        self, there: Sequence[Placement], sets: Sequence[tuple[bool, frozenset[Placement]]]
    ) -> Iterator[tuple[list[Placement], list[frozenset[Placement]]]]:
        """The types of a partition that need an order, and the sets of them that have to be contiguous.

        That is all of them, or those that follow the same attributes: `ORDER#{orderId}#ITEM`, `ORDER#{orderId}#NOTE`.
        """
        late = [one for one in there if one.candidate.type_position]
        if not late:
            yield list(there), [found for deep, found in sets if not deep]
        for label in dict.fromkeys(map(self._label, late)):
            types = [one for one in late if self._label(one) == label]
            yield types, [found for deep, found in sets if deep and found <= set(types)]

    def facet(self, placed: Placement, slot: str) -> Facet:
        candidate = placed.candidate
        if candidate.fixed:
            return self._fixed.facets[placed.entity, placed.item, placed.slot]
        entity = self._entity(candidate.entity)
        sparse = self._sparse(placed)
        late = candidate.type_position
        fields = [
            self._field(entity, one, one.attribute in sparse, interleaved=at < late)
            for at, one in enumerate(candidate.sk)
        ]
        head, word = self._words[placed]
        sk = self._separator.join(part for part in (head, *fields[:late], word, *fields[late:]) if part)
        when = tuple(When(attribute, (value,)) for attribute, value in candidate.when)
        when += tuple(When(one.attribute, one.values, one.absent) for one in candidate.only)
        return Facet(slot, (self.partition(placed),), (sk,), when)

    def _room(self, placed: Placement) -> str:
        """A partition, with the origin of each attribute in place of the entity's name for it."""
        entity, partition = self._entity(placed.entity), self.partition(placed)
        names = keys.fields_of(partition)
        roots = {a.name: "/".join(self._same.root(entity, a)) for a in entity.attributes if a.name in names}
        return keys.renamed(partition, roots)

    def partition(self, placed: Placement) -> str:
        """The partition key as a template. It uses the words of existing keys, if there are any."""
        if placed not in self._partitions:
            self._partitions[placed] = self._partition_of(placed)
        return self._partitions[placed]

    def _partition_of(self, placed: Placement) -> str:
        if placed.candidate.fixed:
            return self._fixed.facets[placed.entity, placed.item, placed.slot].pk[0]
        own = self._signature(placed.entity, placed.candidate)
        for (entity, item, slot), candidate in self._fixed.candidates.items():
            if slot == placed.slot and candidate.pk and self._signature(entity, candidate) == own:
                names = dict(zip(candidate.pk, placed.candidate.pk, strict=True))
                return keys.renamed(self._fixed.facets[entity, item, slot].pk[0], names)
        return self._partition(placed.candidate, placed.slot == BASE)

    def parents_first(self, placed: Placement) -> list[str]:
        """The attributes of a partition in the order of its key."""
        return self._parents_first(self._entity(placed.entity), placed.candidate.pk)

    def _signature(self, name: str, candidate: Candidate) -> tuple[object, ...]:
        entity = self._entity(name)
        return (
            *(self._same.root(entity, a) for n in candidate.pk if (a := entity.attribute(n))),
            candidate.when,
            candidate.only,
        )

    def _partition(self, candidate: Candidate, table: bool) -> str:
        entity = self._entity(candidate.entity)
        names = self._parents_first(entity, candidate.pk)
        parts = [part for name in names for part in (self._word(entity, name, names), self._given(entity, name))]
        conditions = [self._condition(entity, *one) for one in candidate.when]
        conditions += [_membership(one) for one in candidate.only]
        if not candidate.pk:
            # A partition with all items of an entity is named so. A singleton has one item anyway.
            whole = "_".join((upper(entity.name), *(name for name, _ in conditions)))
            parts = [whole] if entity.singleton or conditions else ["ALL", whole]
            parts += [value for _, value in conditions if value]
        else:
            parts += [value or name for name, value in conditions]
        parts += self._cut(entity, candidate, table)
        return self._separator.join(parts)

    def _condition(self, entity: Entity, name: str, value: str) -> tuple[str, str]:
        """The words of a constant: its attribute, and its value unless the attribute says it all.

        `active = true` is `ACTIVE`, `isActive = false` is `NOT_ACTIVE`, `level = 3` is `LEVEL_3`.
        """
        attribute = entity.attribute(name)
        word = upper(name)
        if attribute and attribute.type.kind is Kind.BOOLEAN:
            short = word.removeprefix("IS_")
            word = word if short in self._attributes else short
            return (word if value.lower() == "true" else f"NOT_{word}"), ""
        if attribute and attribute.type.numeric:
            return f"{word}_{upper(value)}", ""
        return word, upper(value)

    def _cut(self, entity: Entity, candidate: Candidate, table: bool) -> list[str]:
        """Time buckets or shards that split a partition which would be too hot."""
        if entity.singleton or not entity.id:
            return []
        found = []
        if bucket := bucket_of(self._workload, entity, candidate, self._questions):
            found.append(f"{{{bucket[0]}:{bucket[1]}}}")
        # All current writes go to the current bucket.
        shards = shards_of(self._workload, entity, candidate, bool(bucket), table)
        spread = spread_by(self._workload, entity, candidate)
        return [*found, *([f"{{{spread}:shard({shards})}}"] if spread and shards > 1 else [])]

    def _word(self, entity: Entity, name: str, partition: Sequence[str]) -> str:
        attribute = entity.attribute(name)
        assert attribute is not None
        if self._is_tenant(entity, attribute):
            return "TENANT"
        owner, field = self._same.root(entity, attribute)
        if not owner and field in self._workload.shared_ids.values():
            return self._shared_word(field)
        whose = self._workload.entity(owner)
        found = whose.attribute(field) if whose else None
        if whose and found and found.id and identifies(self._workload, whose, found):
            return self._id_word(whose, found)
        if whose and found and self._completes(whose, found, entity, partition):
            return upper(whose.name)
        word = upper(field)
        # The name of another entity means its id, and two attributes with the same upper-case name need two words.
        entities = {upper(one.name): one for one in self._workload.entities}
        if word in entities and len(own_id(self._workload, entities[word])) == 1:
            word = f"{upper(owner)}_{word}"
        other = found is None or not found.unique  # a unique `taxId` is no id of something else
        short = without_id(word)
        if found and found.references_or:  # it refers by name: `ownerName → User | Organization`
            short = short.removesuffix("_NAME")
        if other and short and short not in entities and short not in self._attributes:
            word = short
        alike = [a.name for a in whose.attributes if upper(a.name) == upper(field)] if whose else [field]
        return f"{word}_{alike.index(field) + 1}" if alike.index(field) else word

    def _completes(self, whose: Entity, last: Attribute, entity: Entity, partition: Sequence[str]) -> bool:
        """Whether a natural part of an id completes it in a partition: an issue's `number`, beside its repository."""
        *above, own = whose.id or (last,)
        if own != last or last.generated is not False or last.references or not all(a.references for a in above):
            return False
        held = {self._same.root(entity, a) for name in partition if (a := entity.attribute(name))}
        return held.issuperset(self._same.root(whose, a) for a in whose.id)

    def _shared_word(self, kind: str) -> str:
        """The word for an id of one of several entities, from an attribute that holds it: `OWNER` for `ownerName`."""
        every = [(e, a) for e in self._workload.entities for a in e.attributes if a.references_or]
        names = sorted(upper(a.name) for e, a in every if self._same.root(e, a) == ("", kind))
        taken = {upper(one.name) for one in self._workload.entities} | self._attributes
        short = (without_id(name).removesuffix("_NAME") for name in names)
        return next((word for word in short if word and word not in taken), names[0] if names else upper(kind))

    def _id_word(self, entity: Entity, id_: Attribute) -> str:
        """The word for an entity's id: the name of the entity, or its beginning if the id is named after that.

        The `playerId` of `PlayerProfile` is `PLAYER`. The `userId` of `Preference` is `USER`: a plain `id` may be that
        of something outside.
        """
        kept = self._fixed.design
        name = entity.name if kept.item(entity.name) else free_type(entity.name, kept)
        word, short = upper(name), without_id(upper(id_.name))
        if short in {upper(one.name) for one in self._workload.entities}:
            return word
        apart = short not in word and word not in short and short not in self._attributes
        return short if word.startswith(f"{short}_") or (id_.generated is None and apart) else word

    def _field(self, entity: Entity, one: SortAttribute, sparse: bool, interleaved: bool) -> str:
        attribute = entity.attribute(one.attribute)
        assert attribute is not None
        missing = "?" if attribute.optional and not sparse else ""
        if self._is_plain(entity, attribute) and not one.descending:
            specs = ["plain"]
        else:
            digits = self._digits(entity, attribute, interleaved)
            specs = [*([f"0{digits}d"] if digits else []), *(["desc"] if one.descending else [])]
        return f"{{{one.attribute}{missing}{':' * bool(specs)}{','.join(specs)}}}"

    def _digits(self, entity: Entity, attribute: Attribute, interleaved: bool) -> int:
        """The number of digits for padding, if the document gives bounds; 0 if it does not.

        Several entities in one order must use the same padding, and a design in use keeps its format.
        """
        alike = [(entity, attribute)]
        if interleaved:
            alike += [(e, a) for e in self._workload.entities if (a := e.attribute(attribute.name))]
        bounds = {padded_to(self._workload, *one) for one in alike}
        return 0 if len(bounds) > 1 or any(self._is_kept(*one) for one in alike) else bounds.pop()

    def _is_kept(self, entity: Entity, attribute: Attribute) -> bool:
        """Whether a key that is fixed holds the same values: they keep their format."""
        held = {
            self._same.root(of, a)
            for candidate in self._fixed.candidates.values()
            for name in candidate.attributes
            if (of := self._workload.entity(candidate.entity)) and (a := of.attribute(name))
        }
        return self._same.root(entity, attribute) in held

    def _given(self, entity: Entity, name: str) -> str:
        """A field of a partition key, whose value is always known as a whole."""
        attribute = entity.attribute(name)
        return f"{{{name}:plain}}" if attribute and self._is_plain(entity, attribute, partition=True) else f"{{{name}}}"

    def _is_plain(self, entity: Entity, attribute: Attribute, partition: bool = False) -> bool:
        """Whether a number is written without padding: no read depends on its order, in any entity that has it.

        In a sort key a number with bounds is padded nevertheless, because people expect 2 before 10. A design in use
        keeps its format.
        """
        if not attribute.type.numeric or self._is_kept(entity, attribute):
            return False
        bounded = bool(padded_to(self._workload, entity, attribute))
        return partition or not (bounded or self._same.root(entity, attribute) in self._ordered)

    def _parents_first(self, entity: Entity, names: Sequence[str]) -> list[str]:
        """The attributes of a partition, parents before children: the tenant, then its ticket.

        A parent is part of more ids, or refers to fewer entities. The order depends only on origins, so it is the same
        for all entities in a partition.
        """
        ids = [{self._same.root(e, a) for a in e.id} for e in self._workload.entities]

        def place(name: str) -> tuple[bool, int, int, str, int]:
            attribute = entity.attribute(name)
            assert attribute is not None
            if self._is_tenant(entity, attribute):
                return False, 0, 0, "", 0
            owner, origin = self._same.root(entity, attribute)
            of = self._workload.entity(owner)
            at = [a.name for a in of.attributes].index(origin) if of and of.attribute(origin) else -1
            return True, -sum((owner, origin) in one for one in ids), len(self._above(owner)), owner, at

        return sorted(names, key=place)

    def _above(self, name: str) -> set[str]:
        """The entities that an entity refers to, and those that they refer to."""
        found: set[str] = set()
        new = {name}
        while new:
            entities = [e for e in map(self._workload.entity, new) if e]
            new = {a.references.partition(".")[0] for e in entities for a in e.attributes if a.references} - found
            found |= new
        return found

    def _is_tenant(self, entity: Entity, attribute: Attribute) -> bool:
        """Whether an attribute is the tenant, which every partition key begins with."""
        tenant = self._workload.tenant
        if tenant is None or attribute.name != tenant.attribute:
            return False
        return is_owned(self._workload, entity.name) or entity is self._workload.tenant_entity

    def _sparse(self, placed: Placement) -> frozenset[str]:
        """The optional attributes without which an item may be missing from an index.

        Every read of that key gives a value or a range for them, so an item without one is in no result. A read that is
        only sorted by one must find the others, too.
        """
        if placed.slot == BASE:
            return frozenset()
        served = [n for n in self._needs if n.entity == placed.entity and serves(placed.candidate, n)]
        asked = [
            n.given
            | {t.attribute for t in n.tail[:1] if n.ranged}
            | {one.attribute for one in n.only if not one.absent}
            for n in served
        ]
        return frozenset[str]().union(*asked[:1]).intersection(*asked)

    def _entity(self, name: str) -> Entity:
        found = self._workload.entity(name)
        assert found is not None
        return found

    def _name(
        self, there: Sequence[Placement], sets: Sequence[tuple[bool, frozenset[Placement]]], ends: dict[Placement, int]
    ) -> None:
        """Assign words to the items of one partition, so that types which are read together are neighbours.

        If such a read has pages, the single item of its type comes first in reading order, so that it is on page one.
        """
        plain: dict[Placement, str] = {}
        taken = [self._there(one) for one in there if one.candidate.fixed]
        for one in there:
            plain[one] = upper(one.entity)
            if not one.candidate.fixed:
                plain[one] = next(word for word in _type_words(one) if word not in taken)
                taken.append(plain[one])
        groups: dict[str, list[Placement]] = {}
        for one in there:
            label = self._label(one) if one.candidate.type_position else ""
            groups.setdefault(label or f" {plain[one]}", []).append(one)
        heads = {label: self._head(label, members, plain) for label, members in groups.items()}
        for label in [label for label in heads if not label.startswith(" ")]:
            if list(heads.values()).count(heads[label]) > 1:
                heads[label] = label.replace(self._separator, "_")
        usual = sorted(groups, key=heads.__getitem__)
        wanted = sorted(usual, key=lambda label: ends.get(groups[label][0], 0))
        whole = [frozenset(label for label in groups if set(groups[label]) & found) for deep, found in sets if not deep]
        fixed = {label for label, members in groups.items() if members[0].candidate.fixed}
        if fixed:
            heads |= _beside({label: heads[label] for label in usual}, fixed, whole)
        else:
            heads = self._plainest(heads, wanted, whole)
        for label, head in heads.items():
            members = groups[label]
            if label.startswith(" "):
                self._words[members[0]] = ("", head)
                continue
            inner = [found for deep, found in sets if deep and found <= set(members)]
            first = sorted(members, key=lambda one: (len(one.candidate.sk) > one.candidate.type_position, plain[one]))
            within = side_by_side(first, inner)
            # The part consists of the id of the first type, which needs no word of its own.
            own = int(len(within[0].candidate.sk) == within[0].candidate.type_position)
            marked = in_this_order([plain[one] for one in within[own:]], self._separator)
            for one, word in zip(within, ["", *marked] if own else marked, strict=True):
                self._words[one] = (head, word)

    def _plainest(self, heads: dict[str, str], wanted: Sequence[str], sets: Sequence[frozenset[str]]) -> dict[str, str]:
        """The heads in an order in which each set is contiguous: the one with the fewest marks, then the first one.

        The first and the last of each set stay so, because pages begin with them.
        """
        first = side_by_side(wanted, sets)

        def ordered(order: Sequence[str]) -> dict[str, str]:
            return dict(zip(order, in_this_order([heads[label] for label in order], self._separator), strict=True))

        def marks(found: dict[str, str]) -> int:
            return sum(len(found[label]) - len(heads[label]) for label in found)

        found = [
            ordered(order)
            for order in (permutations(first) if len(first) <= _MOST_ORDERED else [tuple(first)])
            if all(is_contiguous(order, one) and ends(order, one) == ends(first, one) for one in sets)
        ]
        return min(found, key=marks, default=ordered(first))

    def _there(self, placed: Placement) -> str:
        """The word that an existing sort key begins with."""
        facet = self._fixed.facets[placed.entity, placed.item, placed.slot]
        text = facet.sk[0] if facet.sk else ""
        word = re.split(r"[{" + re.escape(self._separator) + "]", text.removeprefix(self._separator))[0]
        return f"{self._separator}{word}" if text.startswith(self._separator) else word

    def _label(self, placed: Placement) -> str:
        """The words before the type: the same for all types that are read together."""
        entity = self._entity(placed.entity)
        names = [one.attribute for one in placed.candidate.sk[: placed.candidate.type_position]]
        return self._separator.join(self._word(entity, name, names) for name in names)

    def _head(self, label: str, members: Sequence[Placement], plain: dict[Placement, str]) -> str:
        if members[0].candidate.fixed:
            return self._there(members[0])
        if label.startswith(" "):
            return label[1:]
        first = label.split(self._separator)[0]
        alone = {plain[one] for one in plain if not one.candidate.type_position}
        return f"{first}S" if first in alone else first


def _is_meant(placed: Placement, question: ReadNeeds, need: Need, way: CollectionPlace) -> bool:
    if not placed.candidate.fixed:
        return lies_in(placed, question, need, way)
    pk, rest = key_as_asked(placed, question, len(way.rest))
    return placed.entity == need.entity and (frozenset(pk), rest) == (frozenset(way.names), way.rest)


def _end(question: ReadNeeds) -> int:
    """The end of a partition where a read begins: -1 for the lower end, 1 for the upper."""
    sort = question.read.sort
    return 1 if sort and sort[0].direction is Direction.DESC else -1


def _membership(one: Membership) -> tuple[str, str]:
    """The words of a condition of a sparse index: its attribute, and its values unless the attribute says it all.

    >>> _membership(Membership("deletedAt")), _membership(Membership("leftAt", absent=True))
    (('DELETED', ''), ('NOT_LEFT', ''))
    >>> _membership(Membership("assigneeId", absent=True)), _membership(Membership("status", ("OPEN", "WAITING")))
    (('NO_ASSIGNEE', ''), ('STATUS', 'OPEN_OR_WAITING'))
    """
    word = without_id(upper(one.attribute))
    if one.values:
        return word, "_OR_".join(map(upper, one.values))
    stem = re.sub(r"_(AT|ON)$", "", word)
    return (f"{'NO' if stem == word else 'NOT'}_{stem}" if one.absent else stem), ""


def free_type(name: str, kept: Design) -> str:
    """The type of an entity's items: its name, unless an entity that had this name before has it.

    >>> from prejoin.design.model import Item
    >>> kept = Design("shop", items=(Item("Customer", "User", ()),))
    >>> free_type("Order", kept), free_type("User", kept)
    ('Order', 'User2')
    """
    taken = {item.tag for item in kept.items}
    tag, number = name, 2
    while tag in taken:
        tag, number = f"{name}{number}", number + 1
    return tag


def _type_words(placed: Placement) -> Iterator[str]:
    """Words for a type in a partition, the best first: `ORDER`, and where that is taken `ORDER_BY_TOTAL`."""
    word = upper(placed.entity)
    names = [upper(one.attribute) for one in placed.candidate.sk]
    yield word
    yield from (f"{word}_BY_{'_'.join(names[:size])}" for size in range(1, len(names) + 1))
    yield f"{word}_COPY"
    yield from (f"{word}_COPY_{number}" for number in count(2))


def in_this_order(words: Sequence[str], separator: str) -> list[str]:
    """Words in this sort order: those that would sort too late are marked with the separator, which sorts below all
    letters. If it does not, all get numbers.

    >>> in_this_order(["ADDRESS", "ORDER"], "#"), in_this_order(["USER", "ADDRESS", "ORDER"], "#")
    (['ADDRESS', 'ORDER'], ['#USER', 'ADDRESS', 'ORDER'])
    >>> in_this_order(["C", "B", "A"], "#"), in_this_order(["B", "A"], "|")
    (['##C', '#B', 'A'], ['0B', '1A'])
    """
    found = list(words[-1:])
    marks = ""
    for word, after in zip(reversed(words[:-1]), reversed(words[1:]), strict=True):
        marks += separator * (word + separator > after + separator)
        found.append(marks + word)
    if marks and separator >= "0":
        return [f"{at}{word}" for at, word in enumerate(words)]
    return found[::-1]


def _beside(heads: dict[str, str], fixed: set[str], sets: Sequence[frozenset[str]]) -> dict[str, str]:
    """Words for new types beside fixed ones: the usual word, or a fixed word as a prefix where they must be
    neighbours.
    """
    free = [label for label in heads if label not in fixed]
    words = [heads[label] for label in heads if label in fixed]
    options = [[heads[label], *(f"{word}_{heads[label]}" for word in words)] for label in free]
    for tried, choice in enumerate(product(*options)):
        found = heads | dict(zip(free, choice, strict=True))
        order = sorted(found, key=lambda label: f"{found[label]}#")
        if len(set(found.values())) == len(found) and all(is_contiguous(order, one) for one in sets):
            return found
        if tried > MOST_STEPS:
            break
    return heads


def without_id(word: str) -> str:
    """A word without `_ID` at its end: `OWNER_ID` becomes `OWNER`."""
    return word.removesuffix("_ID") or word


@lru_cache(10_000)
def upper(name: str) -> str:
    """A name as a word of a key: `OrderItem` becomes `ORDER_ITEM`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^\w]+", "_", spaced).strip("_").upper() or "ITEM"
