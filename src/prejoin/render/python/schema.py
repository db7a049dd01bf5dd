"""The schema of a design as Python: the same that the proof builds at run time."""

from __future__ import annotations

from collections.abc import Mapping

from prejoin import keys
from prejoin.design.facets import is_natural, planner_facets
from prejoin.design.model import Design, Facet, Item, ProjectionKind, Slot
from prejoin.render.python.layout import (
    Group,
    Imports,
    Part,
    call,
    docstring,
    keyword,
    lay,
    listing,
    mapping,
    string,
)
from prejoin.render.python.names import Names
from prejoin.workload.model import Entity, Workload


def schema_module(workload: Workload, design: Design, names: Names) -> list[str]:
    imports = Imports()
    imports.name("prejoin.table", "Schema")
    base = design.slots[0]
    used = {facet.slot for facet in planner_facets(design, workload)}
    stored = [e for e in workload.entities if design.item(e.name)]
    parts: list[Part] = [_entity(e, design, names, imports) for e in stored]
    # An index that nothing is in would be made for nothing, and its attributes have no types.
    indexes = [_index(slot) for slot in design.indexes if slot.name in used]
    if indexes:
        imports.name("prejoin.table", "Index")
        parts.append(keyword("indexes", listing(indexes)))
    named = [("pk", base.pk[0].name, "pk"), ("sk", base.sk[0].name if base.sk else "sk", "sk")]
    named += [("type_attribute", design.type_attribute, "entityType"), ("separator", design.separator, "#")]
    parts += [keyword(name, string(value)) for name, value, usual in named if value != usual]
    for entity in stored:
        imports.name(".entities", names.classes[entity.name])
    head = docstring(f"The table of {workload.title or 'the application'}: where each entity is found, and by what.")
    said = '"""The name of the table."""'
    body = [f"TABLE = {string(design.table)}", said, "", *lay(call("SCHEMA = Schema", *parts))]
    return [*head, "", *imports.lines(), "", *body]


def _entity(entity: Entity, design: Design, names: Names, imports: Imports) -> Group:
    imports.name("prejoin.table", "Entity", "Key")
    own = design.item(entity.name)
    assert own is not None  # asked for by the caller
    fields = names.fields[entity.name]
    cls = names.classes[entity.name]
    parts: list[Part] = [cls, _key(own.facets[0], fields, design, imports)]
    if indexes := _keys(own, fields, design, imports):
        parts.append(keyword("indexes", indexes))
    if own.tag != cls:
        parts.append(keyword("tag", string(own.tag)))
    renamed = [(string(field), string(name)) for name, field in fields.items() if field != name]
    if renamed:
        parts.append(keyword("names", mapping(renamed)))
    patterns = [_copy(i, fields, design, imports) for i in design.items if i.entity == entity.name and i.copy]
    for guard in (g for g in design.guards if g.entity == entity.name):
        imports.name("prejoin.patterns", "Unique")
        patterns.append(call("Unique", *(string(fields[a]) for a in guard.attributes)))
    if patterns:
        parts.append(keyword("patterns", listing(patterns)))
    return call("Entity", *parts)


def _copy(item: Item, fields: Mapping[str, str], design: Design, imports: Imports) -> Group:
    imports.name("prejoin.patterns", "Copy")
    parts: list[Part] = [string(item.copy), _key(item.facets[0], fields, design, imports)]
    if item.attributes:
        parts.append(keyword("attributes", listing(string(fields[a]) for a in item.attributes)))
    if indexes := _keys(item, fields, design, imports):
        parts.append(keyword("indexes", indexes))
    return call("Copy", *parts)


def _keys(item: Item, fields: Mapping[str, str], design: Design, imports: Imports) -> Group | None:
    """The keys of our making that an item has in indexes. On attributes as they stand there is nothing to be made."""
    made = [f for f in item.facets[1:] if not _is_natural(f, design)]
    return mapping((string(f.slot), _key(f, fields, design, imports)) for f in made) if made else None


def _is_natural(facet: Facet, design: Design) -> bool:
    slot = design.slot(facet.slot)
    return slot is not None and is_natural((*facet.pk, *facet.sk), (*slot.pk, *slot.sk))


def _key(facet: Facet, fields: Mapping[str, str], design: Design, imports: Imports) -> Group:
    if len(facet.pk) > 1 or len(facet.sk) > 1:
        raise ValueError(
            f"{' + '.join((*facet.pk, *facet.sk))} in {facet.slot}: a key of several attributes is made of attributes "
            "as they stand: call the index's key attributes what the entity calls them"
        )
    parts: list[Part] = [string(keys.renamed(text, fields)) for text in (*facet.pk, *facet.sk)]
    if facet.when:
        imports.name("prejoin.keys", "When")
        parts.append(keyword("when", listing(_when(fields[w.attribute], w.values) for w in facet.when)))
    if design.raw_keys:
        parts.append("raw=True")
    return call("Key", *parts)


def _when(field: str, values: tuple[str, ...]) -> Group:
    if not values:
        return call("When", string(field))
    return call("When", string(field), Group("frozenset({", tuple(map(string, sorted(set(values)))), "})"))


def _index(slot: Slot) -> Group:
    parts: list[Part] = [string(slot.name)]
    pk, sk = (tuple(a.name for a in side) for side in (slot.pk, slot.sk))
    # A key of our making has these names if nothing is said.
    if (pk, sk) not in {((f"{slot.name}pk",), (f"{slot.name}sk",))}:
        parts.append(keyword("pk", _several(pk)))
        if sk:
            parts.append(keyword("sk", _several(sk)))
    projection = slot.projection
    if projection.kind is ProjectionKind.INCLUDE:
        parts.append(keyword("projection", listing(map(string, projection.attributes))))
    elif projection.kind is ProjectionKind.KEYS_ONLY:
        parts.append('projection="KEYS_ONLY"')
    return call("Index", *parts)


def _several(attributes: tuple[str, ...]) -> Part:
    return string(attributes[0]) if len(attributes) == 1 else listing(map(string, attributes))
