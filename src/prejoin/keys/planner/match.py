"""Match one facet with a lookup: which of its attributes the keys take and in which order, or why the facet does not
serve it.
"""

from __future__ import annotations

import msgspec

from prejoin.keys.facet import TABLE, Facet, KeyForm, When
from prejoin.keys.template.parts import KeyField, KeyText

from .lookup import RANGE_OPS, Lookup, Order, Within


class Mismatch(Exception):  # noqa: N818 - a result, not an error
    """Why a facet does not serve a lookup."""


class Fan(msgspec.Struct, frozen=True):
    """A derived field that splits a partition and is not given: one Query for each shard or time bucket."""

    field: KeyField

    @property
    def shards(self) -> int:
        return self.field.encoding.shards

    @property
    def bucket(self) -> str:
        return self.field.encoding.bucket


class FacetMatch(msgspec.Struct, frozen=True):
    """A facet that serves a lookup."""

    facet: Facet
    depth: int
    """The number of sort key parts that are known, texts and fields."""
    fans: tuple[Fan, ...]
    reverse: bool
    reach: int
    """The number of sort key parts that matter: the known ones, the range, and those of the order."""
    filtered: frozenset[str]
    """Given attributes that only a filter can take."""
    filtered_range: bool = False
    compared: frozenset[str] = frozenset()
    """Given attributes that the single item under the key is compared with."""
    tested: frozenset[When] = frozenset()
    """Conditions of the lookup that only a filter can test."""

    @property
    def whole_key(self) -> bool:
        return _is_whole(self.facet, self.depth, self.fans)

    @property
    def fields(self) -> int:
        """The number of sort key fields that are known."""
        sk = self.facet.sk
        return sum(isinstance(part, KeyField) for part in sk.parts[: self.depth]) if sk else 0


def match_facet(facet: Facet, lookup: Lookup, everywhere: frozenset[str] = frozenset()) -> FacetMatch:
    """Match a facet with a lookup for its entity (and perhaps others), or raise Mismatch with the reason.

    The attributes in `everywhere` can be read from the table's key, which every index has.
    """
    if lookup.consistent and facet.slot != TABLE and not facet.local:
        raise Mismatch("an index is never read consistently")
    if facet.holds is not None and (lookup.needs is None or not _needs(facet, lookup) - everywhere <= facet.holds):
        raise Mismatch("it does not hold all attributes that are asked for")
    taken = _implied(facet, lookup)
    tested = frozenset(one for one in lookup.only if not any(when.implies(one) for when in facet.when))
    if unmet := sorted(str(one) for one in tested if one.attribute not in lookup.filtered):
        raise Mismatch(f"{' and '.join(unmet)} would be left to a filter")
    fans = _partition(facet, lookup, taken)
    depth = _known(facet, lookup, taken)
    within = lookup.within
    ranged = within is not None and _takes_range(facet, lookup, within, depth)
    if within and not ranged and within.attribute not in lookup.filtered:
        raise Mismatch(_no_range(facet, lookup, within, depth))
    left = lookup.given - taken
    if left and within is None and _is_whole(facet, depth, fans) and _comparable(facet, lookup, left):
        return FacetMatch(facet, depth, fans, False, depth, frozenset(), compared=left, tested=tested)
    if left - lookup.filtered:
        raise Mismatch(f"{_list(left - lookup.filtered)} would be left to a filter")
    if unfit := {name for name in left if lookup.attribute(facet.entity, name) in facet.key_attributes}:
        raise Mismatch(f"{_list(unfit)} would be left to a filter, and DynamoDB does not filter by its own key")
    buckets = {lookup.name(facet.entity, fan.field.attribute) for fan in fans if fan.bucket}
    if buckets and not ranged:
        raise Mismatch(f"it is cut by time, and {_list(buckets)} is not a range that its sort key continues with")
    reverse, reach = _sorted(facet, lookup, depth, buckets)
    most = max(reach, depth + ranged)
    return FacetMatch(facet, depth, fans, reverse, most, left, bool(within) and not ranged, tested=tested)


def _is_whole(facet: Facet, depth: int, fans: tuple[Fan, ...]) -> bool:
    """Whether the whole key is known."""
    return not fans and (facet.sk is None or depth == len(facet.sk.parts))


def _comparable(facet: Facet, lookup: Lookup, left: frozenset[str]) -> bool:
    """Whether the single item under a key has the other given attributes, so that comparing reads nothing more.

    In an index a key may have many items. A derived value (`email:lower`) is not an attribute of any item.
    """
    if facet.slot != TABLE or len(lookup.entities) > 1 or any(":" in name for name in left):
        return False
    return facet.holds is None or {lookup.attribute(facet.entity, name) for name in left} <= facet.holds


def _needs(facet: Facet, lookup: Lookup) -> set[str]:
    return {lookup.attribute(facet.entity, name) for name in lookup.needs or ()} - facet.readable


def _implied(facet: Facet, lookup: Lookup) -> set[str]:
    """Check that the lookup implies the conditions of a sparse facet. Return the attributes that these take."""
    taken = set()
    constants = dict(lookup.constants)
    for when in facet.when:
        name = lookup.name(facet.entity, when.attribute)
        if any(one.implies(when) for one in lookup.only):
            continue
        present = name in lookup.given or (lookup.within is not None and lookup.within.attribute == name)
        known = present if when.values is None else name in constants and constants[name] in when.values
        if when.absent or not known:
            raise Mismatch(f"it has only the items where {when}")
        if when.values is not None and len(when.values) == 1:
            taken.add(name)
    return taken


def _take(facet: Facet, field: KeyField, lookup: Lookup, taken: set[str]) -> bool:
    """Whether the given values determine this field. A derived field takes only values given as derived."""
    if not field.encoding.settled:
        return False
    name = lookup.name(facet.entity, field.attribute)
    derived = f"{name}:{field.spec}"
    if field.spec and derived in lookup.given:
        taken.add(derived)
        return True
    if name in lookup.given:
        if not field.encoding.derived:
            taken.add(name)
        return True
    return False


def _partition(facet: Facet, lookup: Lookup, taken: set[str]) -> tuple[Fan, ...]:
    fans = []
    missing = []
    for field in facet.pk.fields:
        if _take(facet, field, lookup, taken):
            continue
        name = lookup.name(facet.entity, field.attribute)
        if field.encoding.shards or (field.encoding.bucket and lookup.within and lookup.within.attribute == name):
            fans.append(Fan(field))
        else:
            missing.append(name)
    if missing:
        raise Mismatch(f"its partition needs {_list(set(missing))}")
    if any(fan.bucket for fan in fans) and lookup.within and lookup.within.op in ("<", "<=", "begins_with"):
        unit = next(fan.bucket for fan in fans if fan.bucket)
        raise Mismatch(
            f"it is cut by {unit}, and a range over {lookup.within.attribute} needs a start, for each {unit} is a "
            "request: give one, if need be the time of the first item there is"
        )
    return tuple(fans)


def _known(facet: Facet, lookup: Lookup, taken: set[str]) -> int:
    parts = facet.sk.parts if facet.sk else ()
    for depth, part in enumerate(parts):
        if isinstance(part, KeyField) and not _take(facet, part, lookup, taken):
            return depth
    return len(parts)


def _takes_range(facet: Facet, lookup: Lookup, within: Within, depth: int) -> bool:
    if within.op not in RANGE_OPS:
        raise Mismatch(f"{within.op!r} is not a range")
    place = _at(facet.sk, depth)
    if place is None or lookup.name(facet.entity, place.attribute) != within.attribute or place.encoding.derived:
        return False
    return place.encoding.prefixes if within.op == "begins_with" else place.encoding.ordered


def _no_range(facet: Facet, lookup: Lookup, within: Within, depth: int) -> str:
    place = _at(facet.sk, depth)
    if place is not None and lookup.name(facet.entity, place.attribute) == within.attribute:
        return f"{{{place.name}}} is not in an order that {within.op} could use"
    return f"its sort key does not continue with {within.attribute} after the given attributes"


def _at(sk: KeyForm | None, depth: int) -> KeyField | None:
    part = sk.parts[depth] if sk and depth < len(sk.parts) else None
    return part if isinstance(part, KeyField) else None


def _sorted(facet: Facet, lookup: Lookup, depth: int, buckets: set[str]) -> tuple[bool, int]:
    """Check that the key has the requested order. Return whether it is reversed, and how many parts matter."""
    wanted = [
        order
        for order in lookup.order
        if order.entity in ("", facet.entity) and lookup.name(facet.entity, order.attribute) not in lookup.given
    ]
    if buckets and wanted and lookup.name(facet.entity, wanted[0].attribute) not in buckets:
        raise Mismatch(f"it is cut by time, so it is not sorted by {wanted[0].attribute}")
    reverse: bool | None = None
    place = depth
    parts = facet.sk.parts if facet.sk else ()
    for order in wanted:
        while place < len(parts) and (isinstance(parts[place], KeyText) or _is_given(facet, parts[place], lookup)):
            place += 1
        if place >= len(parts):
            if facet.slot == TABLE:
                break  # a key of the table has one item, so there is nothing to sort
            raise Mismatch(f"its sort key does not go on to {order.attribute}")
        part = parts[place]
        assert isinstance(part, KeyField)
        reverse = _direction(facet, lookup, order, part, reverse)
        place += 1
    return bool(reverse), place if wanted else depth


def _is_given(facet: Facet, part: KeyField | KeyText, lookup: Lookup) -> bool:
    return isinstance(part, KeyField) and lookup.name(facet.entity, part.attribute) in lookup.given


def _direction(facet: Facet, lookup: Lookup, order: Order, part: KeyField, reverse: bool | None) -> bool:
    name = lookup.name(facet.entity, part.attribute)
    # A derived field sorts by its derived value: `name:lower`, `placed_at:day`.
    wanted = f"{name}:{part.spec}" if part.encoding.derived else name
    if lookup.name(facet.entity, order.attribute) != wanted or not part.encoding.ordered:
        raise Mismatch(f"it is sorted by {{{part.name}}} there, not by {order.attribute}")
    backwards = order.descending != part.encoding.descending
    if reverse is not None and backwards != reverse:
        raise Mismatch(f"{order.attribute} runs the other way than the sort before it")
    return backwards


def _list(names: set[str] | frozenset[str]) -> str:
    return ", ".join(sorted(names))
