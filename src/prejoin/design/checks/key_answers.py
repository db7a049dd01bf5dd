"""Finds how the keys of a design answer a question, or the smallest obstacle if they do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import msgspec
from msgspec.structs import replace

from prejoin import keys
from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.diagnostics import Code
from prejoin.keys import Lookup, Plan, Refusal, Template

MOST_GIVEN_UP = 3
"""The most demands that are dropped together; beyond that all of them, because combinations explode."""


class KeyAnswer(msgspec.Struct, frozen=True):
    """A plan, and how it deviates from the question."""

    plan: Plan
    rank: int = 0
    """0 for an exact answer; smaller is better."""
    code: Code | None = None
    more: str = ""

    @property
    def price(self) -> tuple[int, bool, int, int]:
        """The order of answers, the best first."""
        plan = self.plan
        unranged = plan.lookup.within is not None and plan.within is None
        filtered = bool(plan.filtered) or bool(plan.tested) or unranged
        return self.rank, filtered, len(plan.fans), plan.shards


def answer(bound: Sequence[BoundKey], ask: Lookup) -> KeyAnswer | None:
    """The answer to a question; or one that finds slightly more or less, with a code for that."""
    forms = [one.form for one in bound]
    if found := planned(forms, ask):
        return KeyAnswer(found)
    own = [form for form in forms if not (form.copy and form.entity in ask.entities)]
    if len(own) < len(forms) and (found := planned(own, ask)):
        return KeyAnswer(found, 1, codes.FINDS_MORE, "also finds copies of the same items")
    unfolded = [_unfolded(form) for form in forms]
    if unfolded != forms and (found := planned(unfolded, ask)):
        text = "also finds values in another case, because the key is case-folded"
        return KeyAnswer(found, 2, codes.FINDS_MORE, text)
    dense = [_dense(one) for one in bound]
    if dense != forms and (found := planned(dense, ask)):
        return KeyAnswer(found, 3, codes.ABSENT, _missed(bound, dense, found))
    for rank, some in ((4, forms), (5, dense)):
        alone = [form for form in some if form.entity in ask.entities]
        if len(alone) < len(some) and (found := planned(alone, ask)):
            return KeyAnswer(found, rank, codes.READS_OTHERS, _between(some, found))
    return None


def _missed(bound: Sequence[BoundKey], dense: Sequence[keys.Facet], found: Plan) -> str:
    sparse = {
        when.attribute
        for one, form in zip(bound, dense, strict=True)
        if form in found.facets
        for when in one.form.when
        if when not in form.when and found.lookup.name(form.entity, when.attribute) not in found.lookup.given
    }
    return f"misses items without {' or '.join(sorted(sparse))}, which the key in {found.slot} needs"


def _between(forms: Sequence[keys.Facet], found: Plan) -> str:
    others = {
        form.entity
        for form in forms
        if form.slot == found.slot and form.entity not in found.lookup.entities
        if not keys.disjoint(form.pk, found.facets[0].pk)
    }
    return f"also reads {' and '.join(sorted(others))}, which may be between them in {found.slot}"


def _dense(one: BoundKey) -> keys.Facet:
    """The key as if every item had its attributes."""
    said = {when.attribute for when in one.facet.when}
    return replace(one.form, when=tuple(when for when in one.form.when if when.attribute in said))


def planned(forms: Sequence[keys.Facet], ask: Lookup) -> Plan | None:
    found = keys.plan(forms, ask)
    return None if isinstance(found, Refusal) else found


def _unfolded(form: keys.Facet) -> keys.Facet:
    """The key as if it held text unchanged."""

    def plain(one: keys.KeyForm | None) -> keys.KeyForm | None:
        if not isinstance(one, Template) or not any(field.encoding.folds for field in one.fields):
            return one
        parts = tuple(
            replace(part, spec="", encoding=replace(part.encoding, decode=str, prefixes=True))
            if isinstance(part, keys.KeyField) and part.encoding.folds
            else part
            for part in one.parts
        )
        return replace(one, parts=parts)

    pk = plain(form.pk)
    assert pk is not None
    return replace(form, pk=pk, sk=plain(form.sk))


class Obstacle(msgspec.Struct, frozen=True):
    """The reason why no key answers a question: its code, and a clause."""

    code: Code
    why: str
    slot: str = ""
    """The slot that would answer the question otherwise."""


def obstacles(bound: Sequence[BoundKey], ask: Lookup) -> list[Obstacle]:
    """The smallest set of obstacles."""
    found, _ = nearest(bound, ask)
    if found:
        return found
    missing = [name for name in ask.entities if not any(one.form.entity == name for one in bound)]
    if missing:
        return [Obstacle(codes.NOT_TOGETHER, f"{' and '.join(missing)} has no item that could be read")]
    if len(ask.entities) > 1 and all(answer(bound, _alone(ask, name)) for name in ask.entities):
        why = "each of them has a key for it, but they are not neighbours in one partition"
        return [Obstacle(codes.NOT_TOGETHER, why)]
    return [Obstacle(codes.NOT_SERVED, "only a scan of the whole table would answer it")]


def nearest(bound: Sequence[BoundKey], ask: Lookup) -> tuple[list[Obstacle], Lookup | None]:
    """The demands that must be dropped for an answer, and the remaining question; None if nothing helps."""
    ways = list(_easier(ask))
    for size in sorted({*range(1, min(MOST_GIVEN_UP, len(ways)) + 1), len(ways)}):
        for some in combinations(ways, size):
            easier = ask
            for _, _, demand in some:
                easier = demand(easier)
            if found := answer(bound, easier):
                return [Obstacle(code, why, found.plan.slot) for code, why, _ in some], easier
    return [], None


def _alone(ask: Lookup, entity: str) -> Lookup:
    order = tuple(one for one in ask.order if one.entity in ("", entity))
    return replace(ask, entities=(entity,), order=order)


def _easier(ask: Lookup) -> Iterator[tuple[Code, str, Callable[[Lookup], Lookup]]]:
    """The demands of a question, each with a function that drops it."""
    if ask.consistent:
        yield codes.STRONG_INDEX, "an index cannot be read consistently", lambda one: replace(one, consistent=False)
    text = "the index does not hold all attributes that are asked for"
    yield codes.NOT_HELD, text, lambda one: replace(one, needs=frozenset())
    if ask.order:
        sort = ", ".join(f"{o.attribute}{' descending' if o.descending else ''}" for o in ask.order)
        yield codes.NOT_SORTED, f"the keys are not in the order of {sort}", lambda one: replace(one, order=())
    if ask.within:
        name = ask.within.attribute
        text = f"the range over {name} would be left to a filter"
        yield codes.NOT_RANGED, text, _leaving(name)
    for name in sorted(ask.given - ask.filtered):
        yield codes.FILTERED, f"{name} would be left to a filter", _leaving(name)


def _leaving(name: str) -> Callable[[Lookup], Lookup]:
    return lambda one: replace(one, filtered=one.filtered | {name})
