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
        is_range_filtered = plan.lookup.within is not None and plan.within is None
        has_filter = bool(plan.filtered) or bool(plan.tested) or is_range_filtered
        return self.rank, has_filter, len(plan.fans), plan.shards


def answer(bound: Sequence[BoundKey], ask: Lookup) -> KeyAnswer | None:
    """The answer to a question; or one that finds slightly more or less, with a code for that.

    Each rank repeats the question to keys that are a little better than the real ones. What it takes for an answer is
    the deviation: without copies, without case folding, without conditions of sparse keys, without other entities.

    A read of all orders of a day with the key `DAY#{placedAt:day}` / `{shippedAt}` has no exact answer, because orders
    that were not shipped are not in that index. It has one of rank 3, with the code of a key that misses items.
    """
    forms = [key.form for key in bound]
    return (
        _exact_answer(forms, ask)
        or _answer_without_copies(forms, ask)
        or _answer_without_folds(forms, ask)
        or _answer_without_conditions(bound, ask)
        or _answer_without_others(forms, ask, 4)
        or _answer_without_others([_without_item_conditions(key) for key in bound], ask, 5)
    )


def _exact_answer(forms: Sequence[keys.Facet], ask: Lookup) -> KeyAnswer | None:
    plan = find_plan(forms, ask)
    return KeyAnswer(plan) if plan else None


def _answer_without_copies(forms: Sequence[keys.Facet], ask: Lookup) -> KeyAnswer | None:
    forms_without_copies = [form for form in forms if not form.copy or form.entity not in ask.entities]
    if len(forms_without_copies) < len(forms) and (plan := find_plan(forms_without_copies, ask)):
        return KeyAnswer(plan, 1, codes.FINDS_MORE, "also finds copies of the same items")
    return None


def _answer_without_folds(forms: Sequence[keys.Facet], ask: Lookup) -> KeyAnswer | None:
    unfolded_forms = list(map(_with_plain_text, forms))
    if unfolded_forms != forms and (plan := find_plan(unfolded_forms, ask)):
        text = "also finds values in another case, because the key is case-folded"
        return KeyAnswer(plan, 2, codes.FINDS_MORE, text)
    return None


def _answer_without_conditions(bound: Sequence[BoundKey], ask: Lookup) -> KeyAnswer | None:
    dense_forms = [_without_item_conditions(key) for key in bound]
    is_same = all(key.form == form for key, form in zip(bound, dense_forms, strict=True))
    if not is_same and (plan := find_plan(dense_forms, ask)):
        return KeyAnswer(plan, 3, codes.ABSENT, _missed_items_text(bound, dense_forms, plan))
    return None


def _answer_without_others(forms: Sequence[keys.Facet], ask: Lookup, rank: int) -> KeyAnswer | None:
    asked_forms = [form for form in forms if form.entity in ask.entities]
    if len(asked_forms) < len(forms) and (plan := find_plan(asked_forms, ask)):
        return KeyAnswer(plan, rank, codes.READS_OTHERS, _between_text(forms, plan))
    return None


def _missed_items_text(bound: Sequence[BoundKey], dense_forms: Sequence[keys.Facet], plan: Plan) -> str:
    """The attributes without which an item is not in the index, unless the read gives them."""
    names = set()
    for key, dense_form in zip(bound, dense_forms, strict=True):
        if dense_form not in plan.facets:
            continue
        for when in key.form.when:
            is_given = plan.lookup.name(dense_form.entity, when.attribute) in plan.lookup.given
            if when not in dense_form.when and not is_given:
                names.add(when.attribute)
    return f"misses items without {' or '.join(sorted(names))}, which the key in {plan.slot} needs"


def _between_text(forms: Sequence[keys.Facet], plan: Plan) -> str:
    neighbours = [form for form in forms if form.slot == plan.slot and form.entity not in plan.lookup.entities]
    pk = plan.facets[0].pk
    entities_between = {form.entity for form in neighbours if not keys.disjoint(form.pk, pk)}
    return f"also reads {' and '.join(sorted(entities_between))}, which may be between them in {plan.slot}"


def _without_item_conditions(key: BoundKey) -> keys.Facet:
    """The key as if every item had its attributes."""
    own_names = {when.attribute for when in key.facet.when}
    return replace(key.form, when=tuple(when for when in key.form.when if when.attribute in own_names))


def find_plan(forms: Sequence[keys.Facet], ask: Lookup) -> Plan | None:
    outcome = keys.plan(forms, ask)
    return None if isinstance(outcome, Refusal) else outcome


def _with_plain_text(form: keys.Facet) -> keys.Facet:
    """The key as if it held text unchanged."""
    sk = _unfold(form.sk) if form.sk is not None else None
    return replace(form, pk=_unfold(form.pk), sk=sk)


def _unfold(form: keys.KeyForm) -> keys.KeyForm:
    if not isinstance(form, Template) or not any(field.encoding.folds for field in form.fields):
        return form
    parts: list[keys.KeyText | keys.KeyField] = []
    for part in form.parts:
        if isinstance(part, keys.KeyField) and part.encoding.folds:
            part = replace(part, spec="", encoding=replace(part.encoding, decode=str, prefixes=True))
        parts.append(part)
    return replace(form, parts=tuple(parts))


class Obstacle(msgspec.Struct, frozen=True):
    """The reason why no key answers a question: its code, and a clause."""

    code: Code
    why: str
    slot: str = ""
    """The slot that would answer the question otherwise."""


def obstacles(bound: Sequence[BoundKey], ask: Lookup) -> list[Obstacle]:
    """The smallest set of obstacles."""
    obstacles_found, _ = nearest(bound, ask)
    if obstacles_found:
        return obstacles_found
    stored_entities = {key.form.entity for key in bound}
    absent_entities = [name for name in ask.entities if name not in stored_entities]
    if absent_entities:
        return [Obstacle(codes.NOT_TOGETHER, f"{' and '.join(absent_entities)} has no item that could be read")]
    if len(ask.entities) > 1 and all(answer(bound, _for_one_entity(ask, name)) for name in ask.entities):
        reason = "each of them has a key for it, but they are not neighbours in one partition"
        return [Obstacle(codes.NOT_TOGETHER, reason)]
    return [Obstacle(codes.NOT_SERVED, "only a scan of the whole table would answer it")]


def nearest(bound: Sequence[BoundKey], ask: Lookup) -> tuple[list[Obstacle], Lookup | None]:
    """The demands that must be dropped for an answer, and the remaining question; None if nothing helps."""
    demands = list(_demands(ask))
    for size in sorted({*range(1, min(MOST_GIVEN_UP, len(demands)) + 1), len(demands)}):
        for dropped_demands in combinations(demands, size):
            easier_ask = ask
            for _, _, demand in dropped_demands:
                easier_ask = demand(easier_ask)
            if key_answer := answer(bound, easier_ask):
                return [Obstacle(code, why, key_answer.plan.slot) for code, why, _ in dropped_demands], easier_ask
    return [], None


def _for_one_entity(ask: Lookup, entity: str) -> Lookup:
    order = tuple(order_item for order_item in ask.order if order_item.entity in ("", entity))
    return replace(ask, entities=(entity,), order=order)


def _demands(ask: Lookup) -> Iterator[tuple[Code, str, Callable[[Lookup], Lookup]]]:
    """The demands of a question, each with a function that drops it."""
    if ask.consistent:
        yield (
            codes.STRONG_INDEX,
            "an index cannot be read consistently",
            lambda lookup: replace(lookup, consistent=False),
        )
    text = "the index does not hold all attributes that are asked for"
    yield codes.NOT_HELD, text, lambda lookup: replace(lookup, needs=frozenset())
    if ask.order:
        sort = ", ".join(
            f"{order_item.attribute}{' descending' if order_item.descending else ''}" for order_item in ask.order
        )
        yield codes.NOT_SORTED, f"the keys are not in the order of {sort}", lambda lookup: replace(lookup, order=())
    if ask.within:
        name = ask.within.attribute
        text = f"the range over {name} would be left to a filter"
        yield codes.NOT_RANGED, text, _filtering(name)
    for name in sorted(ask.given - ask.filtered):
        yield codes.FILTERED, f"{name} would be left to a filter", _filtering(name)


def _filtering(name: str) -> Callable[[Lookup], Lookup]:
    return lambda lookup: replace(lookup, filtered=lookup.filtered | {name})
