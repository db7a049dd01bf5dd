"""Checks attributes of entities against the attributes that the table declares for all of its items.

DynamoDB declares one type for each key attribute, of the table and of its indexes, and refuses an item whose attribute
of that name has another type. An item that has all key attributes of an index is in it, whatever entity it belongs to.
It deletes items by the TTL attribute, whatever entity they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.design import codes
from prejoin.design.checks.report import At, Report
from prejoin.design.model import Design, KeyAttribute, Slot
from prejoin.diagnostics import Diagnostic
from prejoin.types import Kind
from prejoin.workload.checks.stored_names import free_attribute_name, plain_ttl
from prejoin.workload.model import Attribute, Entity, Workload

_NUMBERS = frozenset({Kind.NUMBER, Kind.INTEGER, Kind.DECIMAL})
_WORDS = {"S": "text", "N": "a number", "B": "binary"}


def check_shared_names(report: Report) -> None:
    _check_declared_types(report)
    for entity in report.workload.entities:
        for attribute in entity.attributes:
            _check_ttl_name(report, entity, attribute)
            for slot, key in _keys_of_that_name(report.design, attribute):
                _check_key_name(report, entity, attribute, slot, key)


def taken_names(design: Design, workload: Workload, at: At) -> tuple[Diagnostic, ...]:
    """The attributes of a document whose names a table in use has for something else, as errors of the document."""
    report = Report(design, workload, at)
    check_shared_names(report)
    for entity in workload.entities:
        for attribute in entity.attributes:
            name = f"{entity.name}.{attribute.name}"
            fix = f"rename the attribute: `{free_attribute_name(entity, attribute)}`"
            if attribute.name == design.type_attribute:
                message = f"`{name}` has the name of the type attribute of the table"
                report.say(codes.NO_TYPE, message, fix, name)
            for slot, key in _keys_of_that_name(design, attribute):
                if not _natural_type(report, slot, key) and _has_key(design, entity, slot):
                    message = f"`{name}` has the name of a key attribute of {slot.name}"
                    report.say(codes.TAKEN_NAME, message, fix, name)
    return tuple(report.diagnostics)


def _check_declared_types(report: Report) -> None:
    """The types of key attributes, with which the infrastructure makes the table: a template writes text."""
    for slot in report.design.slots:
        for key in slot.key_attributes:
            stored_type = _natural_type(report, slot, key) or "S"
            is_used = any(item.facet(slot.name) for item in report.design.items)
            if is_used and key.type in _WORDS and key.type != stored_type:
                words = f"declared as {_WORDS[key.type]}, and its items have {_WORDS[stored_type]}"
                message = f"`{key.name}` of {slot.name} is {words}"
                report.say(codes.NOT_A_DESIGN, message, f"declare it as `{key.name}` ({stored_type})", slot.name)


def _check_ttl_name(report: Report, entity: Entity, attribute: Attribute) -> None:
    if attribute.ttl or attribute.name != report.design.ttl_attribute:
        return
    owners = [other.name for other in report.workload.entities if any(a.ttl for a in other.attributes)]
    message, fix = plain_ttl(entity, attribute, owners[0] if owners else "")
    report.say(codes.TTL, message, fix, f"{entity.name}.{attribute.name}")


def _check_key_name(report: Report, entity: Entity, attribute: Attribute, slot: Slot, key: KeyAttribute) -> None:
    """An attribute with the name of a key attribute, of an entity that has no such key, or with another type."""
    natural = _natural_type(report, slot, key)
    if not natural and _has_key(report.design, entity, slot):
        return  # PJ595 of the key itself
    name = f"{entity.name}.{attribute.name}"
    fix = f"rename the attribute: `{free_attribute_name(entity, attribute)}`"
    stored_type, key_type = _stored_type(attribute), natural or key.type
    if stored_type != key_type:
        words = _WORDS.get(stored_type, str(attribute.type))
        message = f"`{name}` is {words}, and the key attribute `{key.name}` of {slot.name} is {_WORDS[key_type]}"
        report.say(codes.TAKEN_NAME, f"{message}: DynamoDB refuses the item", fix, name, slot.name)
    elif not natural:
        message = f"`{name}` has the name of a key attribute of {slot.name}, so its items would be in that index"
        report.say(codes.TAKEN_NAME, message, fix, name, slot.name)


def _keys_of_that_name(design: Design, attribute: Attribute) -> Iterator[tuple[Slot, KeyAttribute]]:
    for slot in design.slots:
        for key in slot.key_attributes:
            if key.name == attribute.name:
                yield slot, key


def _has_key(design: Design, entity: Entity, slot: Slot) -> bool:
    item = design.item(entity.name)
    return item is not None and item.facet(slot.name) is not None


def _natural_type(report: Report, slot: Slot, key: KeyAttribute) -> str:
    """The stored type of a key attribute that is an attribute of an entity as it is; empty if it holds texts."""
    for item in report.design.items:
        entity = report.workload.entity(item.entity)
        if entity is None:
            continue
        for facet in item.facets:
            if facet.slot == slot.name and f"{{{key.name}}}" in facet.templates:
                attribute = entity.attribute(key.name)
                return _stored_type(attribute) if attribute else key.type
    return ""


def _stored_type(attribute: Attribute) -> str:
    """The type of an attribute's value in DynamoDB, as far as keys have it; empty for others."""
    kind = attribute.type.kind
    if kind in _NUMBERS or attribute.ttl:
        return "N"
    if kind is Kind.BINARY:
        return "B"
    return "S" if attribute.type.scalar and kind is not Kind.BOOLEAN else ""
