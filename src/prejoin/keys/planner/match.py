"""How one facet fits an ask: what of it the keys take, in which order it answers, or why it does not."""

from __future__ import annotations

import msgspec

from prejoin.keys.facet import TABLE, Facet, KeyForm
from prejoin.keys.template.parts import Field, Literal

from .lookup import RANGE_OPS, Ask, Order, Within


class Misfit(Exception):  # noqa: N818 - an answer, not an error
    """Why a facet does not serve an ask."""


class Fan(msgspec.Struct, frozen=True):
    """A partition split by a derived field that is not given: one Query for each shard, or each bucket."""

    field: Field

    @property
    def shards(self) -> int:
        return self.field.encoding.shards

    @property
    def bucket(self) -> str:
        return self.field.encoding.bucket


class Fit(msgspec.Struct, frozen=True):
    """A facet that serves an ask."""

    facet: Facet
    depth: int
    """How many parts of the sort key are known, text and fields."""
    fans: tuple[Fan, ...]
    reverse: bool
    reach: int
    """How many parts of the sort key matter: those known, the range, and those it is sorted by."""
    filtered: frozenset[str]
    """Of what is given, what only a filter can take."""
    filtered_range: bool = False
    compared: frozenset[str] = frozenset()
    """Of what is given, what the one item under the key is compared with."""

    @property
    def whole_key(self) -> bool:
        return _is_whole(self.facet, self.depth, self.fans)

    @property
    def fields(self) -> int:
        """How many fields of the sort key are known."""
        sk = self.facet.sk
        return sum(isinstance(part, Field) for part in sk.parts[: self.depth]) if sk else 0


def fit(facet: Facet, ask: Ask, everywhere: frozenset[str] = frozenset()) -> Fit:
    """Fits a facet to an ask for its entity (and perhaps others), or raises Misfit with the reason.

    Attributes that are `everywhere` can be read from the table's key, which every index has.
    """
    if ask.consistent and facet.slot != TABLE and not facet.local:
        raise Misfit("an index is never read consistently")
    if facet.holds is not None and (ask.needs is None or not _needs(facet, ask) - everywhere <= facet.holds):
        raise Misfit("it does not hold all attributes that are asked for")
    taken = _implied(facet, ask)
    fans = _partition(facet, ask, taken)
    depth = _known(facet, ask, taken)
    within = ask.within
    ranged = within is not None and _takes_range(facet, ask, within, depth)
    if within and not ranged and within.attribute not in ask.filtered:
        raise Misfit(_no_range(facet, ask, within, depth))
    left = ask.given - taken
    if left and within is None and _is_whole(facet, depth, fans) and _comparable(facet, ask, left):
        return Fit(facet, depth, fans, False, depth, frozenset(), compared=left)
    if left - ask.filtered:
        raise Misfit(f"{_list(left - ask.filtered)} would be left to a filter")
    buckets = {ask.name(facet.entity, fan.field.attribute) for fan in fans if fan.bucket}
    if buckets and not ranged:
        raise Misfit(f"it is cut by time, and {_list(buckets)} is not a range that its sort key continues with")
    reverse, reach = _sorted(facet, ask, depth, buckets)
    return Fit(facet, depth, fans, reverse, max(reach, depth + ranged), left, bool(within) and not ranged)


def _is_whole(facet: Facet, depth: int, fans: tuple[Fan, ...]) -> bool:
    """Whether a key is known to its end."""
    return not fans and (facet.sk is None or depth == len(facet.sk.parts))


def _comparable(facet: Facet, ask: Ask, left: frozenset[str]) -> bool:
    """Whether the one item under a key has what is given beside it: no more is read than that item.

    In an index a key may be of many items; and what is given as derived (`email:lower`) no item has.
    """
    if facet.slot != TABLE or len(ask.entities) > 1 or any(":" in name for name in left):
        return False
    return facet.holds is None or {ask.attribute(facet.entity, name) for name in left} <= facet.holds


def _needs(facet: Facet, ask: Ask) -> set[str]:
    return {ask.attribute(facet.entity, name) for name in ask.needs or ()} - facet.readable


def _implied(facet: Facet, ask: Ask) -> set[str]:
    """Checks that the ask implies the conditions of a sparse facet; gives what these take care of."""
    taken = set()
    constants = dict(ask.constants)
    for when in facet.when:
        name = ask.name(facet.entity, when.attribute)
        present = name in ask.given or (ask.within is not None and ask.within.attribute == name)
        if not (present if when.values is None else name in constants and constants[name] in when.values):
            raise Misfit(f"it has only the items where {when}")
        if when.values is not None and len(when.values) == 1:
            taken.add(name)
    return taken


def _take(facet: Facet, field: Field, ask: Ask, taken: set[str]) -> bool:
    """Whether what is given makes this field known. A derived field takes only what is given as derived."""
    if not field.encoding.settled:
        return False
    name = ask.name(facet.entity, field.attribute)
    derived = f"{name}:{field.spec}"
    if field.spec and derived in ask.given:
        taken.add(derived)
        return True
    if name in ask.given:
        if not field.encoding.derived:
            taken.add(name)
        return True
    return False


def _partition(facet: Facet, ask: Ask, taken: set[str]) -> tuple[Fan, ...]:
    fans = []
    missing = []
    for field in facet.pk.fields:
        if _take(facet, field, ask, taken):
            continue
        name = ask.name(facet.entity, field.attribute)
        if field.encoding.shards or (field.encoding.bucket and ask.within and ask.within.attribute == name):
            fans.append(Fan(field))
        else:
            missing.append(name)
    if missing:
        raise Misfit(f"its partition needs {_list(set(missing))}")
    if any(fan.bucket for fan in fans) and ask.within and ask.within.op in ("<", "<=", "begins_with"):
        unit = next(fan.bucket for fan in fans if fan.bucket)
        raise Misfit(
            f"it is cut by {unit}, and a range over {ask.within.attribute} needs a start, for each {unit} is a "
            "request: give one, if need be the time of the first item there is"
        )
    return tuple(fans)


def _known(facet: Facet, ask: Ask, taken: set[str]) -> int:
    parts = facet.sk.parts if facet.sk else ()
    for depth, part in enumerate(parts):
        if isinstance(part, Field) and not _take(facet, part, ask, taken):
            return depth
    return len(parts)


def _takes_range(facet: Facet, ask: Ask, within: Within, depth: int) -> bool:
    if within.op not in RANGE_OPS:
        raise Misfit(f"{within.op!r} is not a range")
    place = _at(facet.sk, depth)
    if place is None or ask.name(facet.entity, place.attribute) != within.attribute or place.encoding.derived:
        return False
    return place.encoding.prefixes if within.op == "begins_with" else place.encoding.ordered


def _no_range(facet: Facet, ask: Ask, within: Within, depth: int) -> str:
    place = _at(facet.sk, depth)
    if place is not None and ask.name(facet.entity, place.attribute) == within.attribute:
        return f"{{{place.name}}} is not in an order that {within.op} could use"
    return f"its sort key does not continue with {within.attribute} after what is given"


def _at(sk: KeyForm | None, depth: int) -> Field | None:
    part = sk.parts[depth] if sk and depth < len(sk.parts) else None
    return part if isinstance(part, Field) else None


def _sorted(facet: Facet, ask: Ask, depth: int, buckets: set[str]) -> tuple[bool, int]:
    """Checks that the key sorts as asked; gives whether in reverse, and how far the sort reaches."""
    wanted = [
        order
        for order in ask.order
        if order.entity in ("", facet.entity) and ask.name(facet.entity, order.attribute) not in ask.given
    ]
    if buckets and wanted and ask.name(facet.entity, wanted[0].attribute) not in buckets:
        raise Misfit(f"it is cut by time, so it is not sorted by {wanted[0].attribute}")
    reverse: bool | None = None
    place = depth
    parts = facet.sk.parts if facet.sk else ()
    for order in wanted:
        while place < len(parts) and (isinstance(parts[place], Literal) or _is_given(facet, parts[place], ask)):
            place += 1
        if place >= len(parts):
            if facet.slot == TABLE:
                break  # a key of the table is one item: nothing is left to sort
            raise Misfit(f"its sort key does not go on to {order.attribute}")
        part = parts[place]
        assert isinstance(part, Field)
        reverse = _direction(facet, ask, order, part, reverse)
        place += 1
    return bool(reverse), place if wanted else depth


def _is_given(facet: Facet, part: Field | Literal, ask: Ask) -> bool:
    return isinstance(part, Field) and ask.name(facet.entity, part.attribute) in ask.given


def _direction(facet: Facet, ask: Ask, order: Order, part: Field, reverse: bool | None) -> bool:
    name = ask.name(facet.entity, part.attribute)
    # What is derived is in the order of what it is derived to: `name:lower`, `placed_at:day`.
    wanted = f"{name}:{part.spec}" if part.encoding.derived else name
    if ask.name(facet.entity, order.attribute) != wanted or not part.encoding.ordered:
        raise Misfit(f"it is sorted by {{{part.name}}} there, not by {order.attribute}")
    backwards = order.descending != part.encoding.descending
    if reverse is not None and backwards != reverse:
        raise Misfit(f"{order.attribute} runs the other way than the sort before it")
    return backwards


def _list(names: set[str] | frozenset[str]) -> str:
    return ", ".join(sorted(names))
