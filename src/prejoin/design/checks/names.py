"""Checks names and conventions: reserved words, key attributes, type, TTL, and the words of keys."""

from __future__ import annotations

import re

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


def check_names(r: Report) -> None:
    _reserved(r)
    _key_names(r)
    check_shared_names(r)
    _index_names(r)
    _ttl(r)
    _type(r)
    _words(r)
    _together(r)


def _reserved(r: Report) -> None:
    names = [a.name for e in r.workload.entities for a in e.attributes] + [
        k.name for slot in r.design.slots for k in (*slot.pk, *slot.sk)
    ]
    found = sorted({name for name in names if is_reserved(name)})
    if found:
        what = "are reserved words" if len(found) > 1 else "is a reserved word"
        fix = "use a placeholder in expressions, `#name`; the client does"
        r.say(codes.RESERVED, f"{name_list(found, 12)} {what}", fix)


def _key_names(r: Report) -> None:
    odd = {k.name: slot.name for slot in r.design.slots for k in (*slot.pk, *slot.sk) if not _PLAIN.fullmatch(k.name)}
    if odd:
        message = f"{name_list(sorted(odd))} cannot stand in an expression"
        r.say(codes.KEY_NAME, message, "use letters, digits and `_`", *list(odd.values())[:1])
    for key in r.keys:
        attributes = (*key.place.pk, *key.place.sk)
        for attribute, text in zip(attributes, (*key.facet.pk, *key.facet.sk), strict=True):
            own = key.entity.attribute(attribute.name)
            if own and own.type.values != (text,) and not text.startswith(f"{{{attribute.name}}}"[:-1]):
                r.say(
                    codes.TAKEN_NAME,
                    f"{key.name}: `{attribute.name}` would hold both the key `{text}` and the attribute",
                    "rename the key attribute",
                    key.item.entity,
                    key.slot,
                )


def _index_names(r: Report) -> None:
    for slot in r.design.indexes:
        entities = dict.fromkeys(key.entity.name for key in r.keys if key.slot == slot.name)
        found = [e for name in entities if (e := r.workload.entity(name))]
        named = [
            attribute.name
            for entity in found
            for attribute in entity.attributes
            if _alike(attribute.name, slot.name) and not all(other.attribute(attribute.name) for other in found)
        ]
        if len(found) > 1 and named:
            message = f"{slot.name} is named after `{named[0]}`, and {name_list([e.name for e in found])} are in it"
            r.say(codes.INDEX_NAME, message, "call it by a number, `gsi1`", slot.name, slot.name)


def _alike(attribute: str, index: str) -> bool:
    """Whether an index is named after an attribute."""
    words = re.split(r"[^a-z0-9]+", index.lower())
    return attribute.lower() in words or f"by{attribute.lower()}" in words


def _ttl(r: Report) -> None:
    found = [(e.name, a) for e in r.workload.entities for a in e.attributes if a.ttl]
    name = r.design.ttl_attribute
    if not found:
        versions_end = any(e.history and e.history.seconds is not None for e in r.workload.entities)
        if name and not versions_end and not any(e.attribute(name) for e in r.workload.entities):
            r.say(codes.TTL, f"no entity has the TTL attribute `{name}`", "name one that they have")
        return
    names = sorted({a.name for _, a in found})
    if len(names) > 1:
        # A name that another entity has for something else would let DynamoDB delete the items of that entity.
        fix = f"call all of them `{ttl_name(r.workload.entities)}`"
        r.say(codes.TTL, f"{name_list(names)} are TTL attributes, and a table has only one", fix)
    elif name != names[0]:
        message = f"`{names[0]}` is a TTL attribute, and the table's is {f'`{name}`' if name else 'not set'}"
        r.say(codes.TTL, message, f"make `{names[0]}` the TTL attribute of the table")
    for entity, attribute in found:
        if not attribute.type.numeric and attribute.type.kind is not Kind.DATETIME:
            r.say(
                codes.TTL,
                f"{entity}.{attribute.name} is a {attribute.type}, and a TTL is a number of seconds",
                "declare it as `integer` or `datetime`, stored as seconds since 1970",
                entity,
            )


def _type(r: Report) -> None:
    name = r.design.type_attribute
    kinds = {item.entity for item in r.design.items}
    physical = {k.name for slot in r.design.slots for k in (*slot.pk, *slot.sk)}
    having = [e.name for e in r.workload.entities if e.attribute(name)] if name else []
    if not name and len(kinds) > 1:
        r.say(codes.NO_TYPE, f"{len(kinds)} types of items, and no type attribute", "add an attribute `entityType`")
    elif name in physical or having:
        whose = f"an attribute of {name_list(having)}" if having else "a key attribute"
        r.say(codes.NO_TYPE, f"the type attribute `{name}` is {whose} already", "give it an unused name")
    tags = [item.tag for item in r.design.items]
    twice = sorted({tag for tag in tags if tags.count(tag) > 1})
    if twice and name:
        r.say(codes.NO_TYPE, f"{name_list(twice)} is the type of two items", "give each its own")


def _words(r: Report) -> None:
    if len(r.keys) > 1:
        for key in r.keys:
            _says(r, key)
    words = {
        word
        for key in r.keys
        for text in (*key.facet.pk, *key.facet.sk)
        for word in re.findall(r"[A-Za-z_]+", re.sub(r"\{[^{}]*\}", " ", text))
    }
    folded: dict[str, set[str]] = {}
    for word in words:
        folded.setdefault(word.lower(), set()).add(word)
    differing = sorted({one for same in folded.values() if len(same) > 1 for one in same})
    if differing:
        r.say(codes.WORDS, f"{name_list(differing)} differ only in case", "choose one way to write them")


def _says(r: Report, key: BoundKey) -> None:
    """A key without a literal word, in a partition shared with others."""
    worded = any(isinstance(form, Template) and re.search(r"[A-Za-z]", _literals(form)) for form in key.forms)
    if worded or key.slot != TABLE:
        return
    others = [
        one.name
        for one in r.keys
        if one.slot == key.slot and one is not key and one.item.entity != key.item.entity
        if not disjoint(one.form.pk, key.form.pk)
    ]
    if others:
        shared = name_list(sorted(set(others)))
        r.say(
            codes.NO_WORD,
            f"{key.name}: `{key.text}` has no literal word, and shares partitions with {shared}",
            f"begin the sort key with a word, `{key.item.entity.upper()}{r.design.separator}`",
            key.item.entity,
            key.slot,
        )


def _literals(form: Template | Natural) -> str:
    return re.sub(r"\{[^{}]*\}", "", form.text) if isinstance(form, Template) else ""


def _together(r: Report) -> None:
    """Entities that refer to each other but have separate partitions, with the children in an index."""
    partitions: dict[tuple[str, str], set[str]] = {}
    for key in r.keys:
        partitions.setdefault((key.slot, re.sub(r"\{[^{}]*\}", "{}", key.facet.pk[0])), set()).add(key.item.entity)
    if len(r.workload.entities) < 2 or any(len(entities) > 1 for entities in partitions.values()):
        return
    by_parent = []
    for id_, found in r.answers.items():
        ask = found.plan.lookup
        if found.plan.slot == TABLE or len(ask.entities) != 1:
            continue
        entity = r.workload.entity(ask.entities[0])
        given = [entity.attribute(ask.attribute(entity.name, name)) for name in ask.given] if entity else []
        if any(a is not None and a.references and not a.id for a in given):
            by_parent.append(id_)
    if by_parent:
        r.say(
            codes.NOTHING_TOGETHER,
            f"each entity has its own partitions, and {name_list(sorted(by_parent))} finds children by an index",
            "put children into the partition of their parent",
        )
