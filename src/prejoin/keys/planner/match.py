"""Match one facet with a lookup: which of its attributes the keys take and in which order, or why the facet does not
serve it.
"""

from __future__ import annotations

import msgspec

from prejoin.keys.facet import TABLE, Facet, KeyForm, When
from prejoin.keys.template.parts import KeyField, KeyText

from .lookup import RANGE_OPS, Lookup, Order


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


def match_facet(facet: Facet, lookup: Lookup, in_table_key: frozenset[str] = frozenset()) -> FacetMatch:
    """Match a facet with a lookup for its entity (and perhaps others), or raise Mismatch with the reason.

    The attributes in `in_table_key` can be read from the table's key, which every index has.
    """
    if lookup.consistent and facet.slot != TABLE and not facet.local:
        raise Mismatch("an index is never read consistently")
    _check_attributes(facet, lookup, in_table_key)
    # From here on each step adds the names that it takes. What remains has to be compared or filtered.
    taken_names = _take_conditions(facet, lookup)
    tested_conditions = _tested_conditions(facet, lookup)
    fans = _fans_of(facet, lookup, taken_names)
    depth = _known_depth(facet, lookup, taken_names)
    takes_range = _takes_range(facet, lookup, depth)
    remaining = lookup.given - taken_names
    if remaining and lookup.within is None and _is_whole(facet, depth, fans) and _can_compare(facet, lookup, remaining):
        return FacetMatch(
            facet,
            depth=depth,
            fans=fans,
            reverse=False,
            reach=depth,
            filtered=frozenset(),
            compared=remaining,
            tested=tested_conditions,
        )
    _check_filters(facet, lookup, remaining)
    buckets = {lookup.name(facet.entity, fan.field.attribute) for fan in fans if fan.bucket}
    if buckets and not takes_range:
        raise Mismatch(
            f"it is cut by time, and {_sorted_text(buckets)} is not a range that its sort key continues with"
        )
    reverse, reach = _read_order(facet, lookup, depth, buckets)
    return FacetMatch(
        facet,
        depth=depth,
        fans=fans,
        reverse=reverse,
        reach=max(reach, depth + takes_range),
        filtered=remaining,
        filtered_range=lookup.within is not None and not takes_range,
        tested=tested_conditions,
    )


def _is_whole(facet: Facet, depth: int, fans: tuple[Fan, ...]) -> bool:
    """Whether the whole key is known."""
    return not fans and (facet.sk is None or depth == len(facet.sk.parts))


def _can_compare(facet: Facet, lookup: Lookup, remaining: frozenset[str]) -> bool:
    """Whether the single item under a key has the other given attributes, so that comparing reads nothing more.

    In an index a key may have many items. A derived value (`email:lower`) is not an attribute of any item.
    """
    if facet.slot != TABLE or len(lookup.entities) > 1 or any(":" in name for name in remaining):
        return False
    return facet.holds is None or {lookup.attribute(facet.entity, name) for name in remaining} <= facet.holds


def _check_attributes(facet: Facet, lookup: Lookup, in_table_key: frozenset[str]) -> None:
    """Refuse an index or a copy that does not hold all attributes of the result. `needs` is None for all of them."""
    if facet.holds is None:
        return
    if lookup.needs is not None:
        needed_names = {lookup.attribute(facet.entity, name) for name in lookup.needs} - facet.readable
        if needed_names - in_table_key <= facet.holds:
            return
    raise Mismatch("it does not hold all attributes that are asked for")


def _tested_conditions(facet: Facet, lookup: Lookup) -> frozenset[When]:
    """Return the conditions of the lookup that its items need not meet. Refuse them where no filter may test them."""
    if not lookup.only:
        return lookup.only
    tested_conditions = {condition for condition in lookup.only if not _implies(facet, condition)}
    unmet_texts = sorted(
        str(condition) for condition in tested_conditions if condition.attribute not in lookup.filtered
    )
    if unmet_texts:
        raise Mismatch(f"{' and '.join(unmet_texts)} would be left to a filter")
    return frozenset(tested_conditions)


def _implies(facet: Facet, condition: When) -> bool:
    """Whether all items of a sparse facet meet a condition."""
    return any(when.implies(condition) for when in facet.when)


def _check_filters(facet: Facet, lookup: Lookup, names: frozenset[str]) -> None:
    """Refuse names that the lookup does not leave to a filter, or that DynamoDB does not filter by."""
    if names - lookup.filtered:
        raise Mismatch(f"{_sorted_text(names - lookup.filtered)} would be left to a filter")
    natural_names = {name for name in names if lookup.attribute(facet.entity, name) in facet.key_attributes}
    if natural_names:
        raise Mismatch(
            f"{_sorted_text(natural_names)} would be left to a filter, and DynamoDB does not filter by its own key"
        )


def _take_conditions(facet: Facet, lookup: Lookup) -> set[str]:
    """Check that the lookup implies the conditions of a sparse facet. Return the attributes that these take."""
    taken_names = set()
    constants = dict(lookup.constants)
    for when in facet.when:
        name = lookup.name(facet.entity, when.attribute)
        if any(condition.implies(when) for condition in lookup.only):
            continue
        if when.values is None:
            # A given attribute has a value, and so has one that is in a range.
            is_implied = name in lookup.given or (lookup.within is not None and lookup.within.attribute == name)
        else:
            is_implied = name in constants and constants[name] in when.values
        if when.absent or not is_implied:
            raise Mismatch(f"it has only the items where {when}")
        if when.values is not None and len(when.values) == 1:
            taken_names.add(name)
    return taken_names


def _take(facet: Facet, field: KeyField, lookup: Lookup, taken_names: set[str]) -> bool:
    """Whether the given values determine this field. A derived field takes only values given as derived."""
    if not field.encoding.settled:
        return False
    name = lookup.name(facet.entity, field.attribute)
    derived_name = f"{name}:{field.spec}"
    if field.spec and derived_name in lookup.given:
        taken_names.add(derived_name)
        return True
    if name in lookup.given:
        if not field.encoding.derived:
            taken_names.add(name)
        return True
    return False


def _fans_of(facet: Facet, lookup: Lookup, taken_names: set[str]) -> tuple[Fan, ...]:
    fans = []
    missing = []
    for field in facet.pk.fields:
        if _take(facet, field, lookup, taken_names):
            continue
        name = lookup.name(facet.entity, field.attribute)
        if field.encoding.shards or (field.encoding.bucket and lookup.within and lookup.within.attribute == name):
            fans.append(Fan(field))
        else:
            missing.append(name)
    if missing:
        raise Mismatch(f"its partition needs {_sorted_text(set(missing))}")
    if any(fan.bucket for fan in fans) and lookup.within and lookup.within.op in ("<", "<=", "begins_with"):
        unit = next(fan.bucket for fan in fans if fan.bucket)
        raise Mismatch(
            f"it is cut by {unit}, and a range over {lookup.within.attribute} needs a start, for each {unit} is a "
            "request: give one, if need be the time of the first item there is"
        )
    return tuple(fans)


def _known_depth(facet: Facet, lookup: Lookup, taken_names: set[str]) -> int:
    parts = facet.sk.parts if facet.sk else ()
    for depth, part in enumerate(parts):
        if isinstance(part, KeyField) and not _take(facet, part, lookup, taken_names):
            return depth
    return len(parts)


def _takes_range(facet: Facet, lookup: Lookup, depth: int) -> bool:
    """Whether the sort key takes the range of the lookup. Raise Mismatch if it does not, and no filter may take it."""
    within = lookup.within
    if within is None:
        return False
    if within.op not in RANGE_OPS:
        raise Mismatch(f"{within.op!r} is not a range")
    field = _field_at(facet.sk, depth)
    is_next = field is not None and lookup.name(facet.entity, field.attribute) == within.attribute
    if field is not None and is_next and not field.encoding.derived:
        can_compare = field.encoding.prefixes if within.op == "begins_with" else field.encoding.ordered
        if can_compare:
            return True
    if within.attribute in lookup.filtered:
        return False
    if field is not None and is_next:
        raise Mismatch(f"{{{field.name}}} is not in an order that {within.op} could use")
    raise Mismatch(f"its sort key does not continue with {within.attribute} after the given attributes")


def _field_at(sk: KeyForm | None, depth: int) -> KeyField | None:
    part = sk.parts[depth] if sk and depth < len(sk.parts) else None
    return part if isinstance(part, KeyField) else None


def _read_order(facet: Facet, lookup: Lookup, depth: int, buckets: set[str]) -> tuple[bool, int]:
    """Check that the key has the requested order. Return whether it is reversed, and how many parts matter."""
    order_of_entity = [
        order
        for order in lookup.order
        if order.entity in ("", facet.entity) and lookup.name(facet.entity, order.attribute) not in lookup.given
    ]
    if buckets and order_of_entity and lookup.name(facet.entity, order_of_entity[0].attribute) not in buckets:
        raise Mismatch(f"it is cut by time, so it is not sorted by {order_of_entity[0].attribute}")
    reverse: bool | None = None
    position = depth
    parts = facet.sk.parts if facet.sk else ()
    for order in order_of_entity:
        while position < len(parts) and (
            isinstance(parts[position], KeyText) or _is_given(facet, parts[position], lookup)
        ):
            position += 1
        if position >= len(parts):
            if facet.slot == TABLE:
                break  # a key of the table has one item, so there is nothing to sort
            raise Mismatch(f"its sort key does not go on to {order.attribute}")
        part = parts[position]
        assert isinstance(part, KeyField)
        reverse = _is_reversed(facet, lookup, order, part, reverse)
        position += 1
    return bool(reverse), position if order_of_entity else depth


def _is_given(facet: Facet, part: KeyField | KeyText, lookup: Lookup) -> bool:
    return isinstance(part, KeyField) and lookup.name(facet.entity, part.attribute) in lookup.given


def _is_reversed(facet: Facet, lookup: Lookup, order: Order, part: KeyField, reverse: bool | None) -> bool:
    name = lookup.name(facet.entity, part.attribute)
    # A derived field sorts by its derived value: `name:lower`, `placed_at:day`.
    sort_name = f"{name}:{part.spec}" if part.encoding.derived else name
    if lookup.name(facet.entity, order.attribute) != sort_name or not part.encoding.ordered:
        raise Mismatch(f"it is sorted by {{{part.name}}} there, not by {order.attribute}")
    backwards = order.descending != part.encoding.descending
    if reverse is not None and backwards != reverse:
        raise Mismatch(f"{order.attribute} runs the other way than the sort before it")
    return backwards


def _sorted_text(names: set[str] | frozenset[str]) -> str:
    return ", ".join(sorted(names))
