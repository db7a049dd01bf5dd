"""Checks tenants: the line names existing parts, and every pattern on a tenant's items is for one tenant."""

from __future__ import annotations

import re

from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.lookup import bare_name, did_you_mean
from prejoin.workload.model import FixedKey, Input, Op, Pattern, Read, Result, Tenant
from prejoin.workload.phrases import name_list
from prejoin.workload.read_result import Path

_LINE: Path = ("context", "tenant")
_WORLDWIDE = re.compile(r"e-?mail|login|user_?name|nick|handle|phone|mobile|slug|domain", re.IGNORECASE)
"""Names of attributes that people expect to be unique everywhere."""


def check_tenants(r: Reporter) -> None:
    tenant = r.workload.tenant
    if tenant is None:
        return
    names = [e.name for e in r.workload.entities]
    for name in filter(None, (tenant.entity, *tenant.exempt)):
        if name not in names:
            _, fix = did_you_mean(name, names, f"the entities are {name_list(names)}")
            r.say(codes.UNKNOWN_ENTITY, _LINE, f"there is no entity `{name}`", fix, name)
    _check_entity(r, tenant)
    for path, pattern in r.patterns():
        _check_pattern(r, path, pattern, tenant)
    _tell_scope(r, tenant)
    for index, decision in enumerate(r.workload.decisions):
        pin = decision.pin
        is_owned_key = isinstance(pin, FixedKey) and pin.entity in r.workload.owned
        if is_owned_key and isinstance(pin, FixedKey) and f"{{{tenant.attribute}}}" not in pin.pk:
            message = f"the key `{pin.pk}` does not begin with the tenant, `{tenant.attribute}`"
            r.say(codes.TENANTS, ("decisions", index), message, f"write `TENANT#{{{tenant.attribute}}}#{pin.pk}`")


def _check_entity(r: Reporter, tenant: Tenant) -> None:
    entity = r.workload.tenant_entity
    if entity is None or entity.name in tenant.exempt:
        return
    ids = entity.id_names
    if ids == (tenant.attribute,):
        return
    if len(ids) == 1:
        fix = f"call it `{tenant.attribute}` there too, or write `{ids[0]} → {entity.name}` here"
        message = f"the tenant is `{tenant.attribute}`, and the id of `{entity.name}` is `{ids[0]}`"
    else:
        fix = f"give `{entity.name}` the id `{tenant.attribute}` and no other"
        message = f"the id of `{entity.name}` is not the tenant, `{tenant.attribute}`"
    r.say(codes.TENANTS, _LINE, message, fix)


def _check_pattern(r: Reporter, path: Path, pattern: Pattern, tenant: Tenant) -> None:
    owned_names = [name for name in pattern.entities if name in r.workload.owned]
    tenant_inputs = [i for i in pattern.inputs if bare_name(i.attribute) == tenant.attribute]
    if not owned_names or all(map(_is_one, tenant_inputs)):
        return
    r.say(
        codes.TENANTS,
        (*path, "inputs"),
        f"{pattern.id} is not for one tenant, and `{owned_names[0]}` belongs to tenants",
        f"leave `{tenant.attribute}` out; what is asked across tenants is of an entity that belongs to none: "
        f"`Tenant: {tenant.attribute}, except {owned_names[0]}`",
        tenant.attribute,
    )


def _is_one(input_: Input) -> bool:
    """Whether an input is the caller's own tenant."""
    return input_ == Input(input_.attribute) and input_.op is Op.EQ


def _tell_scope(r: Reporter, tenant: Tenant) -> None:
    """Say once what is meant within one tenant, where a reader may expect it over all of them."""
    unique = _unique_names(r, tenant)
    lists = [read.id for index, read in enumerate(r.workload.reads) if _reads_all(r, index, read, tenant)]
    if not unique and not lists:
        return
    parts = []
    if unique:
        parts.append(f"{name_list(unique)} {'is' if len(unique) == 1 else 'are'} unique within it")
    if lists:
        parts.append(f"{name_list(lists)} {'reads' if len(lists) == 1 else 'read'} the items of one")
    fix = (
        f"if it is meant over all tenants, use an entity that belongs to none, with its own writes and reads: "
        f"`Tenant: {tenant.attribute}, except Login`"
    )
    r.say(codes.WITHIN_TENANT, _LINE, f"`{tenant.attribute}` is the tenant: {'; '.join(parts)}", fix)


def _unique_names(r: Reporter, tenant: Tenant) -> list[str]:
    """Unique attributes of tenants that look like the name of a person or a place in the whole world."""
    exempt = [e for e in r.workload.entities if e.name not in r.workload.owned]
    identifying_names = {a.name for entity in exempt for a in entity.attributes if a.id or a.unique}
    names = []
    for entity in r.workload.entities:
        for group in entity.unique if entity.name in r.workload.owned else ():
            names_in_group = [name for name in group if name != tenant.attribute]
            if (
                len(names_in_group) == 1
                and _WORLDWIDE.search(names_in_group[0])
                and names_in_group[0] not in identifying_names
            ):
                names.append(f"{entity.name}.{names_in_group[0]}")
    return names


def _reads_all(r: Reporter, index: int, read: Read, tenant: Tenant) -> bool:
    """Whether a read has no inputs but the tenant, which its author has not written."""
    other_inputs = [input_ for input_ in read.inputs if input_.attribute != tenant.attribute and not input_.filter]
    has_owned_entity = any(name in r.workload.owned for name in read.entities)
    if other_inputs or not has_owned_entity or read.result is Result.ONE:
        return False
    cell = r.places.find(("reads", index, "inputs"))
    return cell is None or tenant.attribute not in cell.text
