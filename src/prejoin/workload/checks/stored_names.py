"""Checks names that the table as a whole uses: its TTL attribute, and the attributes that decisions name.

All entities share one table, so an attribute of one entity may have a meaning for the items of another. DynamoDB
deletes every item whose TTL attribute is a number in the past, whatever entity it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.model import Attribute, Entity, FixedKey, Naming, OwnTable, Workload
from prejoin.workload.phrases import name_list
from prejoin.workload.read_result import Path


def check_stored_names(r: Reporter) -> None:
    for entities in _tables(r.workload):
        _check_ttl(r, entities)
    _check_decided_names(r)


def _tables(workload: Workload) -> Iterator[list[Entity]]:
    """The entities of each table: those that need one of their own, and the others."""
    separate = [set(d.pin.entities) for d in workload.decisions if isinstance(d.pin, OwnTable)]
    for names in separate:
        yield [entity for entity in workload.entities if entity.name in names]
    yield [entity for entity in workload.entities if not any(entity.name in names for names in separate)]


def _check_ttl(r: Reporter, entities: list[Entity]) -> None:
    owners: dict[str, str] = {}
    for entity in entities:
        for attribute in entity.attributes:
            if attribute.ttl:
                owners.setdefault(attribute.name, entity.name)
    if not owners:
        return
    common_name = ttl_name(entities)
    for entity in entities:
        for attribute in entity.attributes:
            place = _place(r, entity, attribute)
            if attribute.ttl and len(owners) > 1 and attribute.name != common_name:
                message = f"{name_list(sorted(owners))} are TTL attributes, and a table has only one"
                r.say(codes.TABLE_NAME, place, message, f"call it `{common_name}`", attribute.name)
            elif not attribute.ttl and attribute.name in owners:
                owner = owners[attribute.name]
                r.say(codes.TABLE_NAME, place, *plain_ttl(entity, attribute, owner), attribute.name)


def plain_ttl(entity: Entity, attribute: Attribute, owner: str) -> tuple[str, str]:
    """The message and the fix for an attribute that has the name of the TTL attribute, and is not marked `ttl`."""
    name = f"`{entity.name}.{attribute.name}`"
    source = f", because `{owner}.{attribute.name}` is `ttl`" if owner else ""
    fix = f"rename it: `{free_attribute_name(entity, attribute)}`"
    if not attribute.type.numeric:
        return f"{name} is {attribute.type}, and `{attribute.name}` is the TTL attribute of the table{source}", fix
    message = f"DynamoDB would delete items of `{entity.name}` by {name}{source}: a table has one TTL attribute"
    return message, f"{fix}; or mark it `ttl`, if these items expire, too"


def ttl_name(entities: Iterable[Entity]) -> str:
    """The name for the TTL attribute of a table: one that is used for it and for nothing else, if there is any."""
    ttl_names = [a.name for entity in entities for a in entity.attributes if a.ttl]
    other_names = {a.name for entity in entities for a in entity.attributes if not a.ttl}
    candidates = [*ttl_names, "expiresAt", "endsAt", "removeAfter"]
    return next((name for name in candidates if name not in other_names), ttl_names[0] if ttl_names else "")


def free_attribute_name(entity: Entity, attribute: Attribute) -> str:
    """Another name for an attribute: `holdExpiresAt` for `Hold.expiresAt`."""
    words = entity.name[:1].lower() + entity.name[1:] + attribute.name[:1].upper() + attribute.name[1:]
    while entity.attribute(words):
        words += "2"
    return words


def _check_decided_names(r: Reporter) -> None:
    """A key attribute or the type attribute that a decision names like an attribute of an entity."""
    for index, decision in enumerate(r.workload.decisions):
        pin = decision.pin
        if not isinstance(pin, Naming) or not pin.what.is_stored:
            continue
        for entity in r.workload.entities:
            if entity.attribute(pin.name) and not _is_natural_key(r.workload, entity, pin):
                message = f"the {pin.what} is named `{pin.name}`, and so is an attribute of `{entity.name}`"
                fix = "give one of them another name: an item holds one value of that name"
                r.say(codes.TABLE_NAME, ("decisions", index), message, fix, pin.name)
                break


def _is_natural_key(workload: Workload, entity: Entity, naming: Naming) -> bool:
    """Whether a decided key of an entity is the attribute itself, as it is."""
    for decision in workload.decisions:
        pin = decision.pin
        if isinstance(pin, FixedKey) and pin.entity == entity.name and not pin.index:
            text = pin.pk if naming.what == "partition key" else pin.sk
            return naming.what != "type attribute" and text == f"{{{naming.name}}}"
    return False


def _place(r: Reporter, entity: Entity, attribute: Attribute) -> Path:
    return ("entities", r.workload.entities.index(entity), "attributes", entity.attributes.index(attribute))
