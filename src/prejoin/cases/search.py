"""Values for the unknowns of a case, by an exhaustive search over a few candidates.

`stock >= n` and `n > 0` are two constraints on two unknowns. The unknowns that share a constraint form a component. For
each component the search tries the compared constants, their neighbours in the order of the type, and a few other
values, until all constraints hold. k unknowns need at most k values between two constants, so if the search finds
nothing, the constraints contradict each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

from prejoin.cases.candidates import Bounds, Candidates
from prejoin.cases.constraints import Constraint, ContradictionError, Part, Unknown, Variable
from prejoin.workload.model import Attribute

Domains = Mapping[Variable, Sequence[Any]]
"""The candidates of each variable, in the order in which they are tried."""
_MAX_ATTEMPTS = 300_000
"""The most values that a search tries. Conditions as people write them need some hundred."""
_MAX_ATTEMPTS_FOR_PREFERRED = 10_000
"""The most values that a search with preferred constraints tries. It is repeated without them."""


def solve(
    constraints: Sequence[Constraint],
    unknowns: Mapping[Variable, Unknown],
    draw: Callable[[Attribute], Any],
    bounds: Bounds,
    from_last: bool = False,
) -> dict[Variable, Any]:
    """Values that satisfy all constraints, for the variables that these are about. `draw` makes a value of a type.

    With `from_last`, the constants are tried from the last one: the upper end of a range, the last of a list.
    """
    values: dict[Variable, Any] = {}
    for component in _components(constraints):
        domains = Candidates(component, unknowns, draw, bounds, from_last).domains()
        required_constraints = [constraint for constraint in component if not constraint.is_preferred]
        # Wishes are dropped together: which of them is in the way does not matter to the case.
        solution = _preferred_solution(component, domains) if len(required_constraints) < len(component) else None
        if solution is None:
            solution = _search(required_constraints, domains)
        if solution is None:
            raise ContradictionError(_contradiction(required_constraints, domains))
        values |= solution
    return values


def _preferred_solution(constraints: Sequence[Constraint], domains: Domains) -> dict[Variable, Any] | None:
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
            # A constraint joins all groups with which it shares a variable.
            if group[0] & variables:
                variables |= group[0]
                members = [*group[1], *members]
            else:
                disjoint_groups.append(group)
        groups = [*disjoint_groups, (variables, members)]
    return [members for _, members in groups]


def _search(
    constraints: Sequence[Constraint], domains: Domains, max_attempts: int = _MAX_ATTEMPTS
) -> dict[Variable, Any] | None:
    """The first values that satisfy the constraints, in the order of the candidates."""
    if not all(constraint.test() for constraint in constraints if not constraint.variables):
        return None
    return _Search([constraint for constraint in constraints if constraint.variables], domains, max_attempts).run()


class _Search:
    """Assigns a candidate to one variable after the other, and goes back where a constraint does not hold."""

    def __init__(self, constraints: Sequence[Constraint], domains: Domains, max_attempts: int) -> None:
        self._domains: dict[Variable, Sequence[Any]] = {}
        for variable, candidates in domains.items():
            self._domains[variable] = _distinguishable(variable, candidates, constraints)
        self._order = _search_order(constraints, self._domains)
        self._tests: list[list[Constraint]] = [[] for _ in self._order]
        """The constraints to test after each assignment: each is tested as soon as its last variable has a value."""
        positions = {variable: at for at, variable in enumerate(self._order)}
        for constraint in constraints:
            self._tests[max(positions[variable] for variable in constraint.variables)].append(constraint)
        self._values: dict[Variable, Any] = {}
        self._remaining_attempts = max_attempts

    def run(self) -> dict[Variable, Any] | None:
        return self._values if self._assign(0) else None

    def _assign(self, at: int) -> bool:
        """Whether the variables from this position on have values that satisfy the constraints."""
        if at == len(self._order):
            return True
        variable = self._order[at]
        for candidate in self._domains[variable]:
            if not self._remaining_attempts:
                raise ContradictionError("there are too many conditions on one another to find values for all of them")
            self._remaining_attempts -= 1
            self._values[variable] = candidate
            if self._is_consistent(at) and self._assign(at + 1):
                return True
        return False

    def _is_consistent(self, at: int) -> bool:
        values = self._values
        return all(constraint.test(*(values[v] for v in constraint.variables)) for constraint in self._tests[at])


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
    # Candidates with the same truth of all parts are equal to the search: the first stands for them.
    first_by_truth: dict[tuple[bool, ...], Any] = {}
    for candidate in candidates:
        first_by_truth.setdefault(tuple(part.test(candidate) for part in own), candidate)
    return list(first_by_truth.values())


def _search_order(constraints: Sequence[Constraint], domains: Domains) -> list[Variable]:
    """The variables in an order in which a wrong value is noticed early.

    Those with the most constraints come first, and among these the neighbours of others.
    """
    degrees = Counter(variable for constraint in constraints for variable in constraint.variables)
    order: list[Variable] = []
    while len(order) < len(degrees):
        neighbours: set[Variable] = set()
        for constraint in constraints:
            if not set(constraint.variables).isdisjoint(order):
                neighbours.update(constraint.variables)
        remaining = [variable for variable in degrees if variable not in order]
        # Fail first: a variable that has many constraints and few candidates leaves little to try.
        order.append(min(remaining, key=lambda v: (-degrees[v], v not in neighbours, len(domains[v]))))
    return order


def _contradiction(constraints: Sequence[Constraint], domains: Domains) -> str:
    """The smallest group of constraints that contradict each other, as a text."""
    # Most contradictions are between two conditions. Of larger groups the text names all constraints.
    for size in (1, 2):
        for group in combinations(constraints, size):
            if _search(group, domains) is None:
                texts = " and ".join(f"`{constraint.text}`" for constraint in dict.fromkeys(group))
                return f"{texts} contradict each other" if size > 1 else f"no value satisfies {texts}"
    texts = ", ".join(dict.fromkeys(f"`{constraint.text}`" for constraint in constraints))
    return f"{texts} contradict each other"
