"""Candidate keys: for each entity, the ways to key it that serve some of its reads, and the keys it can live under."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations

import msgspec

from prejoin.design.needs import Need, Tail
from prejoin.workload.lookup import changes
from prejoin.workload.model import Entity, Verb, Workload

MOST_PERMUTED = 4
"""Equality inputs beyond this are put in one order only: permutations explode."""


class Candidate(msgspec.Struct, frozen=True, order=True):
    """A way to key an entity: partition attributes, then sort attributes; without slot and without words."""

    entity: str
    pk: tuple[str, ...]
    sk: tuple[Tail, ...] = ()
    when: tuple[tuple[str, str], ...] = ()
    """Constants that decide what is in it."""
    mingled: int = 0
    """How many sort attributes come before the word that says the type."""

    @property
    def attributes(self) -> tuple[str, ...]:
        return (*self.pk, *(one.attribute for one in self.sk))

    def __str__(self) -> str:
        sk = ", ".join(("-" if one.descending else "") + one.attribute for one in self.sk)
        when = "".join(f" when {a} = {v}" for a, v in self.when)
        late = f" type after {self.mingled}" if self.mingled else ""
        return f"{self.entity}({', '.join(self.pk) or '*'} / {sk}{when}{late})"


def serves(candidate: Candidate, need: Need) -> bool:
    """Whether a candidate answers a need alone, as the planner will say of the key made of it."""
    constants = dict(need.constants)
    if any(constants.get(attribute) != value for attribute, value in candidate.when):
        return False
    given = need.given - {attribute for attribute, _ in candidate.when}
    if not set(candidate.pk) <= given or (not candidate.pk and given and not candidate.when):
        return False
    rest = given - set(candidate.pk)
    names = [one.attribute for one in candidate.sk]
    if set(names[: len(rest)]) != rest:
        return False
    if candidate.mingled != (len(rest) + len(need.tail) if need.mingled else 0):
        return False
    return _runs(candidate.sk[len(rest) :], need.tail)


def _runs(keys: Sequence[Tail], wanted: Sequence[Tail]) -> bool:
    """Whether the keys run as wanted, forwards or backwards."""
    if len(keys) < len(wanted) or any(k.attribute != w.attribute for k, w in zip(keys, wanted, strict=False)):
        return False
    turned = {k.descending != w.descending for k, w in zip(keys, wanted, strict=False)}
    return len(turned) <= 1


def index_candidates(entity: Entity, needs: Iterable[Need]) -> list[Candidate]:
    """Keys that serve some of the needs, none of which serves less than another with the same partition."""
    needs = list(needs)
    best: dict[tuple[object, ...], Candidate] = {}
    for need in needs:
        for candidate in sorted(_for_need(entity, need)):
            served = frozenset(n.read for n in needs if serves(candidate, n))
            if served:
                best.setdefault((served, candidate.pk, candidate.when, candidate.mingled), candidate)
    found = sorted(best.values())
    return [one for one in found if not any(_beats(other, one, needs) for other in found)]


def _beats(other: Candidate, one: Candidate, needs: list[Need]) -> bool:
    if (other.pk, other.when, other.mingled) != (one.pk, one.when, one.mingled) or other == one:
        return False
    mine = {n.read for n in needs if serves(one, n)}
    theirs = {n.read for n in needs if serves(other, n)}
    return mine < theirs


def _for_need(entity: Entity, need: Need) -> Iterator[Candidate]:
    for when in {(), need.constants}:
        given = sorted(need.given - {attribute for attribute, _ in when})
        partitions: list[tuple[str, ...]] = [()] if when or not given else []
        partitions += [pk for size in range(1, len(given) + 1) for pk in combinations(given, size)]
        for pk in partitions:
            rest = [name for name in given if name not in pk]
            orders = permutations(rest) if len(rest) <= MOST_PERMUTED else [tuple(rest)]
            for order in orders:
                sk = (*map(Tail, order), *(one for one in need.tail if one.attribute not in pk))
                yield _unique(entity, Candidate(entity.name, pk, sk, when, len(sk) if need.mingled else 0))


def _unique(entity: Entity, candidate: Candidate) -> Candidate:
    """With the rest of the id at the end, so that no two items have the same key."""
    more = tuple(Tail(a.name) for a in entity.id if a.name not in candidate.attributes)
    return msgspec.structs.replace(candidate, sk=candidate.sk + more)


def base_candidates(workload: Workload, entity: Entity, needs: Iterable[Need]) -> list[Candidate]:
    """Keys that an entity can live under: its id, and with a generated one ids of what it belongs to."""
    ids = tuple(a.name for a in entity.id)
    if not ids:
        return [Candidate(entity.name, ())]
    sets = {frozenset(ids)}
    if any(a.generated for a in entity.id):
        above = [
            a.name
            for a in entity.attributes
            if a.references
            and not a.id
            and not a.optional
            and a.mutable is not True
            and not _changed(workload, entity, a.name)
        ]
        above += [t.attribute for n in needs for t in n.tail if _fixed(workload, entity, t.attribute)]
        above = list(dict.fromkeys(name for name in above if name not in ids))
        for size in (1, 2, 3):
            sets |= {frozenset((*ids, *more)) for more in combinations(above[:5], size)}
    found: set[Candidate] = set()
    for names in sets:
        for size in range(1, len(names) + 1):
            for pk in combinations(sorted(names), size):
                for order in permutations(sorted(names - set(pk))):
                    found.add(Candidate(entity.name, pk, tuple(map(Tail, order))))
    return sorted(found)


def _fixed(workload: Workload, entity: Entity, name: str) -> bool:
    """Whether every item has the attribute, and nothing ever changes it: said so, or no write does."""
    attribute = entity.attribute(name)
    if attribute is None or attribute.optional or attribute.mutable:
        return False
    return attribute.mutable is False or not _changed(workload, entity, name)


def _changed(workload: Workload, entity: Entity, name: str) -> bool:
    return any(
        change.attribute == name
        for write in (*workload.writes, *workload.deletes)
        for action in write.actions
        if action.entity == entity.name and action.verb is Verb.UPDATE
        for change in changes(write, action, entity)
    )
