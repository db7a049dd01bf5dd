"""Checks names and conventions: reserved words, key attributes, type, TTL, and the words of keys."""

from __future__ import annotations

import re
from collections import Counter

from prejoin.constructs.registry import lines_of
from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.report import Report
from prejoin.design.checks.shared_names import check_shared_names
from prejoin.design.model import TABLE
from prejoin.keys import Natural, Template, disjoint
from prejoin.protocol.expressions.reserved import is_reserved
from prejoin.types import Kind
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.checks.stored_names import ttl_name

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
    names = [a.name for e in report.workload.entities for a in e.attributes] + [
        k.name for slot in report.design.slots for k in (*slot.pk, *slot.sk)
    ]
    reserved_names = sorted({name for name in names if is_reserved(name)})
    if reserved_names:
        clause = "are reserved words" if len(reserved_names) > 1 else "is a reserved word"
        fix = "use a placeholder in expressions, `#name`; the client does"
        report.say(codes.RESERVED, f"{name_list(reserved_names, 12)} {clause}", fix)


def _check_key_names(report: Report) -> None:
    odd_names = {
        attribute.name: slot.name
        for slot in report.design.slots
        for attribute in (*slot.pk, *slot.sk)
        if not _PLAIN.fullmatch(attribute.name)
    }
    if odd_names:
        message = f"{name_list(sorted(odd_names))} cannot stand in an expression"
        report.say(codes.KEY_NAME, message, "use letters, digits and `_`", *list(odd_names.values())[:1])
    for key in report.keys:
        attributes = (*key.place.pk, *key.place.sk)
        for attribute, text in zip(attributes, (*key.facet.pk, *key.facet.sk), strict=True):
            attribute_of_entity = key.entity.attribute(attribute.name)
            if (
                attribute_of_entity
                and attribute_of_entity.type.values != (text,)
                and not text.startswith(f"{{{attribute.name}}}"[:-1])
            ):
                report.say(
                    codes.TAKEN_NAME,
                    f"{key.name}: `{attribute.name}` would hold both the key `{text}` and the attribute",
                    "rename the key attribute",
                    key.item.entity,
                    key.slot,
                )


def _check_index_names(report: Report) -> None:
    for slot in report.design.indexes:
        entities = dict.fromkeys(key.entity.name for key in report.keys if key.slot == slot.name)
        entities_of_index = [e for name in entities if (e := report.workload.entity(name))]
        attribute_names = [
            attribute.name
            for entity in entities_of_index
            for attribute in entity.attributes
            if _is_named_after(attribute.name, slot.name)
            and not all(other.attribute(attribute.name) for other in entities_of_index)
        ]
        if len(entities_of_index) > 1 and attribute_names:
            entity_names = name_list([entity.name for entity in entities_of_index])
            message = f"{slot.name} is named after `{attribute_names[0]}`, and {entity_names} are in it"
            report.say(codes.INDEX_NAME, message, "call it by a number, `gsi1`", slot.name, slot.name)


def _is_named_after(attribute: str, index: str) -> bool:
    """Whether an index is named after an attribute."""
    words = re.split(r"[^a-z0-9]+", index.lower())
    return attribute.lower() in words or f"by{attribute.lower()}" in words


def _check_ttl(report: Report) -> None:
    """The TTL attribute of the table, and those of entities: DynamoDB has one name for all of them."""
    entities = report.workload.entities
    ttl_attributes = [
        (entity.name, attribute) for entity in entities for attribute in entity.attributes if attribute.ttl
    ]
    table_name = report.design.ttl_attribute
    if not ttl_attributes:
        is_used = any(line.ends for entity in entities for line in lines_of(entity))
        if table_name and not is_used and not any(entity.attribute(table_name) for entity in entities):
            report.say(codes.TTL, f"no entity has the TTL attribute `{table_name}`", "name one that they have")
        return
    names = sorted({attribute.name for _, attribute in ttl_attributes})
    if len(names) > 1:
        # A name that another entity has for something else would let DynamoDB delete the items of that entity.
        fix = f"call all of them `{ttl_name(entities)}`"
        report.say(codes.TTL, f"{name_list(names)} are TTL attributes, and a table has only one", fix)
    elif table_name != names[0]:
        table_text = f"`{table_name}`" if table_name else "not set"
        message = f"`{names[0]}` is a TTL attribute, and the table's is {table_text}"
        report.say(codes.TTL, message, f"make `{names[0]}` the TTL attribute of the table")
    for entity_name, attribute in ttl_attributes:
        if not attribute.type.numeric and attribute.type.kind is not Kind.DATETIME:
            report.say(
                codes.TTL,
                f"{entity_name}.{attribute.name} is a {attribute.type}, and a TTL is a number of seconds",
                "declare it as `integer` or `datetime`, stored as seconds since 1970",
                entity_name,
            )


def _check_type(report: Report) -> None:
    """The type attribute: an unused name, with another value for each item."""
    name = report.design.type_attribute
    if not name:
        entity_count = len({item.entity for item in report.design.items})
        number = "one type" if entity_count == 1 else f"{entity_count} types"
        report.say(codes.NO_TYPE, f"{number} of items, and no type attribute", "add an attribute `entityType`")
        return
    key_attributes = {attribute.name for slot in report.design.slots for attribute in (*slot.pk, *slot.sk)}
    owners = [entity.name for entity in report.workload.entities if entity.attribute(name)]
    if owners or name in key_attributes:
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
    words = {
        word
        for key in report.keys
        for text in (*key.facet.pk, *key.facet.sk)
        for word in re.findall(r"[A-Za-z_]+", re.sub(r"\{[^{}]*\}", " ", text))
    }
    spellings: dict[str, set[str]] = {}
    for word in words:
        spellings.setdefault(word.lower(), set()).add(word)
    differing_words = sorted(
        {word for words_of_spelling in spellings.values() if len(words_of_spelling) > 1 for word in words_of_spelling}
    )
    if differing_words:
        report.say(codes.WORDS, f"{name_list(differing_words)} differ only in case", "choose one way to write them")


def _check_own_word(report: Report, key: BoundKey) -> None:
    """A key without a literal word, in a partition shared with others."""
    has_word = any(isinstance(form, Template) and re.search(r"[A-Za-z]", _literal_text(form)) for form in key.forms)
    if has_word or key.slot != TABLE:
        return
    neighbours = [
        neighbour.name
        for neighbour in report.keys
        if neighbour.slot == key.slot and neighbour is not key and neighbour.item.entity != key.item.entity
        if not disjoint(neighbour.form.pk, key.form.pk)
    ]
    if neighbours:
        neighbour_names = name_list(sorted(set(neighbours)))
        report.say(
            codes.NO_WORD,
            f"{key.name}: `{key.text}` has no literal word, and shares partitions with {neighbour_names}",
            f"begin the sort key with a word, `{key.item.entity.upper()}{report.design.separator}`",
            key.item.entity,
            key.slot,
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
    by_parent = []
    for id_, key_answer in report.answers.items():
        ask = key_answer.plan.lookup
        if key_answer.plan.slot == TABLE or len(ask.entities) != 1:
            continue
        entity = report.workload.entity(ask.entities[0])
        attributes = [entity.attribute(ask.attribute(entity.name, name)) for name in ask.given] if entity else []
        if any(attribute is not None and attribute.references and not attribute.id for attribute in attributes):
            by_parent.append(id_)
    if by_parent:
        report.say(
            codes.NOTHING_TOGETHER,
            f"each entity has its own partitions, and {name_list(sorted(by_parent))} finds children by an index",
            "put children into the partition of their parent",
        )
