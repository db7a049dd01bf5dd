"""The pictures as Mermaid, which repository hosts draw: less exact, and editable."""

from __future__ import annotations

import re

from prejoin.design.model import TABLE, Design, Slot
from prejoin.render.pictures.links import RelationLink, links_of
from prejoin.render.pictures.rows import facets_in, pattern_rows
from prejoin.workload.model import Attribute, Read, Workload

_MOST_TEXT = 200
_CODES = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\\": "#92;", "%": "#37;"}
)
"""Mermaid has entity codes of its own, with `#`. A backslash or a percent sign would begin an escape or a comment."""


def mermaid_relations(workload: Workload) -> str:
    """Entities with their attributes and relations.

    >>> from prejoin.workload.model import Entity
    >>> user = Entity("User", attributes=(Attribute("userId", id=True), Attribute("email", unique=True)))
    >>> print(mermaid_relations(Workload(entities=(user,))))
    erDiagram
        e1["User"] {
            string userId PK
            string email UK
        }
    """
    names = {entity.name: f"e{at}" for at, entity in enumerate(workload.entities, 1)}
    lines = ["erDiagram"]
    for entity in workload.entities:
        lines.append(f"    {names[entity.name]}[{_quote_label(entity.name)}] {{")
        lines += [f"        {_attribute(attribute)}" for attribute in entity.attributes]
        lines.append("    }")
    for link in links_of(workload):
        label = _quote_label(", ".join(link.via) or "has")
        lines.append(f"    {names[link.parent]} {_joint(link)} {names[link.child]} : {label}")
    return "\n".join(lines)


def _attribute(attribute: Attribute) -> str:
    roles = (("PK", attribute.id), ("FK", attribute.references), ("UK", attribute.unique))
    marks = [mark for mark, is_set in roles if is_set]
    kind = "enum" if attribute.type.values else str(attribute.type)
    note = f" {_quote_label(attribute.name)}" if _word(attribute.name) != attribute.name else ""
    marks_text = f" {', '.join(marks)}" if marks else ""
    return f"{_word(kind)} {_word(attribute.name)}{marks_text}{note}"


def _joint(link: RelationLink) -> str:
    left_joint = "}o" if link.mutual else "||"
    if link.optional and not link.mutual:
        left_joint = "|o"
    return f"{left_joint}--{'o{' if link.many else 'o|'}"


def _word(text: str) -> str:
    """A valid name of an attribute, with the original as comment if it is different.

    >>> _word("set of string"), _word("1st"), _word("größe")
    ('set_of_string', '_1st', 'größe')
    """
    word = re.sub(r"[^A-Za-z0-9_\-\u00c0-\u024f]", "_", text) or "_"
    return word if re.match(r"[A-Za-z_\u00c0-\u024f]", word) else f"_{word}"


def mermaid_slot(workload: Workload, design: Design, slot: Slot) -> str:
    """Item collections: each partition key with its items, in the order of their sort keys.

    Items that patterns keep, such as guards and shards, are rounded.
    """
    lines = ["flowchart LR"]
    partitions: dict[tuple[str, ...], list[tuple[tuple[str, ...], str, bool]]] = {}
    for item, facet in facets_in(design, slot):
        title = f"{item.entity} ({item.copy})" if item.copy else item.entity
        partitions.setdefault(facet.pk, []).append((facet.sk, title, False))
    for row in pattern_rows(workload, design, slot):
        partitions.setdefault(row.pk_templates, []).append((row.sk_templates, f"{row.entity}, {row.note}", True))
    for at, (pk, items) in enumerate(sorted(partitions.items()), 1):
        lines.append(f"    p{at}[({_quote_label(' , '.join(pk))})]")
        for number, (sk, title, is_rounded) in enumerate(sorted(items), 1):
            text = _quote_label(f"{title}: {' , '.join(sk)}" if sk else title)
            shape = f"({text})" if is_rounded else f"[{text}]"
            lines.append(f"    p{at} --> p{at}i{number}{shape}")
    return "\n".join(lines)


def mermaid_routes(workload: Workload, design: Design) -> str:
    """Access patterns, each with an arrow to where it reads or writes."""
    slots = {slot.name: f"s{at}" for at, slot in enumerate(design.slots)}
    lines = ["flowchart LR"]
    reads: list[str] = []
    for at, pattern in enumerate(workload.patterns, 1):
        if isinstance(pattern, Read):
            reads.append(f"a{at}")
        text = f"{pattern.id}: {pattern.description or pattern.name}"
        lines.append(f"    a{at}[{_quote_label(text)}]")
        operation = design.operation(pattern.id)
        if operation is None:
            continue
        arrows = dict.fromkeys((request.slot, request.call) for request in operation.requests)
        for slot_name, call in arrows:
            if slot_name in slots:
                lines.append(f"    a{at} -- {call.value} --> {slots[slot_name]}")
        if not operation.served:
            lines.append(f"    a{at} -. not served .-> x{at}[{_quote_label(operation.problem)}]")
    for slot in design.slots:
        name = design.table if slot.name == TABLE else slot.name
        lines.append(f"    {slots[slot.name]}[({_quote_label(name)})]")
    if reads:
        lines += ["    classDef read stroke-width:2px", f"    class {','.join(reads)} read"]
    return "\n".join(lines)


def _quote_label(text: str) -> str:
    """A quoted text.

    >>> print(_quote_label('USER#{userId} "x" <b>'))
    "USER#35;{userId} #quot;x#quot; #lt;b#gt;"
    """
    text = " ".join(text.split())
    text = text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…"
    escaped_text = "".join(filter(str.isprintable, text)).translate(_CODES)
    return f'"{escaped_text.strip() or "-"}"'
