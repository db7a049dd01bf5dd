"""Checks tenants: the line names existing parts, and every pattern on a tenant's items is for one tenant."""

from __future__ import annotations

from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter, name_list
from prejoin.workload.lookup import bare_name, suggest
from prejoin.workload.model import FixedKey, Input, Op, Pattern, Tenant
from prejoin.workload.read_result import Path

_LINE: Path = ("context", "tenant")


def check_tenants(r: Reporter) -> None:
    tenant = r.workload.tenant
    if tenant is None:
        return
    names = [e.name for e in r.workload.entities]
    for name in filter(None, (tenant.entity, *tenant.exempt)):
        if name not in names:
            near = suggest(name, names)
            fix = f"did you mean `{near}`?" if near else f"the entities are {name_list(names)}"
            r.say(codes.UNKNOWN_ENTITY, _LINE, f"there is no entity `{name}`", fix, name)
    _check_entity(r, tenant)
    for path, pattern in r.patterns():
        _check_pattern(r, path, pattern, tenant)
    for index, decision in enumerate(r.workload.decisions):
        pin = decision.pin
        owned = isinstance(pin, FixedKey) and pin.entity in r.workload.owned
        if owned and isinstance(pin, FixedKey) and f"{{{tenant.attribute}}}" not in pin.pk:
            message = f"the key `{pin.pk}` does not begin with the tenant, `{tenant.attribute}`"
            r.say(codes.TENANTS, ("decisions", index), message, f"write `TENANT#{{{tenant.attribute}}}#{pin.pk}`")


def _check_entity(r: Reporter, tenant: Tenant) -> None:
    entity = r.workload.tenant_entity
    if entity is None or entity.name in tenant.exempt:
        return
    ids = [a.name for a in entity.id]
    if ids == [tenant.attribute]:
        return
    if len(ids) == 1:
        fix = f"call it `{tenant.attribute}` there too, or write `{ids[0]} → {entity.name}` here"
        message = f"the tenant is `{tenant.attribute}`, and the id of `{entity.name}` is `{ids[0]}`"
    else:
        fix = f"give `{entity.name}` the id `{tenant.attribute}` and no other"
        message = f"the id of `{entity.name}` is not the tenant, `{tenant.attribute}`"
    r.say(codes.TENANTS, _LINE, message, fix)


def _check_pattern(r: Reporter, path: Path, pattern: Pattern, tenant: Tenant) -> None:
    owned = [name for name in pattern.entities if name in r.workload.owned]
    given = [i for i in pattern.inputs if bare_name(i.attribute) == tenant.attribute]
    if not owned or all(map(_is_one, given)):
        return
    r.say(
        codes.TENANTS,
        (*path, "inputs"),
        f"{pattern.id} is not for one tenant, and `{owned[0]}` belongs to tenants",
        f"leave `{tenant.attribute}` out; what is asked across tenants is of an entity that belongs to none: "
        f"`Tenant: {tenant.attribute}, except {owned[0]}`",
        tenant.attribute,
    )


def _is_one(one: Input) -> bool:
    """Whether an input is the caller's own tenant."""
    return one == Input(one.attribute) and one.op is Op.EQ
