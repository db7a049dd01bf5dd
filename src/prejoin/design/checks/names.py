"""Checks names and conventions: reserved words, key attributes, type, TTL, and the words of keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from prejoin.constructs.registry import lines_of
from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.report import Report
from prejoin.design.checks.shared_names import check_shared_names
from prejoin.design.model import TABLE, Slot
from prejoin.keys import Natural, Plan, Template, disjoint
from prejoin.protocol.expressions.reserved import is_reserved
from prejoin.types import Kind
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.checks.stored_names import ttl_name
from prejoin.workload.model import Attribute, Entity

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_names(report: Report) -> None:
    _check_reserved(report)
    _check_key_names(report)
    check_shared_names(report)
    _check_index_names(report)
    _check_ttl(report)
    _check_type(report)
    _check_words(report)
    _check_collections(report)


def _check_reserved(report: Report) -> None:
    names: set[str] = set()
    for entity in report.workload.entities:
        names.update(entity.types)
    for slot in report.design.slots:
        names.update(slot.key_names)
    reserved_names = sorted(filter(is_reserved, names))
    if reserved_names:
        clause = "are reserved words" if len(reserved_names) > 1 else "is a reserved word"
        fix = "use a placeholder in expressions, `#name`; the client does"
        report.say(codes.RESERVED, f"{name_list(reserved_names, 12)} {clause}", fix)


def _check_key_names(report: Report) -> None:
    odd_names: dict[str, str] = {}
    for slot in report.design.slots:
        odd_names.update((name, slot.name) for name in slot.key_names if not _PLAIN.fullmatch(name))
    if odd_names:
        message = f"{name_list(sorted(odd_names))} cannot stand in an expression"
        report.say(codes.KEY_NAME, message, "use letters, digits and `_`", *list(odd_names.values())[:1])
    for key in report.keys:
        for name, text in zip(key.place.key_names, key.facet.templates, strict=True):
            if _is_taken(key.entity, name, text):
                report.say_of_key(
                    key,
                    codes.TAKEN_NAME,
                    f"`{name}` would hold both the key `{text}` and the attribute",
                    "rename the key attribute",
                )


def _is_taken(entity: Entity, name: str, text: str) -> bool:
    """Whether an entity has an attribute with the name of a key attribute, and its key has another value."""
    attribute = entity.attribute(name)
    # `{name}` and `{name:…}` are the attribute itself, as is the only value of an enum.
    return attribute is not None and attribute.type.values != (text,) and not text.startswith(f"{{{name}")


def _check_index_names(report: Report) -> None:
    for slot in report.design.indexes:
        names = dict.fromkeys(key.entity.name for key in report.keys if key.slot == slot.name)
        entities = [entity for entity in map(report.workload.entity, names) if entity]
        namesakes = list(_namesakes(slot, entities))
        if len(entities) > 1 and namesakes:
            entity_names = name_list([entity.name for entity in entities])
            message = f"{slot.name} is named after `{namesakes[0]}`, and {entity_names} are in it"
            report.say(codes.INDEX_NAME, message, "call it by a number, `gsi1`", slot.name, slot.name)


def _namesakes(slot: Slot, entities: Sequence[Entity]) -> Iterator[str]:
    """The attributes after which an index is named, and that not all entities in it have."""
    for entity in entities:
        for name in entity.types:
            if _is_named_after(name, slot.name) and not all(other.attribute(name) for other in entities):
                yield name


def _is_named_after(attribute: str, index: str) -> bool:
    """Whether an index is named after an attribute."""
    words = re.split(r"[^a-z0-9]+", index.lower())
    return attribute.lower() in words or f"by{attribute.lower()}" in words


def _check_ttl(report: Report) -> None:
    """The TTL attribute of the table, and those of entities: DynamoDB has one name for all of them."""
    entities = report.workload.entities
    names = sorted({attribute.name for entity in entities for attribute in entity.attributes if attribute.ttl})
    table_name = report.design.ttl_attribute
    if not names:
        if table_name and not _is_ttl_used(report, table_name):
            report.say(codes.TTL, f"no entity has the TTL attribute `{table_name}`", "name one that they have")
        return
    if len(names) > 1:
        # A name that another entity has for something else would let DynamoDB delete the items of that entity.
        fix = f"call all of them `{ttl_name(entities)}`"
        report.say(codes.TTL, f"{name_list(names)} are TTL attributes, and a table has only one", fix)
    elif table_name != names[0]:
        table_text = f"`{table_name}`" if table_name else "not set"
        message = f"`{names[0]}` is a TTL attribute, and the table's is {table_text}"
        report.say(codes.TTL, message, f"make `{names[0]}` the TTL attribute of the table")
    for entity in entities:
        for attribute in entity.attributes:
            _check_ttl_type(report, entity, attribute)


def _is_ttl_used(report: Report, name: str) -> bool:
    """Whether an entity has the TTL attribute of the table, or a construct whose items expire."""
    for entity in report.workload.entities:
        if entity.attribute(name) or any(line.ends for line in lines_of(entity)):
            return True
    return False


def _check_ttl_type(report: Report, entity: Entity, attribute: Attribute) -> None:
    if attribute.ttl and not attribute.type.numeric and attribute.type.kind is not Kind.DATETIME:
        report.say(
            codes.TTL,
            f"{entity.name}.{attribute.name} is a {attribute.type}, and a TTL is a number of seconds",
            "declare it as `integer` or `datetime`, stored as seconds since 1970",
            entity.name,
        )


def _check_type(report: Report) -> None:
    """The type attribute: an unused name, with another value for each item."""
    name = report.design.type_attribute
    if not name.strip("-–—"):  # a dash stands for none
        entity_count = len({item.entity for item in report.design.items})
        number = "one type" if entity_count == 1 else f"{entity_count} types"
        report.say(codes.NO_TYPE, f"{number} of items, and no type attribute", "add an attribute `entityType`")
        return
    is_key = any(name in slot.key_names for slot in report.design.slots)
    owners = [entity.name for entity in report.workload.entities if entity.attribute(name)]
    if owners or is_key:
        owner_text = f"an attribute of {name_list(owners)}" if owners else "a key attribute"
        message = f"the type attribute `{name}` is {owner_text} already"
        report.say(codes.NO_TYPE, message, "give it an unused name")
    times_by_tag = Counter(item.tag for item in report.design.items)
    repeated_tags = sorted(tag for tag, times in times_by_tag.items() if times > 1)
    if repeated_tags:
        report.say(codes.NO_TYPE, f"{name_list(repeated_tags)} is the type of two items", "give each its own")


def _check_words(report: Report) -> None:
    if len(report.keys) > 1:
        for key in report.keys:
            _check_own_word(report, key)
    words: set[str] = set()
    for key in report.keys:
        words.update(re.findall(r"[A-Za-z_]+", re.sub(r"\{[^{}]*\}", " ", key.text)))
    times_by_word = Counter(map(str.lower, words))
    differing_words = sorted(word for word in words if times_by_word[word.lower()] > 1)
    if differing_words:
        report.say(codes.WORDS, f"{name_list(differing_words)} differ only in case", "choose one way to write them")


def _check_own_word(report: Report, key: BoundKey) -> None:
    """A key without a literal word, in a partition shared with others."""
    has_word = any(isinstance(form, Template) and re.search(r"[A-Za-z]", _literal_text(form)) for form in key.forms)
    if has_word or key.slot != TABLE:
        return
    table_keys = [other for other in report.keys if other.slot == key.slot and other.item.entity != key.item.entity]
    neighbours = {other.name for other in table_keys if not disjoint(other.form.pk, key.form.pk)}
    if neighbours:
        report.say_of_key(
            key,
            codes.NO_WORD,
            f"`{key.text}` has no literal word, and shares partitions with {name_list(sorted(neighbours))}",
            f"begin the sort key with a word, `{key.item.entity.upper()}{report.design.separator}`",
        )


def _literal_text(form: Template | Natural) -> str:
    return re.sub(r"\{[^{}]*\}", "", form.text) if isinstance(form, Template) else ""


def _check_collections(report: Report) -> None:
    """Entities that refer to each other but have separate partitions, with the children in an index."""
    partitions: dict[tuple[str, str], set[str]] = {}
    for key in report.keys:
        partitions.setdefault((key.slot, re.sub(r"\{[^{}]*\}", "{}", key.facet.pk[0])), set()).add(key.item.entity)
    if len(report.workload.entities) < 2 or any(len(entities) > 1 for entities in partitions.values()):
        return
    by_parent = [id_ for id_, key_answer in report.answers.items() if _finds_children(report, key_answer.plan)]
    if by_parent:
        report.say(
            codes.NOTHING_TOGETHER,
            f"each entity has its own partitions, and {name_list(sorted(by_parent))} finds children by an index",
            "put children into the partition of their parent",
        )


def _finds_children(report: Report, plan: Plan) -> bool:
    """Whether a read finds items of one entity in an index, by a reference to another."""
    ask = plan.lookup
    entity = report.workload.entity(ask.entities[0])
    if entity is None or plan.slot == TABLE or len(ask.entities) != 1:
        return False
    for name in ask.given:
        attribute = entity.attribute(ask.attribute(entity.name, name))
        if attribute is not None and attribute.references and not attribute.id:
            return True
    return False
