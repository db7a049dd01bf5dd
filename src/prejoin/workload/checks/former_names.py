"""Checks of names in the design before: of entities, attributes and members of enums that were renamed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prejoin.workload import codes
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.model import Attribute, Entity

_REMOVE = "write the name that it had in the design before, or remove `renamed from`"


def check_former_names(r: Reporter) -> None:
    entities = r.workload.entities
    for index, message in _clashes("an entity", [(entity.name, entity.renamed_from) for entity in entities]):
        r.say(codes.FORMER_NAME, ("entities", index, "renamed_from"), message, _REMOVE)
    for index, entity in enumerate(entities):
        for number, message in _attribute_clashes(entity):
            r.say(codes.FORMER_NAME, ("entities", index, "attributes", number), message, _REMOVE)


def _attribute_clashes(entity: Entity) -> Iterator[tuple[int, str]]:
    """The numbers of attributes with a wrong former name, each with a message."""
    names = [(attribute.name, attribute.renamed_from) for attribute in entity.attributes]
    yield from _clashes(f"an attribute of `{entity.name}`", names)
    for number, attribute in enumerate(entity.attributes):
        for _, message in _clashes(f"a member of `{entity.name}.{attribute.name}`", _members(attribute)):
            yield number, message


def _members(attribute: Attribute) -> list[tuple[str, str]]:
    former = dict(attribute.renamed_members)
    return [(member, former.get(member, "")) for member in attribute.type.values]


def _clashes(noun: str, names: Iterable[tuple[str, str]]) -> Iterator[tuple[int, str]]:
    """The numbers of names whose former name is in use, or was that of another one, too."""
    names = list(names)
    in_use = {name for name, _ in names}
    name_of_former: dict[str, str] = {}
    for number, (name, former) in enumerate(names):
        if not former:
            continue
        if former == name:
            yield number, f"`{name}` is renamed from its own name"
        elif former in in_use:
            yield number, f"`{name}` is renamed from `{former}`, which is still {noun}"
        elif former in name_of_former:
            yield number, f"`{name}` and `{name_of_former[former]}` are both renamed from `{former}`"
        name_of_former.setdefault(former, name)
