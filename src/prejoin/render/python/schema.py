"""Renders `schema.py`: the schema of a design."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prejoin import keys
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.mapping.facets import ending, history_key, is_natural, planner_facets, unsaid_ending, when_values
from prejoin.design.model import Design, Facet, Item, NextAttribute, ProjectionKind, Slot, When
from prejoin.render.python.layout import (
    STEP,
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
from prejoin.render.python.values import constant_text, literal
from prejoin.workload.bounds import is_bounded
from prejoin.workload.contents import contents_of
from prejoin.workload.follow_links import FollowLink
from prejoin.workload.model import VERSION, Attribute, Entity, History, Workload
from prejoin.workload.tenants import is_owned, tenant_field


def schema_module(workload: Workload, design: Design, names: Names) -> list[str]:
    imports = Imports()
    imports.name("prejoin", "Schema")
    base = design.slots[0]
    used = {facet.slot for facet in planner_facets(design, workload)}
    stored = [e for e in workload.entities if design.item(e.name)]
    followed = [one.link for one in refreshes(workload, design)]
    parts: list[Part] = [_entity(e, design, names, imports, [f for f in followed if f.entity is e]) for e in stored]
    # An index that nothing is in would be made for nothing, and its attributes have no types.
    indexes = [_index(slot) for slot in design.indexes if slot.name in used]
    if indexes:
        imports.name("prejoin", "Index")
        parts.append(keyword("indexes", listing(indexes)))
    named = [("pk", base.pk[0].name, "pk"), ("sk", base.sk[0].name if base.sk else "sk", "sk")]
    named += [("type_attribute", design.type_attribute, "entityType"), ("separator", design.separator, "#")]
    named += [("ttl", unsaid_ending(design, workload), "")]
    named += [("tenant", tenant_field(workload, names.fields), "")]
    parts += [keyword(name, string(value)) for name, value, usual in named if value != usual]
    exempt = [names.classes[e.name] for e in stored if workload.tenant and not is_owned(workload, e.name)]
    parts += [keyword("exempt", listing(exempt))] if exempt else []
    for entity in stored:
        imports.name(".entities", names.classes[entity.name])
    head = docstring(f"The table of {workload.title or 'the application'}: where each entity is found, and by what.")
    said = '"""The name of the table."""'
    body = [f"TABLE = {string(design.table)}", said, "", *_made(parts, design, imports)]
    return [*head, "", *imports.lines(), "", *body]


def _made(parts: Iterable[Part], design: Design, imports: Imports) -> list[str]:
    """The lines that make the schema. Where contents are in a store, it is the caller who knows which."""
    if not design.stores:
        return lay(call("SCHEMA = Schema", *parts))
    imports.name("prejoin", "NoStore", "ObjectStore")
    said = "The schema with a store for large contents", 'In production it is `S3Store("the name of the bucket")`.'
    return [
        "",
        "def schema(store: ObjectStore) -> Schema:",
        *docstring(*said, indent=STEP),
        *lay(call("return Schema", *parts), STEP),
        "",
        "",
        "SCHEMA = schema(NoStore())",
        '"""The schema without a store: it builds keys, and reads and writes all but large contents."""',
    ]


def _entity(entity: Entity, design: Design, names: Names, imports: Imports, followed: Iterable[FollowLink]) -> Group:
    imports.name("prejoin", "Entity", "Key")
    own = design.item(entity.name)
    assert own is not None  # asked for by the caller
    fields = names.fields[entity.name]
    cls = names.classes[entity.name]
    parts: list[Part] = [cls, _key(own.facets[0], entity, fields, design, imports)]
    if indexes := _keys(own, entity, fields, design, imports):
        parts.append(keyword("indexes", indexes))
    if own.tag != cls:
        parts.append(keyword("tag", string(own.tag)))
    renamed = [(string(field), string(name)) for name, field in fields.items() if field != name]
    if renamed:
        parts.append(keyword("names", mapping(renamed)))
    patterns = [_copy(i, entity, fields, design, imports) for i in design.items if i.entity == entity.name and i.copy]
    for guard in (g for g in design.guards if g.entity == entity.name):
        imports.name("prejoin", "Unique")
        patterns.append(call("Unique", *(string(fields[a]) for a in guard.attributes)))
    twins = [item for item in design.items if item.entity == entity.name and item.change]
    for twin in twins:
        owner = keyword("of", string(twin.copy))
        patterns += [call("Unique", *(string(fields[a]) for a in values), owner) for values in twin.unique]
    if counter := design.counter(entity.name):
        imports.name("prejoin", "ShardedCounter")
        numbers = (string(fields[a]) for a in counter.attributes)
        also = [keyword("twin", string(twin.copy)) for twin in twins]
        patterns.append(call("ShardedCounter", *numbers, keyword("shards", str(counter.shards)), *also))
    for attribute in contents_of(entity):
        imports.name("prejoin", "Large")
        store = ["store"] if design.in_store(entity.name, attribute.name) else []
        also = [keyword("twin", string(twin.copy)) for twin in twins]
        patterns.append(call("Large", string(fields[attribute.name]), *store, *also))
    patterns += [_bounds(a, fields, imports) for a in entity.attributes if is_bounded(a)]
    for pair in own.mirrored:
        imports.name("prejoin", "Mirror")
        patterns.append(call("Mirror", string(fields[pair.source]), string(fields[pair.target])))
    patterns += _read_as(own, fields, imports)
    patterns += [_next_form(one, entity, fields, imports) for one in own.next_attributes]
    if entity.history:
        patterns += _history(entity.history, entity, fields, design, imports, twins)
    patterns += [_follows(one, names, imports) for one in followed]
    if ends := ending(design, entity):
        imports.name("prejoin", "TimeToLive")
        patterns.append(call("TimeToLive", string(fields[ends])))
    if patterns:
        parts.append(keyword("patterns", listing(patterns)))
    return call("Entity", *parts)


def _bounds(attribute: Attribute, fields: Mapping[str, str], imports: Imports) -> Group:
    imports.name("prejoin", "Bounds")
    least, greatest = attribute.bounds
    bounds = [keyword(name, str(bound)) for name, bound in (("min", least), ("max", greatest)) if bound is not None]
    return call("Bounds", string(fields[attribute.name]), *bounds)


def _read_as(own: Item, fields: Mapping[str, str], imports: Imports) -> list[Group]:
    """The words that are read as members, by attribute."""
    words: dict[str, list[tuple[str, str]]] = {}
    for one in own.read_members:
        words.setdefault(one.attribute, []).append((string(one.word), string(one.member)))
    if words:
        imports.name("prejoin", "ReadAs")
    return [call("ReadAs", string(fields[name]), mapping(pairs)) for name, pairs in words.items()]


def _next_form(one: NextAttribute, entity: Entity, fields: Mapping[str, str], imports: Imports) -> Group:
    imports.name("prejoin", "NextForm")
    attribute = entity.attribute(one.name)
    assert attribute is not None  # it is one of both designs
    parts: list[Part] = [string(fields[one.name])]
    if one.required:
        parts.append("required=True")
        if attribute.default is not None:
            parts.append(keyword("default", constant_text(attribute.default, attribute, imports)))
    if one.values:
        parts.append(keyword("values", Group("frozenset({", tuple(sorted(map(string, one.values))), "})")))
    return call("NextForm", *parts)


def _follows(one: FollowLink, names: Names, imports: Imports) -> Group:
    """The attributes that follow a source. Conditions of the writes compare them, not the pattern: `checked=False`."""
    imports.name("prejoin", "Follows")
    own, theirs = names.fields[one.entity.name], names.fields[one.source.name]
    attributes = mapping((string(own[a]), string(theirs[b])) for a, b in one.attributes.items())
    renamed = [(string(theirs[id_]), string(own[a])) for id_, a in one.by.items() if theirs[id_] != own[a]]
    by = [keyword("by", mapping(renamed))] if renamed else []
    return call("Follows", names.classes[one.source.name], attributes, *by, "checked=False")


def _history(
    kept: History,
    entity: Entity,
    fields: Mapping[str, str],
    design: Design,
    imports: Imports,
    twins: Iterable[Item],
) -> list[Group]:
    imports.name("prejoin", "History", "Version")
    limits: list[Part] = []
    if kept.versions is not None:
        limits.append(keyword("keep", str(kept.versions)))
    if kept.seconds is not None:
        imports.name("datetime", "timedelta")
        days, rest = divmod(kept.seconds, 86_400)
        span = keyword("seconds", str(kept.seconds)) if rest else keyword("days", str(days))
        limits.append(keyword("keep_for", call("timedelta", span)))

    def key(copy: str = "") -> Group:
        return call("Key", *(string(keys.renamed(text, fields)) for text in history_key(design, entity, copy)))

    kept_twins = [twin.copy for twin in twins if twin.has_history]
    of_twins = [call("History", key(copy), *limits, keyword("of", string(copy))) for copy in kept_twins]
    return [call("Version", string(fields[VERSION])), call("History", key(), *limits), *of_twins]


def _copy(item: Item, entity: Entity, fields: Mapping[str, str], design: Design, imports: Imports) -> Group:
    imports.name("prejoin", "Copy")
    parts: list[Part] = [string(item.copy), _key(item.facets[0], entity, fields, design, imports)]
    if item.attributes:
        parts.append(keyword("attributes", listing(string(fields[a]) for a in item.attributes)))
    if indexes := _keys(item, entity, fields, design, imports):
        parts.append(keyword("indexes", indexes))
    own = design.item(entity.name)
    if item.whole or (own and item.tag != f"{own.tag}.{item.copy}"):
        parts.append(keyword("tag", string(item.tag)))
    if item.whole:  # it is the item of another design
        parts.append("whole=True")
    if item.change:
        parts.append(keyword("change", string(item.change)))
    return call("Copy", *parts)


def _keys(item: Item, entity: Entity, fields: Mapping[str, str], design: Design, imports: Imports) -> Group | None:
    """The index keys of an item that are built from templates; natural keys need no declaration."""
    made = [f for f in item.facets[1:] if not _is_natural(f, design)]
    return mapping((string(f.slot), _key(f, entity, fields, design, imports)) for f in made) if made else None


def _is_natural(facet: Facet, design: Design) -> bool:
    slot = design.slot(facet.slot)
    return slot is not None and is_natural((*facet.pk, *facet.sk), (*slot.pk, *slot.sk))


def _key(facet: Facet, entity: Entity, fields: Mapping[str, str], design: Design, imports: Imports) -> Group:
    parts: list[Part] = [string(keys.renamed(text, fields)) for text in (*facet.pk, *facet.sk)]
    if facet.when:
        imports.name("prejoin", "When")
        parts.append(keyword("when", listing(_when(w, entity, fields, imports) for w in facet.when)))
    if design.raw_keys:
        parts.append("raw=True")
    if facet.write_only:
        parts.append("write_only=True")
    return call("Key", *parts)


def _when(when: When, entity: Entity, fields: Mapping[str, str], imports: Imports) -> Group:
    field, values = string(fields[when.attribute]), when_values(when, entity)
    if when.absent:
        return call("When", field, "absent=True")
    if values is None:
        return call("When", field)
    return call("When", field, Group("frozenset({", tuple(sorted(literal(v, imports) for v in values)), "})"))


def _index(slot: Slot) -> Group:
    parts: list[Part] = [string(slot.name)]
    pk, sk = (tuple(a.name for a in side) for side in (slot.pk, slot.sk))
    # A key of our making has these names if nothing is said.
    ours = (f"{slot.name}pk",), (f"{slot.name}sk",)
    if slot.local:  # its partition key is the table's
        parts += [keyword("sk", _several(sk))] if sk != ours[1] else []
        parts.append("local=True")
    elif (pk, sk) != ours:
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
