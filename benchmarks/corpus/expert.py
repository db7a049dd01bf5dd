"""Converts the expert's solution in a corpus file to a design: `expert_design(fields, workload)`.

The design has raw keys, as the expert wrote them. Notations of the file become templates: `pad3(100-score)` is
`{score:03d,desc}`, `rand(0..4)` is five shards, a list of composite attributes is `mallId_{mallId}#…`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from corpus.convert import convert
from corpus.source import CorpusError, Fields, load
from prejoin.design.files import write_design
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Did,
    Facet,
    Guard,
    Item,
    ItemAction,
    KeyAttribute,
    Operation,
    Projection,
    ProjectionKind,
    Request,
    Slot,
)
from prejoin.keys import fields_of
from prejoin.keys.planner.placeholders import SortCondition
from prejoin.keys.template.natural import tag_of
from prejoin.workload.model import Entity, Input, Workload

EXPERT = "expert.yaml"
_VALUE_FORMATS: Mapping[str, Mapping[str, str]] = {
    "aws_ski_resort": {"{Date}": "{Date:MM/DD/YY}"},
}
"""Formats of values in keys that a source shows only in its data."""

_TYPES = {"houlihan_flight_fares": "type"}
"""Type attributes that sources name."""

_REWRITTEN: Mapping[str, tuple[str, ...]] = {"seed_music_ranking": ("AP-022",)}
"""Updates that delete and put every item of the first entity, according to the source."""

_SAME = "same"


def expert_design(fields: Fields, workload: Workload) -> Design:
    """The design of a corpus file. Raises a `CorpusError` if it has none for DynamoDB."""
    name = fields.word("name")
    solution = fields.fields("expert_solution")
    keys = solution.mapping("keys")
    table = solution.fields("table")
    if not has_design(fields):
        raise solution.error("keys", "there is no design for DynamoDB in this file")
    slots = [_slot(TABLE, table), *(_slot(one.word("name"), one) for one in solution.entries("gsis", "name"))]
    slots += [_slot(one.word("name"), one, local=True) for one in solution.entries("lsis", "name")]
    items: list[Item] = []
    guards: list[Guard] = []
    for entity_name, declared in keys.items():
        entity = workload.entity(entity_name)
        if entity is None:
            raise solution.error("keys", f"there is no entity `{entity_name}`")
        for number, one in enumerate(declared if isinstance(declared, list) else [declared]):
            if not isinstance(one, dict):
                raise solution.error("keys", f"the keys of `{entity_name}` are not a mapping")
            written = {k: _template(v, entity, name, k, one) for k, v in one.items() if k != "item"}
            label = str(one.get("item", f"copy {number}"))
            if "guard" in label:
                guards.append(Guard(entity.name, fields_of(written[slots[0].pk[0].name])))
            elif any("<" in text for text in written.values()):
                items += _on_edges(written, slots, workload)
            else:
                items.append(_item(entity, label if number else "", written, slots))
    guards += _guards(solution, workload)
    typed = [_typed(slot, items, workload) for slot in slots]
    ttl = next((a.name for e in workload.entities for a in e.attributes if a.ttl), "")
    return Design(
        table=re.sub(r"[^A-Za-z0-9_.-]", "-", name),
        slots=tuple(typed),
        items=tuple(_once(items)),
        guards=tuple(dict.fromkeys(guards)),
        type_attribute=_TYPES.get(name, "entityType"),
        raw_keys=True,
        ttl_attribute=ttl,
        operations=tuple(_operations(solution, workload, typed, tuple(_once(items)), name)),
    )


def has_design(fields: Fields) -> bool:
    """Whether a corpus file has keys for DynamoDB; those from other databases do not."""
    solution = fields.fields("expert_solution")
    return bool(solution.mapping("keys")) and solution.fields("table").word("pk").lower() not in ("", "n/a")


def _slot(name: str, fields: Fields, local: bool = False) -> Slot:
    sk = fields.word("sk")
    projection = fields.word("projection") or "ALL"
    if projection.split()[0] not in ProjectionKind.__members__:
        raise fields.error("projection", f"`{projection}` is not ALL, KEYS_ONLY or INCLUDE [attributes]")
    kind = ProjectionKind(projection.split()[0])
    included = tuple(re.findall(r"[\w-]+", projection.partition("[")[2])) if kind is ProjectionKind.INCLUDE else ()
    pk = (KeyAttribute(fields.word("pk")),)
    return Slot(name, pk, (KeyAttribute(sk),) if sk else (), Projection(kind, included), local=local)


def _typed(slot: Slot, items: list[Item], workload: Workload) -> Slot:
    """The slot with the types of its key attributes: a number alone under its own name has the type number."""

    def typed(attribute: KeyAttribute, place: int) -> KeyAttribute:
        for item in items:
            facet, entity = item.facet(slot.name), workload.entity(item.entity)
            text = (*facet.pk, *facet.sk)[place] if facet else ""
            own = entity.attribute(attribute.name) if entity else None
            if own and text == f"{{{attribute.name}}}" and (tag := tag_of(own.type)):
                return KeyAttribute(attribute.name, tag)
        return attribute

    pk = tuple(typed(a, at) for at, a in enumerate(slot.pk))
    sk = tuple(typed(a, len(slot.pk) + at) for at, a in enumerate(slot.sk))
    return Slot(slot.name, pk, sk, slot.projection, slot.purpose, slot.local)


def _template(declared: object, entity: Entity, name: str, attribute: str, others: Mapping[str, object]) -> str:
    """The content of a key attribute as a key template."""
    if isinstance(declared, list):
        # ElectroDB writes names of attributes, and begins the sort key with the entity.
        parts = [f"{part}_{{{part}}}" for part in declared]
        return "#".join([*([entity.name] if attribute.endswith("sk") else []), *parts])
    text = str(declared)
    if text == _SAME:
        return _template(others[_second(others)], entity, name, attribute, others)
    if random := re.fullmatch(r"rand\(0\.\.(\d+)\)", text):
        return f"{{{entity.id[0].name}:shard({int(random[1]) + 1})}}"
    text = re.sub(r"\{pad(\d)\(\d+-floor\((\w+)\)\)\}", r"{\2:0\1d,desc,floor}", text)
    text = re.sub(r"\{pad(\d)\(\d+-(\w+)\)\}", r"{\2:0\1d,desc}", text)
    text = re.sub(r"\{(lower|upper)\((\w+)\)\}", r"{\2:\1}", text)
    for plain, template in _VALUE_FORMATS.get(name, {}).items():
        text = text.replace(plain, template)
    return text


def _second(others: Mapping[str, object]) -> str:
    """The attribute that `same` refers to: the table's sort key, which is the second one."""
    return [key for key in others if key != "item"][1]


def _item(entity: Entity, copy: str, written: Mapping[str, str], slots: list[Slot]) -> Item:
    facets = []
    for slot in slots:
        found = []
        for attribute in (*slot.pk, *slot.sk):
            own = entity.attribute(attribute.name)
            text = written.get(attribute.name) or (f"{{{attribute.name}}}" if own else "")
            found.append(text)
        if all(found):
            facets.append(Facet(slot.name, tuple(found[: len(slot.pk)]), tuple(found[len(slot.pk) :])))
    return Item(entity.name, f"{entity.name}.{copy}" if copy else entity.name, tuple(facets), copy)


def _on_edges(written: Mapping[str, str], slots: list[Slot], workload: Workload) -> Iterator[Item]:
    """Items of an entity that is stored only on the edges to others: these edges reversed."""
    table = slots[0]
    texts = [written[a.name] for a in (*table.pk, *table.sk)]
    own = fields_of(texts[0])
    word, _, _ = texts[1].partition("<")
    for entity in workload.entities:
        ids = [a.name for a in entity.id]
        if len(ids) == 2 and set(own) < set(ids):
            other = next(name for name in ids if name not in own)
            found = {**written, table.sk[0].name: f"{word}{{{other}}}"}
            yield _item(entity, f"by-{own[0]}", found, slots)


def _once(items: list[Item]) -> Iterator[Item]:
    """Each kind of item once, because both ends of an edge may declare it."""
    seen = set()
    for item in items:
        base = item.facet(TABLE)
        if base is None:
            continue  # it is in another table
        if (item.entity, base.pk, base.sk) not in seen:
            seen.add((item.entity, base.pk, base.sk))
            yield item


def _guards(solution: Fields, workload: Workload) -> Iterator[Guard]:
    """The guards that a write keeps, according to the source."""
    for one in solution.entries("operations", "ap"):
        if "guard" in one.word("op"):
            pattern = workload.pattern(one.word("ap"))
            for name in pattern.entities[:1] if pattern else ():
                entity = workload.entity(name)
                for attribute in entity.attributes if entity else ():
                    if attribute.unique and not attribute.id:
                        yield Guard(name, (attribute.name,))


# --- Operations -------------------------------------------------------------------------------------------------------


def _operations(
    solution: Fields, workload: Workload, slots: list[Slot], items: tuple[Item, ...], name: str
) -> Iterator[Operation]:
    known = {slot.name: slot for slot in slots}
    reads = {read.id: read for read in workload.reads}
    for one in solution.entries("operations", "ap"):
        id_, op = one.word("ap"), one.word("op")
        index = one.word("index")
        slot = TABLE if index == "base" else index
        if id_ in _REWRITTEN.get(name, ()):
            yield Operation(id_, (_rewriting(workload, id_, items),))
        read = reads.get(id_)
        call = next((c for c in (Call.GET, Call.QUERY) if op.startswith(c.value)), None)
        if read is None or call is None or slot not in known:
            continue
        key = f"{one.words('key')} {one.words('params')}"
        shards = int(found[1]) if (found := re.search(r"x(\d+)\Z", op)) else 1
        reverse = bool(re.search(r"ScanIndexForward=false|\bdesc\b", key))
        if read.sort and not one.words("params"):
            # Without a direction in the file, the key's order is used.
            turned = any(",desc" in text for i in items for f in i.facets if f.slot == slot for text in f.sk)
            reverse = (read.sort[0].direction == "DESC") != turned
        filters = ((Input(one.words("filter"), filter=True),),) if one.words("filter") else ()
        requests = [
            Request(call, slot, read.entities, sk=_begins(key), shards=shards, reverse=reverse, filters=filters)
        ]
        if "BatchGetItem" in op:
            requests.append(Request(Call.BATCH_GET, entities=read.entities[1:]))
        yield Operation(id_, tuple(requests))


def _begins(key: str) -> SortCondition | None:
    """The prefix of the sort key, if the file has one."""
    found = re.search(r"begins_with\s*\(?([^\s,)]*[A-Z#{][^\s,)]*)", key)
    return SortCondition("begins_with", found[1]) if found else None


def _rewriting(workload: Workload, id_: str, items: tuple[Item, ...]) -> Request:
    pattern = workload.pattern(id_)
    if pattern is None or isinstance(pattern, tuple):
        raise CorpusError(f"{id_}: there is no such pattern")
    first, *others = pattern.entities
    actions = [
        ItemAction(did, i.item_name, *_key(i)) for i in items if i.entity == first for did in (Did.DELETE, Did.PUT)
    ]
    actions += [ItemAction(Did.UPDATE, i.item_name, *_key(i)) for i in items if i.entity in others and not i.copy]
    return Request(Call.TRANSACT_WRITE, entities=pattern.entities, actions=tuple(actions))


def _key(item: Item) -> tuple[str, str]:
    facet = item.facets[0]
    return facet.pk[0], facet.sk[0] if facet.sk else ""


# --- Folders ----------------------------------------------------------------------------------------------------------


def write_experts(folder: Path, out: Path, say: Callable[[str], None]) -> bool:
    """Writes `OUT/NAME/expert.yaml` for each corpus file with a design for DynamoDB; False if one is incomplete."""
    well = True
    for path in sorted(p for p in folder.iterdir() if p.suffix in {".yaml", ".yml"}):
        fields = load(path)
        name = fields.word("name") or path.stem
        if not has_design(fields):
            say(f"{name}: has no design for DynamoDB")
            continue
        try:
            design = expert_design(fields, convert(load(path)))
        except CorpusError as problem:
            say(f"error: {problem}")
            well = False
            continue
        target = out / name / EXPERT
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(write_design(design), encoding="utf-8", newline="\n")
        say(f"{name}: {len(design.indexes)} indexes, {len(design.items)} kinds of items")
    return well
