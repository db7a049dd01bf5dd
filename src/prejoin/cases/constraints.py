"""Values for the unknowns of a case, by an exhaustive search over a few candidates.

`stock >= n` and `n > 0` are two constraints on two unknowns. The unknowns that share a constraint form a component. For
each component the search tries the compared constants, their neighbours in the order of the type, and a few other
values, until all constraints hold. k unknowns need at most k values between two constants, so if the search finds
nothing, the constraints contradict each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import combinations
from typing import Any, assert_never
from uuid import UUID

from prejoin.cases.conditions import compare, elements_of
from prejoin.types import Kind
from prejoin.workload.lookup import member_of
from prejoin.workload.model import Attribute, Op
from prejoin.workload.samples import CROCKFORD

Variable = tuple[Any, ...]
"""The name of an unknown."""
_NUMBERS = (1, 2, 3, 0, 5, -1, 100)
_MIN_VALUES = 4
"""The least number of values that are drawn for an unknown without constants."""
_MAX_ATTEMPTS = 300_000
"""The most values that a search tries. Conditions as people write them need some hundred."""
_MAX_ATTEMPTS_FOR_PREFERRED = 10_000
"""The most values that a search with preferred constraints tries. It is repeated without them."""


class ContradictionError(Exception):
    """No values satisfy all constraints, or too many would have to be tried to know."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a condition: the variables that it is about, and its test."""

    variables: tuple[Variable, ...]
    test: Callable[..., bool]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A relation that the values of some unknowns must have."""

    text: str
    variables: tuple[Variable, ...]
    test: Callable[..., bool]
    """Gets the value of each variable, None for an absent one."""
    constants: tuple[Any, ...] = ()
    """The values that the test compares with."""
    is_preferred: bool = False
    """Whether it is only a wish: a status should not be set to what it is already."""
    parts: tuple[Part, ...] = ()
    """The tests that alone decide a condition with parts; none if only the test itself is known."""


@dataclass(slots=True)
class Unknown:
    """What is known of a variable before its value is chosen: the attributes that have it."""

    attributes: list[Attribute] = field(default_factory=list)
    is_optional: bool = False
    """Whether the value may be absent."""
    only_values: tuple[Any, ...] | None = None
    """The only values that it may have; None for all of its type."""
    usual: list[Any] = field(default_factory=list)
    """Values that are tried first."""
    is_list: bool = False
    """Whether it is a list of such values: the input of `status in statuses`."""


def comparison(
    text: str,
    op: Op,
    variables: Sequence[Variable],
    constants: Sequence[Any],
    is_violated: bool = False,
    is_preferred: bool = False,
) -> Constraint:
    """`status = OPEN` as a constraint: the first variable is compared with the others and with the constants."""

    def test(value: Any, *operand_values: Any) -> bool:
        operands = elements_of(op, [*constants, *operand_values])
        if any(operand is None for operand in operands):
            return False
        try:
            return compare(op, value, operands) is not is_violated
        except TypeError:
            return False

    return Constraint(text, tuple(variables), test, tuple(constants), is_preferred)


def solve(
    constraints: Sequence[Constraint],
    unknowns: Mapping[Variable, Unknown],
    draw: Callable[[Attribute], Any],
    bounds: Callable[[Attribute], tuple[int | None, int | None]],
    from_last: bool = False,
) -> dict[Variable, Any]:
    """Values that satisfy all constraints, for the variables that these are about. `draw` makes a value of a type.

    With `from_last`, the constants are tried from the last one: the upper end of a range, the last of a list.
    """
    values: dict[Variable, Any] = {}
    for component in _components(constraints):
        domains = _domains(component, unknowns, draw, bounds, from_last)
        required_constraints = [constraint for constraint in component if not constraint.is_preferred]
        solution = _preferred_solution(component, domains) if len(required_constraints) < len(component) else None
        if solution is None:
            solution = _search(required_constraints, domains)
        if solution is None:
            raise ContradictionError(_contradiction(required_constraints, domains))
        values |= solution
    return values


def _preferred_solution(
    constraints: Sequence[Constraint], domains: Mapping[Variable, Sequence[Any]]
) -> dict[Variable, Any] | None:
    """Values that satisfy the preferred constraints too, if few have to be tried."""
    try:
        return _search(constraints, domains, _MAX_ATTEMPTS_FOR_PREFERRED)
    except ContradictionError:
        return None


def _components(constraints: Sequence[Constraint]) -> list[list[Constraint]]:
    """The constraints in groups that share no variable."""
    groups: list[tuple[set[Variable], list[Constraint]]] = []
    for constraint in constraints:
        variables, members = set(constraint.variables), [constraint]
        disjoint_groups = []
        for group in groups:
            if group[0] & variables:
                variables |= group[0]
                members = [*group[1], *members]
            else:
                disjoint_groups.append(group)
        groups = [*disjoint_groups, (variables, members)]
    return [members for _, members in groups]


def _search(
    constraints: Sequence[Constraint], domains: Mapping[Variable, Sequence[Any]], max_attempts: int = _MAX_ATTEMPTS
) -> dict[Variable, Any] | None:
    """The first values that satisfy the constraints, in the order of the candidates."""
    domains = {
        variable: _distinguishable(variable, candidates, constraints) for variable, candidates in domains.items()
    }
    order = _search_order(constraints, domains)
    place = {variable: at for at, variable in enumerate(order)}
    # Each constraint is tested as soon as its last variable has a value.
    tests: list[list[Constraint]] = [[] for _ in order]
    for constraint in constraints:
        if not constraint.variables:
            if not constraint.test():
                return None
            continue
        tests[max(place[variable] for variable in constraint.variables)].append(constraint)
    values: dict[Variable, Any] = {}
    attempts = 0

    def assign(at: int) -> bool:
        nonlocal attempts
        if at == len(order):
            return True
        for candidate in domains[order[at]]:
            attempts += 1
            if attempts > max_attempts:
                raise ContradictionError("there are too many conditions on one another to find values for all of them")
            values[order[at]] = candidate
            if all(constraint.test(*(values[v] for v in constraint.variables)) for constraint in tests[at]) and assign(
                at + 1
            ):
                return True
        return False

    return values if assign(0) else None


def _distinguishable(variable: Variable, candidates: Sequence[Any], constraints: Sequence[Constraint]) -> Sequence[Any]:
    """The candidates without those that no constraint tells from one before.

    So few combinations are left of `status = FREE or (heldUntil < now and seatNo <> A)`. All candidates are left of a
    variable that is compared with another one.
    """
    parts: list[Part] = []
    for constraint in constraints:
        if variable in constraint.variables:
            parts += constraint.parts or (Part(constraint.variables, constraint.test),)
    own = [part for part in parts if variable in part.variables]
    if any(part.variables != (variable,) for part in own):
        return candidates
    different: dict[tuple[bool, ...], Any] = {}
    for candidate in candidates:
        different.setdefault(tuple(part.test(candidate) for part in own), candidate)
    return list(different.values())


def _search_order(constraints: Sequence[Constraint], domains: Mapping[Variable, Sequence[Any]]) -> list[Variable]:
    """The variables in an order in which a wrong value is noticed early.

    Those with the most constraints come first, and among these the neighbours of others.
    """
    degrees = Counter(variable for constraint in constraints for variable in constraint.variables)
    order: list[Variable] = []
    while len(order) < len(degrees):
        near = {v for constraint in constraints if set(constraint.variables) & set(order) for v in constraint.variables}
        remaining = [variable for variable in degrees if variable not in order]
        order.append(
            min(remaining, key=lambda variable: (-degrees[variable], variable not in near, len(domains[variable])))
        )
    return order


def _contradiction(constraints: Sequence[Constraint], domains: Mapping[Variable, Sequence[Any]]) -> str:
    """The smallest group of constraints that contradict each other, as a text."""
    for size in (1, 2):
        for group in combinations(constraints, size):
            if _search(group, domains) is None:
                texts = " and ".join(f"`{constraint.text}`" for constraint in dict.fromkeys(group))
                return f"{texts} contradict each other" if size > 1 else f"no value satisfies {texts}"
    texts = ", ".join(dict.fromkeys(f"`{constraint.text}`" for constraint in constraints))
    return f"{texts} contradict each other"


# --- Candidates -----------------------------------------------------------------------------------------------------


def _domains(
    constraints: Sequence[Constraint],
    unknowns: Mapping[Variable, Unknown],
    draw: Callable[[Attribute], Any],
    bounds: Callable[[Attribute], tuple[int | None, int | None]],
    from_last: bool,
) -> dict[Variable, list[Any]]:
    variables = dict.fromkeys(variable for constraint in constraints for variable in constraint.variables)
    constants = [value for constraint in constraints for value in constraint.constants]
    constants += [value for variable in variables for value in unknowns[variable].usual]
    if from_last:
        constants.reverse()
    is_ordered = any(not constraint.is_preferred for constraint in constraints)
    limits = [limit for v in variables for a in unknowns[v].attributes for limit in bounds(a) if limit is not None]
    domains: dict[Variable, list[Any]] = {}
    steps = max(len(variables), min(len(constraints), 4)) + 1
    # The members of a set are compared with values that are no sets: both have the same candidates.
    drawn_by_kind: dict[Kind, list[Any]] = {}
    for variable in variables:
        unknown = unknowns[variable]
        candidates = _candidates(unknown, constants, limits, is_ordered, draw, drawn_by_kind, steps)
        if unknown.is_list:
            candidates = [[candidate] for candidate in candidates] + [candidates[:2]]
        else:
            candidates = _distinct([*unknown.usual, *candidates])
        within = [v for v in candidates if unknown.only_values is not None or _is_within(unknown, v, bounds)]
        domains[variable] = [*within, None] if unknown.is_optional else within
    return domains


def _candidates(
    unknown: Unknown,
    constants: Sequence[Any],
    limits: Sequence[int],
    is_ordered: bool,
    draw: Callable[[Attribute], Any],
    drawn_by_kind: dict[Kind, list[Any]],
    steps: int,
) -> list[Any]:
    """The values to try, so many around each constant as there are steps."""
    if unknown.only_values is not None:
        return list(unknown.only_values)
    attribute = next((a for a in unknown.attributes if a.id or a.unique), unknown.attributes[0])
    kind = attribute.type.kind
    match kind:
        case Kind.ENUM:
            first = [value for value in constants if value in attribute.type.values]
            return list(dict.fromkeys((*first, *attribute.type.values)))
        case Kind.BOOLEAN:
            return list(dict.fromkeys((*(c for c in constants if isinstance(c, bool)), False, True)))
        case Kind.SET | Kind.LIST:
            return _collection_candidates(attribute, constants, draw, drawn_by_kind, steps)
        case Kind.INTEGER | Kind.NUMBER | Kind.DECIMAL if is_ordered:
            return _number_candidates(attribute, constants, limits, steps)
        case (
            Kind.STRING
            | Kind.NUMBER
            | Kind.INTEGER
            | Kind.DECIMAL
            | Kind.BINARY
            | Kind.DATE
            | Kind.DATETIME
            | Kind.UUID
            | Kind.ULID
            | Kind.MAP
            | Kind.CONTENT
        ):
            return _compared_and_drawn(attribute, constants, is_ordered, draw, drawn_by_kind, steps)
        case _:
            assert_never(kind)


def _compared_and_drawn(
    attribute: Attribute,
    constants: Sequence[Any],
    is_ordered: bool,
    draw: Callable[[Attribute], Any],
    drawn_by_kind: dict[Kind, list[Any]],
    steps: int,
) -> list[Any]:
    """The constants that an attribute is compared with, their neighbours, and values that are drawn."""
    kind = attribute.type.kind
    compared_values = [value for value in constants if _is_like(value, kind)]
    near = [neighbour for value in compared_values for neighbour in _neighbours(value, kind, steps)]
    own = [draw(attribute) for _ in range(max(_MIN_VALUES, steps) if kind is Kind.ULID else _MIN_VALUES)]
    if kind not in drawn_by_kind:
        drawn_by_kind[kind] = _ladder(own, kind, steps + 1)
    shared_values = drawn_by_kind[kind] if is_ordered else []
    if attribute.id or attribute.unique:
        return _distinct([*compared_values, *near, *own, *shared_values])  # two items have different ones
    if attribute.ttl:
        return _distinct(
            [*own, *compared_values, *near, *shared_values]
        )  # an engine deletes by its own clock what has expired
    if kind in (Kind.UUID, Kind.ULID):
        return _distinct([*compared_values, *shared_values, *own, *near])  # few compare their order
    return _distinct([*compared_values, *near, *shared_values, *own])


def _ladder(values: Sequence[Any], kind: Kind, steps: int) -> list[Any]:
    """Values of which each is greater than the one before, from the first of some; else these values, in order.

    After UUIDs and ULIDs come those beside the first, because there may be too few of them.
    """
    first = values[0]
    match first:
        case datetime():
            return [first + timedelta(minutes=step) for step in range(steps)]
        case date():
            return [first + timedelta(days=step) for step in range(steps)]
        case str() if moment := _moment(first):
            return [_as_text(moment + timedelta(minutes=step)) for step in range(steps)]
        case bytes():
            return [_longer_bytes(first, step) for step in range(steps)]
        case str() if kind is Kind.STRING:
            return sorted(_distinct([*values, *(first + "x" * step for step in range(1, steps))]))
    return [*sorted(_distinct(values), key=str), *_neighbours(first, kind, steps)]


def _collection_candidates(
    attribute: Attribute,
    constants: Sequence[Any],
    draw: Callable[[Attribute], Any],
    drawn_by_kind: dict[Kind, list[Any]],
    steps: int,
) -> list[Any]:
    """Sets or lists with and without each member that is looked for."""
    member = member_of(attribute)
    kind = member.type.kind
    if kind not in drawn_by_kind:
        drawn_by_kind[kind] = [draw(member) for _ in range(max(_MIN_VALUES, min(steps, 5)))]
    looked_for = [value for value in constants if _is_like(value, kind)]
    members = _distinct([*looked_for, *drawn_by_kind[kind]])
    groups = [[member] for member in members] + [list(pair) for pair in combinations(members, 2)] + [members]
    whole_collections = [value for value in constants if isinstance(value, set | list)]
    if attribute.type.kind is Kind.LIST:
        return [*whole_collections, *groups]
    return [*whole_collections, *(set(group) for group in groups)]


def _number_candidates(attribute: Attribute, constants: Sequence[Any], limits: Sequence[int], steps: int) -> list[Any]:
    """Numbers around the compared ones, and around the bounds of the attributes: one less, the same, one more."""
    compared_values = [value for value in (*constants, *limits) if isinstance(value, int | Decimal)]
    near = [value + sign * step for step in range(1, steps + 1) for value in compared_values for sign in (1, -1)]
    numbers: list[int | Decimal] = [
        *(value for value in constants if value in compared_values),
        *near,
        *limits,
        *_NUMBERS,
    ]
    if not compared_values:
        numbers += range(6, 6 + steps - len(_NUMBERS))
    elif attribute.type.kind is not Kind.INTEGER:
        parts = [Decimal(step) / (steps + 1) for step in range(1, steps + 1)]
        numbers += [Decimal(value) + part for value in compared_values for part in parts]  # between 3 and 4
    numbers = _distinct(numbers)
    if attribute.type.kind is Kind.DECIMAL:
        return [Decimal(value) for value in numbers]
    return [int(value) if value == int(value) else value for value in numbers]


def _neighbours(value: Any, kind: Kind, steps: int) -> list[Any]:
    """Values just above and below another in the order of its type, as many as there are steps on each side."""
    near = [sign * step for step in range(1, steps + 1) for sign in (1, -1)]
    match value:
        case UUID():
            numbers = [value.int + step for step in near]
            return [UUID(int=number) for number in numbers if 0 <= number < 2**128]
        case str() if kind is Kind.ULID:
            return [_ulid_beside(value, step) for step in near] if set(value) <= set(CROCKFORD) else []
        case datetime():
            return [value + timedelta(seconds=step) for step in near]
        case date():
            return [value + timedelta(days=step) for step in near]
        case str():
            if moment := _moment(value):
                return [_as_text(moment + timedelta(seconds=step)) for step in near]
            longer = [value + "x" * step for step in range(1, steps + 1)]
            shorter = [value[:-1]] if len(value) > 1 else []
            # A text before it, and more of them: `!` is before all letters and digits.
            before = [chr(max(ord(value[0]) - 1, 33)) + "!" * step for step in range(steps)] if value else []
            return [longer[0], *shorter, f"x{value}x", *before, *longer[1:]]
        case bytes():
            # A sample of a large content stays one: generated tests write it as a `LargeValue`.
            return [*(_longer_bytes(value, step) for step in range(1, steps + 1)), type(value)(value[:-1] or b"\x00")]
    return []


def _longer_bytes(value: bytes, step: int) -> bytes:
    return type(value)(value + b"x" * step)


def _ulid_beside(value: str, step: int) -> str:
    """The ULID so many steps after another, or before it."""
    number = step
    for place, letter in enumerate(reversed(value)):
        number += CROCKFORD.index(letter) * len(CROCKFORD) ** place
    letters = ""
    for _ in value:
        number, digit = divmod(number, len(CROCKFORD))
        letters = CROCKFORD[digit] + letters
    return letters


def _moment(text: str) -> datetime | None:
    """The time that a text is, as in `2026-11-15T12:00:00Z`; None if it is none."""
    try:
        return datetime.fromisoformat(text) if len(text) > len("2026-11-15") else None
    except ValueError:
        return None


def _as_text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _is_like(value: Any, kind: Kind) -> bool:
    match kind:
        case Kind.DATETIME:
            return isinstance(value, datetime)
        case Kind.DATE:
            return isinstance(value, date) and not isinstance(value, datetime)
        case Kind.INTEGER | Kind.NUMBER | Kind.DECIMAL:
            return isinstance(value, int | Decimal) and not isinstance(value, bool)
        case Kind.STRING | Kind.ULID | Kind.ENUM:
            return isinstance(value, str)
        case Kind.BINARY:
            return isinstance(value, bytes)
        case Kind.BOOLEAN | Kind.UUID | Kind.LIST | Kind.MAP | Kind.SET | Kind.CONTENT:
            return not isinstance(value, str | int | bool | Decimal)
        case _:
            assert_never(kind)


def _is_within(unknown: Unknown, value: Any, bounds: Callable[[Attribute], tuple[int | None, int | None]]) -> bool:
    for attribute in unknown.attributes:
        lowest, highest = bounds(attribute)
        if not isinstance(value, int | Decimal) or isinstance(value, bool):
            continue
        if (lowest is not None and value < lowest) or (highest is not None and value > highest):
            return False
        if attribute.type.kind is Kind.INTEGER and value != int(value):
            return False
    return True


def _distinct(values: Iterable[Any]) -> list[Any]:
    distinct: list[Any] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    return distinct
