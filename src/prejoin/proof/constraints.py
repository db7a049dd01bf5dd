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

from prejoin.proof.brute_force import compare
from prejoin.types import Kind
from prejoin.workload.lookup import member_of
from prejoin.workload.model import Attribute, Op

Variable = tuple[Any, ...]
"""The name of an unknown."""
_NUMBERS = (1, 2, 3, 0, 5, -1, 100)
_FEWEST = 4
"""The least number of values that are drawn for an unknown without constants."""
_MOST_TRIED = 300_000
"""The most values that a search tries. Conditions as people write them need some hundred."""


class ContradictionError(Exception):
    """No values satisfy all constraints, or too many would have to be tried to know."""


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


@dataclass(slots=True)
class Unknown:
    """What is known of a variable before its value is chosen: the attributes that have it."""

    attributes: list[Attribute] = field(default_factory=list)
    is_optional: bool = False
    """Whether the value may be absent."""
    fixed: tuple[Any, ...] | None = None
    """The only values that it may have; None for all of its type."""
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

    def test(value: Any, *others: Any) -> bool:
        asked = [*constants, *others]
        if op is Op.IN and len(asked) == 1 and isinstance(asked[0], list):
            asked = asked[0]
        if any(one is None for one in asked):
            return False
        try:
            return compare(op, value, asked) is not is_violated
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
        solution = _search(component, domains)
        if solution is None:
            needed = [one for one in component if not one.is_preferred]
            solution = _search(needed, domains)
            if solution is None:
                raise ContradictionError(_contradiction(needed, domains))
        values |= solution
    return values


def _components(constraints: Sequence[Constraint]) -> list[list[Constraint]]:
    """The constraints in groups that share no variable."""
    groups: list[tuple[set[Variable], list[Constraint]]] = []
    for constraint in constraints:
        variables, members = set(constraint.variables), [constraint]
        apart = []
        for group in groups:
            if group[0] & variables:
                variables |= group[0]
                members = [*group[1], *members]
            else:
                apart.append(group)
        groups = [*apart, (variables, members)]
    return [members for _, members in groups]


def _search(constraints: Sequence[Constraint], domains: Mapping[Variable, Sequence[Any]]) -> dict[Variable, Any] | None:
    """The first values that satisfy the constraints, in the order of the candidates."""
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
    tried = 0

    def assign(at: int) -> bool:
        nonlocal tried
        if at == len(order):
            return True
        for candidate in domains[order[at]]:
            tried += 1
            if tried > _MOST_TRIED:
                raise ContradictionError("there are too many conditions on one another to find values for all of them")
            values[order[at]] = candidate
            if all(one.test(*(values[v] for v in one.variables)) for one in tests[at]) and assign(at + 1):
                return True
        return False

    return values if assign(0) else None


def _search_order(constraints: Sequence[Constraint], domains: Mapping[Variable, Sequence[Any]]) -> list[Variable]:
    """The variables in an order in which a wrong value is noticed early.

    Those with the most constraints come first, and among these the neighbours of others.
    """
    degrees = Counter(variable for constraint in constraints for variable in constraint.variables)
    order: list[Variable] = []
    while len(order) < len(degrees):
        near = {v for constraint in constraints if set(constraint.variables) & set(order) for v in constraint.variables}
        left = [variable for variable in degrees if variable not in order]
        order.append(min(left, key=lambda variable: (-degrees[variable], variable not in near, len(domains[variable]))))
    return order


def _contradiction(constraints: Sequence[Constraint], domains: Mapping[Variable, Sequence[Any]]) -> str:
    """The smallest group of constraints that contradict each other, as a text."""
    for size in (1, 2):
        for group in combinations(constraints, size):
            if _search(group, domains) is None:
                texts = " and ".join(f"`{one.text}`" for one in dict.fromkeys(group))
                return f"{texts} contradict each other" if size > 1 else f"no value satisfies {texts}"
    texts = ", ".join(dict.fromkeys(f"`{one.text}`" for one in constraints))
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
    if from_last:
        constants.reverse()
    is_ordered = any(not constraint.is_preferred for constraint in constraints)
    limits = [limit for v in variables for a in unknowns[v].attributes for limit in bounds(a) if limit is not None]
    domains: dict[Variable, list[Any]] = {}
    steps = max(len(variables), min(len(constraints), 4)) + 1
    # The members of a set are compared with values that are no sets: both have the same candidates.
    drawn: dict[Kind, list[Any]] = {}
    for variable in variables:
        unknown = unknowns[variable]
        candidates = _candidates(unknown, constants, limits, is_ordered, draw, drawn, steps)
        if unknown.is_list:
            candidates = [[one] for one in candidates] + [candidates[:2]]
        within = [v for v in candidates if unknown.fixed is not None or _is_within(unknown, v, bounds)]
        domains[variable] = [*within, None] if unknown.is_optional else within
    return domains


def _candidates(
    unknown: Unknown,
    constants: Sequence[Any],
    limits: Sequence[int],
    is_ordered: bool,
    draw: Callable[[Attribute], Any],
    drawn: dict[Kind, list[Any]],
    steps: int,
) -> list[Any]:
    """The values to try, so many around each constant as there are steps."""
    if unknown.fixed is not None:
        return list(unknown.fixed)
    attribute = next((a for a in unknown.attributes if a.id or a.unique), unknown.attributes[0])
    kind = attribute.type.kind
    match kind:
        case Kind.ENUM:
            first = [value for value in constants if value in attribute.type.values]
            return list(dict.fromkeys((*first, *attribute.type.values)))
        case Kind.BOOLEAN:
            return list(dict.fromkeys((*(c for c in constants if isinstance(c, bool)), False, True)))
        case Kind.SET | Kind.LIST:
            return _collections(attribute, constants, draw, drawn, steps)
        case Kind.INTEGER | Kind.NUMBER | Kind.DECIMAL if is_ordered:
            return _numbers(attribute, constants, limits, steps)
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
            return _compared_and_drawn(attribute, constants, is_ordered, draw, drawn, steps)
        case _:
            assert_never(kind)


def _compared_and_drawn(
    attribute: Attribute,
    constants: Sequence[Any],
    is_ordered: bool,
    draw: Callable[[Attribute], Any],
    drawn: dict[Kind, list[Any]],
    steps: int,
) -> list[Any]:
    """The constants that an attribute is compared with, their neighbours, and values that are drawn."""
    kind = attribute.type.kind
    compared = [value for value in constants if _is_like(value, kind)]
    near = [neighbour for value in compared for neighbour in _neighbours(value, steps) if kind is not Kind.ULID]
    own = [draw(attribute) for _ in range(max(_FEWEST, steps) if kind is Kind.ULID else _FEWEST)]
    if kind not in drawn:
        drawn[kind] = _ladder(own, kind, steps + 1)
    shared = drawn[kind] if is_ordered else []
    if attribute.id or attribute.unique:
        return _distinct([*compared, *near, *own, *shared])  # two items have different ones
    if attribute.ttl:
        return _distinct([*own, *compared, *near, *shared])  # an engine deletes by its own clock what has expired
    return _distinct([*compared, *near, *shared, *own])


def _ladder(values: Sequence[Any], kind: Kind, steps: int) -> list[Any]:
    """Values of which each is greater than the one before, from the first of some; else these values, in order."""
    first = values[0]
    match first:
        case datetime():
            return [first + timedelta(minutes=step) for step in range(steps)]
        case date():
            return [first + timedelta(days=step) for step in range(steps)]
        case str() if moment := _moment(first):
            return [_as_text(moment + timedelta(minutes=step)) for step in range(steps)]
        case bytes():
            return [first + b"x" * step for step in range(steps)]
        case str() if kind is Kind.STRING:
            return sorted(_distinct([*values, *(first + "x" * step for step in range(1, steps))]))
    return sorted(_distinct(values), key=str)


def _collections(
    attribute: Attribute,
    constants: Sequence[Any],
    draw: Callable[[Attribute], Any],
    drawn: dict[Kind, list[Any]],
    steps: int,
) -> list[Any]:
    """Sets or lists with and without each member that is looked for."""
    member = member_of(attribute)
    kind = member.type.kind
    if kind not in drawn:
        drawn[kind] = [draw(member) for _ in range(max(_FEWEST, min(steps, 5)))]
    looked_for = [value for value in constants if _is_like(value, kind)]
    members = _distinct([*looked_for, *drawn[kind]])
    groups = [[one] for one in members] + [list(pair) for pair in combinations(members, 2)] + [members]
    whole = [value for value in constants if isinstance(value, set | list)]
    if attribute.type.kind is Kind.LIST:
        return [*whole, *groups]
    return [*whole, *(set(group) for group in groups)]


def _numbers(attribute: Attribute, constants: Sequence[Any], limits: Sequence[int], steps: int) -> list[Any]:
    """Numbers around the compared ones, and around the bounds of the attributes: one less, the same, one more."""
    compared = [value for value in (*constants, *limits) if isinstance(value, int | Decimal)]
    near = [value + sign * step for step in range(1, steps + 1) for value in compared for sign in (1, -1)]
    numbers: list[int | Decimal] = [*(value for value in constants if value in compared), *near, *limits, *_NUMBERS]
    if not compared:
        numbers += range(6, 6 + steps - len(_NUMBERS))
    elif attribute.type.kind is not Kind.INTEGER:
        parts = [Decimal(step) / (steps + 1) for step in range(1, steps + 1)]
        numbers += [Decimal(value) + part for value in compared for part in parts]  # between 3 and 4
    numbers = _distinct(numbers)
    if attribute.type.kind is Kind.DECIMAL:
        return [Decimal(value) for value in numbers]
    return [int(value) if value == int(value) else value for value in numbers]


def _neighbours(value: Any, steps: int) -> list[Any]:
    """Values just above and below another in the order of its type, as many as there are steps on each side."""
    near = [sign * step for step in range(1, steps + 1) for sign in (1, -1)]
    match value:
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
            return [value + b"x" * step for step in range(1, steps + 1)] + [value[:-1] or b"\x00"]
    return []


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
        least, most = bounds(attribute)
        if not isinstance(value, int | Decimal) or isinstance(value, bool):
            continue
        if (least is not None and value < least) or (most is not None and value > most):
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
