"""Chosen keys as a design: slots, templates with their words, items and guards. Words say what a key is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from prejoin.design.choose import BASE, OWN, Chosen, Placed
from prejoin.design.model import TABLE, Design, Guard, Item, KeyAttribute, Slot
from prejoin.design.needs import Question
from prejoin.design.words import Words
from prejoin.workload.model import Naming, Workload


def lay_out(workload: Workload, questions: Sequence[Question], chosen: Chosen) -> Design:
    """The design of a choice. Its operations are the planner's to say."""
    names = {d.pin.what: d.pin.name for d in workload.decisions if isinstance(d.pin, Naming)}
    words = Words(workload, questions, chosen, names.get("separator", "#"))
    items = []
    for entity in workload.entities:
        own = [p for p in chosen.placed if p.entity == entity.name]
        for number in sorted({p.item for p in own}):
            placed = sorted((p for p in own if p.item == number), key=lambda p: p.slot)
            copy = "" if number == OWN else _copy_name(placed[0])
            facets = tuple(words.facet(p, slot_name(p.slot)) for p in placed)
            items.append(Item(entity.name, entity.name if not copy else f"{entity.name}.{copy}", facets, copy))
    return Design(
        table=names.get("table", _table_name(workload)),
        slots=tuple(_slots(chosen, names)),
        items=tuple(items),
        guards=tuple(_guards(workload, chosen)),
        type_attribute=names.get("type attribute", "entityType"),
        separator=names.get("separator", "#"),
        ttl_attribute=next((a.name for e in workload.entities for a in e.attributes if a.ttl), ""),
    )


def slot_name(number: int) -> str:
    return TABLE if number == BASE else f"gsi{number}"


def _slots(chosen: Chosen, names: dict[str, str]) -> Iterable[Slot]:
    pk, sk = names.get("partition key", "pk"), names.get("sort key", "sk")
    for number in range(chosen.indexes + 1):
        prefix = "" if number == BASE else slot_name(number)
        yield Slot(slot_name(number), (KeyAttribute(f"{prefix}{pk}"),), (KeyAttribute(f"{prefix}{sk}"),))


def _copy_name(placed: Placed) -> str:
    return "by-" + "-".join(re.sub(r"\W+", "-", name) for name in (placed.candidate.pk or ("all",)))


def _table_name(workload: Workload) -> str:
    text = re.sub(r"[^a-z0-9]+", "-", workload.title.lower()).strip("-")[:60].strip("-")
    return text if len(text) >= 3 else "table"


def _guards(workload: Workload, chosen: Chosen) -> Iterable[Guard]:
    """Items that make values unique: what is said to be, and ids that are only a part of the table's key."""
    for entity in workload.entities:
        base = next(p.candidate for p in chosen.placed if (p.entity, p.item, p.slot) == (entity.name, OWN, BASE))
        groups = [(a.name,) for a in entity.attributes if a.unique and not a.id] + list(entity.unique)
        ids = tuple(a.name for a in entity.id)
        if ids and set(base.attributes) > set(ids) and not any(a.generated for a in entity.id):
            groups.append(ids)
        for group in dict.fromkeys(groups):
            if set(group) != set(base.attributes):
                yield Guard(entity.name, tuple(group))
