"""Literal words of the keys: partitions are named after the entity whose id they hold, sort keys after the type.

In a sort key the type comes first, `ORDER#{orderId}`. If several types are read together from a part of the partition,
the type follows the attributes of that part: `ORDER#{orderId}` and `ORDER#{orderId}#ITEM#{itemId}`.

For example, the keys of the table for a `User` with its `Order` and the items of each, where one read finds an order
with its items, and another one the orders of a user:

    User     USER#{userId}    USER
    Order    USER#{userId}    ORDER#{orderId}
    Item     USER#{userId}    ORDER#{orderId}#ITEM#{itemId}

Words also decide the order of types in a partition, so they decide whether types that are read together are
neighbours. For each partition, each read of several types is a set that must be contiguous (`contiguous.py`). Where
there is no such order, `place_cuts` names a minimal set of reads that exclude each other; the solver gets it as a cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count, permutations, product

import msgspec

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
    is_key_in,
    lies_in,
)
from prejoin.types import Kind
from prejoin.workload.lookup import chain, root
from prejoin.workload.model import Attribute, Direction, Entity, Workload
from prejoin.workload.tenants import is_owned, own_id

_MOST_ORDERED = 6
"""The most types in one partition for which all orders are compared."""


def _asked_attributes(need: Need) -> list[str]:
    """The attributes that a read gives, has a range of, or sorts by."""
    return [*sorted(need.equal_names), *(key.attribute for key in need.tail)]


class Alike:
    """Groups attributes that hold the same values: by references, or because a read of several entities equates
    them.
    """

    def __init__(self, problem: Problem) -> None:
        self._workload = problem.workload
        self._heads: dict[tuple[str, str], tuple[str, str]] = {}
        self._mixed: set[str] = set()
        """The kinds of ids of one of several entities that are given once for two of them in one read."""
        for question in problem.reads:
            self._mixed |= self._mixed_kinds(question)
        for question in problem.reads:
            if len(question.needs) > 1:
                self._join_by_names(question)

    def _join_by_names(self, question: ReadNeeds) -> None:
        """Join the attributes of several entities that have one name in a read: one input gives both."""
        by_name: dict[str, list[tuple[str, str]]] = {}
        for need in question.needs:
            for attribute in _asked_attributes(need):
                by_name.setdefault(question.ask.name(need.entity, attribute), []).append((need.entity, attribute))
        for need in question.needs:
            for attribute in _asked_attributes(need):
                for other in by_name[question.ask.name(need.entity, attribute)]:
                    self._join((need.entity, attribute), other)

    def _mixed_kinds(self, question: ReadNeeds) -> set[str]:
        origins: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for need in question.needs:
            entity = self._workload.entity(need.entity)
            if entity is None:
                continue
            for attribute in filter(None, map(entity.attribute, need.equal_names)):
                _, kind = root(self._workload, entity, attribute)
                name = question.ask.name(need.entity, attribute.name)
                origins.setdefault((kind, name), set()).add(_own_origin(self._workload, entity, attribute))
        return {kind for (kind, _), places in origins.items() if len(places) > 1}

    def root(self, entity: Entity, attribute: Attribute) -> tuple[str, str]:
        """The entity and attribute that stand for all attributes with these values."""
        owner, field = root(self._workload, entity, attribute)
        if not owner and field in self._workload.shared_ids.values() and field not in self._mixed:
            return self._head(_own_origin(self._workload, entity, attribute))  # no read needs them in one partition
        return self._head((owner, field))

    def _join(self, *names: tuple[str, str]) -> None:
        heads: set[tuple[str, str]] = set()
        for owner, name in names:
            entity = self._workload.entity(owner)
            attribute = entity.attribute(name) if entity else None
            if entity and attribute:
                heads.add(self.root(entity, attribute))
        # An id comes first, so that `USER#{buyerId}` of an order and `USER#{userId}` of a user are one partition.
        best = min(heads, key=lambda head: (not self._is_id(head), not self._is_named(head), head))
        self._heads |= {head: best for head in heads if head != best}

    def _is_id(self, place: tuple[str, str]) -> bool:
        owner, name = place
        entity = self._workload.entity(owner)
        return entity is not None and [a.name for a in own_id(self._workload, entity)] == [name]

    def _is_named(self, place: tuple[str, str]) -> bool:
        """Whether an attribute is a part of the id that is named after its entity."""
        owner, name = place
        entity = self._workload.entity(owner)
        attribute = entity.attribute(name) if entity else None
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
    named_after = [a for a in ids if f"{upper(a.name)}_".startswith(f"{word}_")]
    return ids == (attribute,) or named_after == [attribute]


def _own_origin(workload: Workload, entity: Entity, attribute: Attribute) -> tuple[str, str]:
    """The attribute that an id comes from. What may hold the id of one of several entities comes from itself."""
    places = [place for place in chain(workload, entity, attribute) if place[0]]
    for owner, name in places:
        owning_entity = workload.entity(owner)
        origin = owning_entity.attribute(name) if owning_entity else None
        if origin and origin.references_or:
            return owner, name
    return places[-1]


def padded_to(workload: Workload, entity: Entity, attribute: Attribute) -> int:
    """The number of digits of the largest value of an integer that is never negative; 0 without a bound.

    The bounds are the attribute's own, or those of the id that it holds.

    >>> from prejoin.types import Type
    >>> copy = Attribute("copyNumber", Type(Kind.INTEGER), max=9999)
    >>> padded_to(Workload(), Entity("Copy"), copy)
    4
    """
    origins: list[Attribute | None] = [attribute]
    for owner, name in chain(workload, entity, attribute)[1:]:
        owning_entity = workload.entity(owner)
        if owning_entity is not None:
            origins.append(owning_entity.attribute(name))
    for origin in origins:
        if origin is not None and origin.max is not None:
            lowest, _ = origin.bounds
            is_natural = attribute.type.kind is Kind.INTEGER and lowest is not None and 0 <= lowest <= origin.max
            return len(str(origin.max)) if is_natural else 0
    return 0


class _ReadTypes(msgspec.Struct, frozen=True):
    """Types that one read finds together in a partition."""

    place: CollectionPlace
    members: frozenset[Placement]
    follows_attributes: bool
    """Whether their words come after attributes: `ORDER#{orderId}#ITEM`. Otherwise their words come first."""
    page_end: int
    """The end of the partition where its first page begins: -1 for the lower end, 1 for the upper; 0 without pages."""


class KeyWords:
    """The selected keys as templates."""

    def __init__(self, problem: Problem, selection: Selection, separator: str, alike: Alike | None = None) -> None:
        self._workload = problem.workload
        self._questions = problem.reads
        self._needs: list[Need] = []
        for question in (*problem.reads, *problem.finds):
            self._needs += question.needs
        self._fixed = problem.fixed
        self._separator = separator
        self._alike = alike or Alike(problem)
        self._sort_roots = self._roots_of_orders()
        """Attributes that some read sorts by or has a range of."""
        self._attributes: set[str] = set()
        """The names of all attributes, as words."""
        for entity in problem.workload.entities:
            self._attributes.update(map(upper, entity.types))
        self._partitions: dict[Placement, str] = {}
        self._words: dict[Placement, tuple[str, str]] = {}
        """The words before and after the attributes that all types of a group share."""
        self.rooms: dict[tuple[int, str], list[Placement]] = {}
        """The placements in each partition, by slot and partition."""
        for placement in selection.placed:
            self.rooms.setdefault((placement.slot, self._room(placement)), []).append(placement)
        self.place_cuts: list[frozenset[CollectionPlace]] = []
        """Places that exclude each other: their types cannot all be neighbours."""
        for (slot, _), placements in self.rooms.items():
            places = [place for place in selection.collections if place.slot == slot]
            self._add_words(placements, places)

    def _roots_of_orders(self) -> set[tuple[str, str]]:
        roots: set[tuple[str, str]] = set()
        for need in self._needs:
            entity = self._workload.entity(need.entity)
            if entity is not None:
                attributes = [entity.attribute(key.attribute) for key in need.tail]
                roots |= {self._alike.root(entity, attribute) for attribute in attributes if attribute}
        return roots

    def _add_words(self, placements: Sequence[Placement], places: Sequence[CollectionPlace]) -> None:
        """Assign words to the items of one partition, and find the places in it that exclude each other."""
        groups = list(self._reads_in(placements, places))
        places_of_groups = {group.members: group.place for group in groups}
        self._name_types(placements, groups, _page_ends(groups))
        for types, sets in self._orders(placements, groups):
            is_movable = all(placement.item == OWN for placement in types)
            if is_movable and contiguous_order(types, sets) is None:
                excluded_groups = excluding_sets(types, sets)
                self.place_cuts.append(frozenset([places_of_groups[members] for members in excluded_groups]))

    def _reads_in(self, placements: Sequence[Placement], places: Sequence[CollectionPlace]) -> Iterator[_ReadTypes]:
        """The types of each read of several entities that finds all of them in one partition."""
        questions = {question.read.id: question for question in self._questions}
        for place in places:
            question = questions[place.read]
            members = _members_of(place, question, placements)
            if len(members) == len(question.needs):
                is_interleaved = any(need.is_interleaved for need in question.needs)
                yield _ReadTypes(place, members, bool(place.prefix) or is_interleaved, _page_end(question))

    def _orders(
        self, placements: Sequence[Placement], groups: Sequence[_ReadTypes]
    ) -> Iterator[tuple[list[Placement], list[frozenset[Placement]]]]:
        """The types of a partition that need an order, and the sets of them that have to be contiguous.

        That is all of them, or those that follow the same attributes: `ORDER#{orderId}#ITEM`, `ORDER#{orderId}#NOTE`.
        """
        following = [placement for placement in placements if placement.candidate.type_position]
        if not following:
            yield list(placements), [group.members for group in groups if not group.follows_attributes]
        for label in dict.fromkeys(map(self._label, following)):
            types = [placement for placement in following if self._label(placement) == label]
            yield types, _following_sets(groups, types)

    def facet(self, placement: Placement, slot: str) -> Facet:
        candidate = placement.candidate
        if candidate.fixed:
            return self._fixed.facets[placement.entity, placement.item, placement.slot]
        entity = self._entity(candidate.entity)
        required_names = self._required_names(placement)
        position = candidate.type_position
        fields: list[str] = []
        for number, key in enumerate(candidate.sk):
            fields.append(self._sort_field(entity, key, key.attribute in required_names, number < position))
        head, word = self._words[placement]
        sk = self._separator.join(part for part in (head, *fields[:position], word, *fields[position:]) if part)
        when = tuple(When(attribute, (value,)) for attribute, value in candidate.when)
        when += tuple(When(condition.attribute, condition.values, condition.absent) for condition in candidate.only)
        return Facet(slot, (self.partition(placement),), (sk,), when)

    def _room(self, placement: Placement) -> str:
        """A partition, with the origin of each attribute in place of the entity's name for it.

        `USER#{buyerId}` of `Order` and `USER#{id}` of `User` are one partition, `USER#{User/id}`.
        """
        entity, partition = self._entity(placement.entity), self.partition(placement)
        names = keys.fields_of(partition)
        roots = {a.name: "/".join(self._alike.root(entity, a)) for a in entity.attributes if a.name in names}
        return keys.renamed(partition, roots)

    def partition(self, placement: Placement) -> str:
        """The partition key as a template. It uses the words of existing keys, if there are any."""
        if placement not in self._partitions:
            self._partitions[placement] = self._partition_of(placement)
        return self._partitions[placement]

    def _partition_of(self, placement: Placement) -> str:
        if placement.candidate.fixed:
            return self._fixed.facets[placement.entity, placement.item, placement.slot].pk[0]
        # A new entity joins an existing partition of the same values under the words that are stored there.
        signature = self._signature(placement.entity, placement.candidate)
        for (entity, item, slot), candidate in self._fixed.candidates.items():
            if slot == placement.slot and candidate.pk and self._signature(entity, candidate) == signature:
                names = dict(zip(candidate.pk, placement.candidate.pk, strict=True))
                return keys.renamed(self._fixed.facets[entity, item, slot].pk[0], names)
        return self._new_partition(placement.candidate, placement.slot == BASE)

    def parents_first(self, placement: Placement) -> list[str]:
        """The attributes of a partition in the order of its key."""
        return self._parents_first(self._entity(placement.entity), placement.candidate.pk)

    def _signature(self, name: str, candidate: Candidate) -> tuple[object, ...]:
        """The same for two partitions that hold the same values, whatever the entities call them."""
        entity = self._entity(name)
        attributes = filter(None, map(entity.attribute, candidate.pk))
        roots = [self._alike.root(entity, attribute) for attribute in attributes]
        return (*roots, candidate.when, candidate.only)

    def _new_partition(self, candidate: Candidate, is_in_table: bool) -> str:
        entity = self._entity(candidate.entity)
        names = self._parents_first(entity, candidate.pk)
        parts: list[str] = []
        for name in names:
            parts += [self._word(entity, name, names), self._partition_field(entity, name)]
        conditions = [self._constant_words(entity, name, value) for name, value in candidate.when]
        conditions += [_membership_words(condition) for condition in candidate.only]
        if not candidate.pk:
            # A partition with all items of an entity is named so. A singleton has one item anyway.
            whole_name = "_".join((upper(entity.name), *(name for name, _ in conditions)))
            parts = [whole_name] if entity.singleton or conditions else ["ALL", whole_name]
            parts += [value for _, value in conditions if value]
        else:
            parts += [value or name for name, value in conditions]
        parts += self._split_fields(entity, candidate, is_in_table)
        return self._separator.join(parts)

    def _constant_words(self, entity: Entity, name: str, value: str) -> tuple[str, str]:
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

    def _split_fields(self, entity: Entity, candidate: Candidate, is_in_table: bool) -> list[str]:
        """Time buckets or shards that split a partition which would be too hot."""
        if entity.singleton or not entity.id:
            return []
        fields: list[str] = []
        bucket = bucket_of(self._workload, entity, candidate, self._questions)
        if bucket:
            fields.append(f"{{{bucket[0]}:{bucket[1]}}}")
        # All current writes go to the current bucket.
        shards = shards_of(self._workload, entity, candidate, bool(bucket), is_in_table)
        spread = spread_by(self._workload, entity, candidate)
        if spread and shards > 1:
            fields.append(f"{{{spread}:shard({shards})}}")
        return fields

    def _word(self, entity: Entity, name: str, partition: Sequence[str]) -> str:
        """The word before an attribute in a key: the entity that it identifies, or the attribute without `_ID`."""
        attribute = entity.attribute(name)
        assert attribute is not None
        if self._is_tenant(entity, attribute):
            return "TENANT"
        owner, field = self._alike.root(entity, attribute)
        if not owner and field in self._workload.shared_ids.values():
            return self._shared_word(field)
        owning_entity = self._workload.entity(owner)
        origin = owning_entity.attribute(field) if owning_entity else None
        if owning_entity and origin and origin.id and identifies(self._workload, owning_entity, origin):
            return self._id_word(owning_entity, origin)
        if owning_entity and origin and self._completes_id(owning_entity, origin, entity, partition):
            return upper(owning_entity.name)
        word = self._attribute_word(owner, field, origin)
        return _numbered_word(word, field, owning_entity) if owning_entity else word

    def _attribute_word(self, owner: str, field: str, origin: Attribute | None) -> str:
        """The word for an attribute that is not the id of an entity: `STATUS`, or `SUPPLIER` for a foreign id."""
        word = upper(field)
        # The name of another entity means its id.
        entities = {upper(entity.name): entity for entity in self._workload.entities}
        if word in entities and len(own_id(self._workload, entities[word])) == 1:
            word = f"{upper(owner)}_{word}"
        short = without_id(word)
        if origin and origin.references_or:  # it refers by name: `ownerName → User | Organization`
            short = short.removesuffix("_NAME")
        if origin and origin.unique:
            return word  # a unique `taxId` is no id of something else
        return short if short and short not in entities and short not in self._attributes else word

    def _completes_id(self, owner: Entity, last: Attribute, entity: Entity, partition: Sequence[str]) -> bool:
        """Whether a natural part of an id completes it in a partition: an issue's `number`, beside its repository."""
        *parents, own = owner.id or (last,)
        if own != last or last.generated is not False or last.references or not all(a.references for a in parents):
            return False
        attributes = filter(None, map(entity.attribute, partition))
        roots = {self._alike.root(entity, attribute) for attribute in attributes}
        return roots.issuperset(self._alike.root(owner, a) for a in owner.id)

    def _shared_word(self, kind: str) -> str:
        """The word for an id of one of several entities, from an attribute that holds it: `OWNER` for `ownerName`."""
        names: list[str] = []
        for entity in self._workload.entities:
            holders = [a for a in entity.attributes if a.references_or]
            names += [upper(a.name) for a in holders if self._alike.root(entity, a) == ("", kind)]
        names.sort()
        used_words = {upper(entity.name) for entity in self._workload.entities} | self._attributes
        for name in names:
            word = without_id(name).removesuffix("_NAME")
            if word and word not in used_words:
                return word
        return names[0] if names else upper(kind)

    def _id_word(self, entity: Entity, id_: Attribute) -> str:
        """The word for an entity's id: the name of the entity, or its beginning if the id is named after that.

        The `playerId` of `PlayerProfile` is `PLAYER`. The `userId` of `Preference` is `USER`: a plain `id` may be that
        of something outside.
        """
        approved_design = self._fixed.design
        name = entity.name if approved_design.item(entity.name) else free_type(entity.name, approved_design)
        word, short = upper(name), without_id(upper(id_.name))
        if short in {upper(other.name) for other in self._workload.entities}:
            return word
        is_unrelated = short not in word and word not in short and short not in self._attributes
        return short if word.startswith(f"{short}_") or (id_.generated is None and is_unrelated) else word

    def _sort_field(self, entity: Entity, key: SortAttribute, is_required: bool, is_interleaved: bool) -> str:
        attribute = entity.attribute(key.attribute)
        assert attribute is not None
        # Other programs cannot read a missing value in a raw key: items without one are then not in the index.
        may_be_missing = attribute.optional and not is_required and not self._fixed.design.raw_keys
        specs: list[str] = []
        if self._is_plain(entity, attribute) and not key.descending:
            # `{n:plain}` writes 42 as it is. Without it a number gets an order-preserving form, `B42`.
            specs.append("plain")
        else:
            digits = self._digits(entity, attribute, is_interleaved)
            specs += [f"0{digits}d"] if digits else []
            specs += ["desc"] if key.descending else []
        return f"{{{key.attribute}{'?' * may_be_missing}{':' * bool(specs)}{','.join(specs)}}}"

    def _digits(self, entity: Entity, attribute: Attribute, is_interleaved: bool) -> int:
        """The number of digits for padding, if the document gives bounds; 0 if it does not.

        Several entities in one order must use the same padding, and a design in use keeps its format.
        """
        attributes = [(entity, attribute)]
        if is_interleaved:
            for other in self._workload.entities:
                namesake = other.attribute(attribute.name)
                if namesake is not None:
                    attributes.append((other, namesake))
        bounds = {padded_to(self._workload, owner, a) for owner, a in attributes}
        if len(bounds) > 1 or any(self._is_in_fixed_key(owner, a) for owner, a in attributes):
            return 0
        return bounds.pop()

    def _is_in_fixed_key(self, entity: Entity, attribute: Attribute) -> bool:
        """Whether a key that is fixed holds the same values: they keep their format."""
        own_root = self._alike.root(entity, attribute)
        for candidate in self._fixed.candidates.values():
            owner = self._workload.entity(candidate.entity)
            attributes = filter(None, map(owner.attribute, candidate.attributes)) if owner else ()
            if owner and any(self._alike.root(owner, a) == own_root for a in attributes):
                return True
        return False

    def _partition_field(self, entity: Entity, name: str) -> str:
        """A field of a partition key, whose value is always known as a whole."""
        attribute = entity.attribute(name)
        is_plain = attribute is not None and self._is_plain(entity, attribute, is_in_partition=True)
        return f"{{{name}:plain}}" if is_plain else f"{{{name}}}"

    def _is_plain(self, entity: Entity, attribute: Attribute, is_in_partition: bool = False) -> bool:
        """Whether a number is written without padding: no read depends on its order, in any entity that has it.

        In a sort key a number with bounds is padded nevertheless, because people expect 2 before 10. A design in use
        keeps its format.
        """
        if not attribute.type.numeric or self._is_in_fixed_key(entity, attribute):
            return False
        if is_in_partition:
            return True
        has_bounds = bool(padded_to(self._workload, entity, attribute))
        return not has_bounds and self._alike.root(entity, attribute) not in self._sort_roots

    def _parents_first(self, entity: Entity, names: Sequence[str]) -> list[str]:
        """The attributes of a partition, parents before children: the tenant, then its ticket.

        A parent is part of more ids, or refers to fewer entities. The order depends only on origins, so it is the same
        for all entities in a partition.
        """
        ids = [{self._alike.root(owner, a) for a in owner.id} for owner in self._workload.entities]

        def rank(name: str) -> tuple[bool, int, int, str, int]:
            attribute = entity.attribute(name)
            assert attribute is not None
            if self._is_tenant(entity, attribute):
                return False, 0, 0, "", 0
            owner, origin = self._alike.root(entity, attribute)
            owning_entity = self._workload.entity(owner)
            position = -1
            if owning_entity and owning_entity.attribute(origin):
                position = [a.name for a in owning_entity.attributes].index(origin)
            uses = sum((owner, origin) in roots for roots in ids)
            return True, -uses, len(self._ancestors(owner)), owner, position

        return sorted(names, key=rank)

    def _ancestors(self, name: str) -> set[str]:
        """The entities that an entity refers to, and those that they refer to."""
        ancestors: set[str] = set()
        names = {name}
        while names:
            referenced_names: set[str] = set()
            for entity in map(self._workload.entity, names):
                attributes = entity.attributes if entity else ()
                referenced_names |= {attribute.references.partition(".")[0] for attribute in attributes}
            names = referenced_names - ancestors - {""}
            ancestors |= names
        return ancestors

    def _is_tenant(self, entity: Entity, attribute: Attribute) -> bool:
        """Whether an attribute is the tenant, which every partition key begins with."""
        tenant = self._workload.tenant
        if tenant is None or attribute.name != tenant.attribute:
            return False
        return is_owned(self._workload, entity.name) or entity is self._workload.tenant_entity

    def _required_names(self, placement: Placement) -> frozenset[str]:
        """The optional attributes without which an item may be missing from an index.

        Every read of that key gives a value or a range for them, so an item without one is in no result. A read that is
        only sorted by one must find the others, too.
        """
        if placement.slot == BASE:
            return frozenset()
        name_sets: list[frozenset[str]] = []
        for need in self._needs:
            if need.entity == placement.entity and serves(placement.candidate, need):
                ranges = [key.attribute for key in need.tail[:1] if need.has_range]
                present = [condition.attribute for condition in need.only if not condition.absent]
                name_sets.append(need.equal_names.union(ranges, present))
        return frozenset[str]().union(*name_sets[:1]).intersection(*name_sets)

    def _entity(self, name: str) -> Entity:
        entity = self._workload.entity(name)
        assert entity is not None
        return entity

    def _name_types(
        self, placements: Sequence[Placement], groups: Sequence[_ReadTypes], page_ends: dict[Placement, int]
    ) -> None:
        """Assign words to the items of one partition, so that types which are read together are neighbours.

        If such a read has pages, the single item of its type comes first in reading order, so that it is on page one.

        A label is what the sort key begins with: the words of the attributes before the type, the same for all types
        that follow them, or a space and the word of the type itself. With `Order` and `Item` under `ORDER#{orderId}`
        beside `User` in a partition, the labels are `ORDER` and ` USER`, and the words, before and after the
        attributes, become `("ORDER", "")`, `("ORDER", "ITEM")` and `("", "USER")`.
        """
        type_words = self._type_words_in(placements)
        labels: dict[str, list[Placement]] = {}
        for placement in placements:
            labels.setdefault(self._full_label(placement, type_words), []).append(placement)
        heads = self._heads(labels, type_words)
        usual = sorted(labels, key=heads.__getitem__)
        page_order = sorted(usual, key=lambda label: page_ends.get(labels[label][0], 0))
        leading = [group.members for group in groups if not group.follows_attributes]
        sets = [frozenset(label for label in labels if set(labels[label]) & members) for members in leading]
        fixed_labels = {label for label, members in labels.items() if members[0].candidate.fixed}
        # Stored keys keep their words, so the new types have to find room beside them.
        if fixed_labels:
            heads |= _words_beside_fixed({label: heads[label] for label in usual}, fixed_labels, sets)
        else:
            heads = self._plainest(heads, page_order, sets)
        for label, head in heads.items():
            members = labels[label]
            if label.startswith(" "):
                self._words[members[0]] = ("", head)
            else:
                self._name_following_types(head, members, groups, type_words)

    def _type_words_in(self, placements: Sequence[Placement]) -> dict[Placement, str]:
        """A word for each type in a partition, which no other one has."""
        used_words = [self._existing_word(placement) for placement in placements if placement.candidate.fixed]
        type_words: dict[Placement, str] = {}
        for placement in placements:
            type_words[placement] = upper(placement.entity)
            if not placement.candidate.fixed:
                type_words[placement] = next(word for word in _type_words(placement) if word not in used_words)
                used_words.append(type_words[placement])
        return type_words

    def _full_label(self, placement: Placement, type_words: dict[Placement, str]) -> str:
        label = self._label(placement) if placement.candidate.type_position else ""
        if label:
            return label
        # A key that exists may begin with another word than its type, which a new key of the type then gets.
        existence = " exists" if placement.candidate.fixed else ""
        return f" {type_words[placement]}{existence}"

    def _heads(self, labels: dict[str, list[Placement]], type_words: dict[Placement, str]) -> dict[str, str]:
        """The first words of the sort keys, by label."""
        heads = {label: self._head(label, members, type_words) for label, members in labels.items()}
        for label in labels:
            if not label.startswith(" ") and list(heads.values()).count(heads[label]) > 1:
                heads[label] = label.replace(self._separator, "_")
        return heads

    def _name_following_types(
        self, head: str, members: Sequence[Placement], groups: Sequence[_ReadTypes], type_words: dict[Placement, str]
    ) -> None:
        """Assign words to types that follow the same attributes."""
        sets = _following_sets(groups, members)

        def has_more_attributes(placement: Placement) -> bool:
            return len(placement.candidate.sk) > placement.candidate.type_position

        usual = sorted(members, key=lambda placement: (has_more_attributes(placement), type_words[placement]))
        order = side_by_side(usual, sets)
        # The part consists of the id of the first type, which needs no word of its own.
        # `ORDER#{orderId}` sorts before `ORDER#{orderId}#ITEM#…`, because a text sorts before its continuations.
        is_own_part = len(order[0].candidate.sk) == order[0].candidate.type_position
        other_types = order[1:] if is_own_part else order
        if is_own_part:
            self._words[order[0]] = (head, "")
        words = in_this_order([type_words[placement] for placement in other_types], self._separator)
        for placement, word in zip(other_types, words, strict=True):
            self._words[placement] = (head, word)

    def _plainest(
        self, heads: dict[str, str], page_order: Sequence[str], sets: Sequence[frozenset[str]]
    ) -> dict[str, str]:
        """The heads in an order in which each set is contiguous: the one with the fewest marks, then the first one.

        The first and the last of each set stay so, because pages begin with them.
        """
        usual = side_by_side(page_order, sets)

        def with_marks(order: Sequence[str]) -> dict[str, str]:
            return dict(zip(order, in_this_order([heads[label] for label in order], self._separator), strict=True))

        def count_marks(words: dict[str, str]) -> int:
            return sum(len(word) - len(heads[label]) for label, word in words.items())

        def is_allowed(order: Sequence[str]) -> bool:
            return all(is_contiguous(order, group) and ends(order, group) == ends(usual, group) for group in sets)

        # The first order with the fewest marks is taken: `min` keeps the first of equals.
        orders = permutations(usual) if len(usual) <= _MOST_ORDERED else [tuple(usual)]
        choices = [with_marks(order) for order in orders if is_allowed(order)]
        return min(choices, key=count_marks, default=with_marks(usual))

    def _existing_word(self, placement: Placement) -> str:
        """The word that an existing sort key begins with."""
        facet = self._fixed.facets[placement.entity, placement.item, placement.slot]
        text = facet.sk[0] if facet.sk else ""
        word = re.split(r"[{" + re.escape(self._separator) + "]", text.removeprefix(self._separator))[0]
        return f"{self._separator}{word}" if text.startswith(self._separator) else word

    def _label(self, placement: Placement) -> str:
        """The words before the type: the same for all types that are read together."""
        entity = self._entity(placement.entity)
        names = [key.attribute for key in placement.candidate.sk[: placement.candidate.type_position]]
        return self._separator.join(self._word(entity, name, names) for name in names)

    def _head(self, label: str, members: Sequence[Placement], type_words: dict[Placement, str]) -> str:
        if members[0].candidate.fixed:
            return self._existing_word(members[0])
        if label.startswith(" "):
            return label[1:]
        first = label.split(self._separator)[0]
        # `ORDERS#{orderId}#ITEM` beside a type `ORDER` that follows no attribute.
        words = {word for placement, word in type_words.items() if not placement.candidate.type_position}
        return f"{first}S" if first in words else first


def _following_sets(groups: Sequence[_ReadTypes], types: Sequence[Placement]) -> list[frozenset[Placement]]:
    """The sets of some types that follow attributes and are read together."""
    following = [group.members for group in groups if group.follows_attributes]
    return [members for members in following if members.issubset(types)]


def _members_of(place: CollectionPlace, question: ReadNeeds, placements: Sequence[Placement]) -> frozenset[Placement]:
    """The first key in a partition of each entity that a read finds there."""
    members: set[Placement] = set()
    for need in question.needs:
        own = [placement for placement in placements if _is_in_place(placement, question, need, place)]
        members.update(own[:1])
    return frozenset(members)


def _is_in_place(placement: Placement, question: ReadNeeds, need: Need, place: CollectionPlace) -> bool:
    if not placement.candidate.fixed:
        return lies_in(placement, question, need, place)
    return placement.entity == need.entity and is_key_in(placement, question, place)


def _page_ends(groups: Sequence[_ReadTypes]) -> dict[Placement, int]:
    """The end of the partition where reads with pages want an item that is the only one of its type.

    A single item that two reads want at both ends is at none of them.
    """
    ends_by_item: dict[Placement, set[int]] = {}
    for group in groups:
        for member in group.members:
            if group.page_end and not member.candidate.sk:
                ends_by_item.setdefault(member, set()).add(group.page_end)
    return {item: min(item_ends) for item, item_ends in ends_by_item.items() if len(item_ends) == 1}


def _page_end(question: ReadNeeds) -> int:
    """The end of a partition where a read begins: -1 for the lower end, 1 for the upper; 0 without pages."""
    sort = question.read.sort
    if not question.read.paginated:
        return 0
    return 1 if sort and sort[0].direction is Direction.DESC else -1


def _numbered_word(word: str, name: str, entity: Entity) -> str:
    """The word of an attribute, with a number if an attribute before it has the same name in upper case.

    >>> entity = Entity("Page", attributes=(Attribute("ownerId"), Attribute("owner_id")))
    >>> [_numbered_word("OWNER", attribute.name, entity) for attribute in entity.attributes]
    ['OWNER', 'OWNER_2']
    """
    same_words = [a.name for a in entity.attributes if upper(a.name) == upper(name)]
    position = same_words.index(name)
    return f"{word}_{position + 1}" if position else word


def _membership_words(condition: Membership) -> tuple[str, str]:
    """The words of a condition of a sparse index: its attribute, and its values unless the attribute says it all.

    >>> _membership_words(Membership("deletedAt")), _membership_words(Membership("leftAt", absent=True))
    (('DELETED', ''), ('NOT_LEFT', ''))
    >>> _membership_words(Membership("assigneeId", absent=True))
    ('NO_ASSIGNEE', '')
    >>> _membership_words(Membership("status", ("OPEN", "WAITING")))
    ('STATUS', 'OPEN_OR_WAITING')
    """
    word = without_id(upper(condition.attribute))
    if condition.values:
        return word, "_OR_".join(map(upper, condition.values))
    stem = re.sub(r"_(AT|ON)$", "", word)
    if not condition.absent:
        return stem, ""
    return f"{'NO' if stem == word else 'NOT'}_{stem}", ""


def free_type(name: str, approved: Design) -> str:
    """The type of an entity's items: its name, unless an entity that had this name before has it.

    >>> from prejoin.design.model import Item
    >>> approved = Design("shop", items=(Item("Customer", "User", ()),))
    >>> free_type("Order", approved), free_type("User", approved)
    ('Order', 'User2')
    """
    used_tags = {item.tag for item in approved.items}
    tag, number = name, 2
    while tag in used_tags:
        tag, number = f"{name}{number}", number + 1
    return tag


def _type_words(placement: Placement) -> Iterator[str]:
    """Words for a type in a partition, the best first: `ORDER`, and where that is taken `ORDER_BY_TOTAL`."""
    word = upper(placement.entity)
    names = [upper(key.attribute) for key in placement.candidate.sk]
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
    # From the last word backwards, because a mark is needed by all words before it, too.
    backwards = list(words[-1:])
    # The separator sorts below all letters, so each mark brings a word further to the front.
    marks = ""
    for word, following in zip(reversed(words[:-1]), reversed(words[1:]), strict=True):
        if word + separator > following + separator:
            marks += separator
        backwards.append(marks + word)
    if marks and separator >= "0":
        return [f"{position}{word}" for position, word in enumerate(words)]
    return backwards[::-1]


def _words_beside_fixed(
    heads: dict[str, str], fixed_labels: set[str], sets: Sequence[frozenset[str]]
) -> dict[str, str]:
    """Words for new types beside fixed ones: the usual word, or a fixed word as a prefix where they must be
    neighbours.
    """
    new_labels = [label for label in heads if label not in fixed_labels]
    fixed_words = [heads[label] for label in heads if label in fixed_labels]
    # A fixed word as a prefix brings a new type next to it in sort order: `USER_ADDRESS` comes soon after `USER#…`.
    options = [[heads[label], *(f"{word}_{heads[label]}" for word in fixed_words)] for label in new_labels]
    for step, choice in enumerate(product(*options)):
        words = heads | dict(zip(new_labels, choice, strict=True))
        order = _sort_labels(words)
        if len(set(words.values())) == len(words) and all(is_contiguous(order, group) for group in sets):
            return words
        if step > MOST_STEPS:
            break
    return heads


def _sort_labels(words: dict[str, str]) -> list[str]:
    """The labels in the order of their words, as DynamoDB sorts keys in which a separator follows."""
    return sorted(words, key=lambda label: f"{words[label]}#")


def without_id(word: str) -> str:
    """A word without `_ID` at its end: `OWNER_ID` becomes `OWNER`."""
    return word.removesuffix("_ID") or word


@lru_cache(10_000)
def upper(name: str) -> str:
    """A name as a word of a key: `OrderItem` becomes `ORDER_ITEM`."""
    spaced_name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^\w]+", "_", spaced_name).strip("_").upper() or "ITEM"
