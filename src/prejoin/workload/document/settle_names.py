"""Replaces names in running text by exact entity names: `~100 per user`, `orders live under their user`.

Only if exactly one entity has that name in another case or number. Tables must use exact names.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from prejoin.workload.model import (
    Accept,
    AtMost,
    ContentPlace,
    Context,
    CounterShards,
    Decision,
    Entity,
    FixedKey,
    IndexKeys,
    Minimise,
    Naming,
    OutOfScope,
    OwnTable,
    Relationship,
    Spread,
    Under,
    Unproven,
    Without,
    Workload,
)


def settle(workload: Workload) -> Workload:
    """The workload with exact names in cardinalities, relationships and pins."""
    names = _Exact(workload)
    return replace(
        workload,
        context=_context(workload.context, names),
        entities=tuple(_entity(e, names) for e in workload.entities),
        decisions=tuple(_decision(d, names) for d in workload.decisions),
    )


class _Exact:
    def __init__(self, workload: Workload) -> None:
        self._exact = {e.name for e in workload.entities}
        self._forms: dict[str, set[str]] = {}
        for name in self._exact:
            low = name.lower()
            plural = (
                low[:-1] + "ies"
                if low.endswith("y")
                else low + "es"
                if low.endswith(("s", "x", "ch", "sh"))
                else low + "s"
            )
            for form in (low, plural):
                self._forms.setdefault(form, set()).add(name)

    def __call__(self, name: str) -> str:
        if name in self._exact:
            return name
        spellings = self._forms.get(name.lower(), set())
        return next(iter(spellings)) if len(spellings) == 1 else name


def _context(context: Context | None, exact: _Exact) -> Context | None:
    if context is None or context.tenant is None:
        return context
    tenant = context.tenant
    exempt = tuple(map(exact, tenant.exempt))
    return replace(context, tenant=replace(tenant, entity=exact(tenant.entity), exempt=exempt))


def _entity(entity: Entity, exact: _Exact) -> Entity:
    return replace(
        entity,
        cardinality=tuple(replace(c, per=exact(c.per)) for c in entity.cardinality),
        relationships=tuple(_relationship(r, exact) for r in entity.relationships),
    )


def _relationship(r: Relationship, exact: _Exact) -> Relationship:
    return replace(r, left=exact(r.left), right=exact(r.right))


def _decision(decision: Decision, exact: _Exact) -> Decision:
    match decision.pin:
        case Under() as pin:
            return replace(decision, pin=replace(pin, entity=exact(pin.entity), parent=exact(pin.parent)))
        case Without() | Spread() | CounterShards() | ContentPlace() | FixedKey() as pin:
            return replace(decision, pin=replace(pin, entity=exact(pin.entity)))
        case AtMost() | Minimise() | IndexKeys() | Accept() | OutOfScope() | Unproven() | Naming() | OwnTable() | None:
            return decision
        case _:
            assert_never(decision.pin)
