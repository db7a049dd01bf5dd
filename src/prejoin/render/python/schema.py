"""Renders `schema.py`: the schema of a design."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from prejoin import keys
from prejoin.constructs.construct import RefreshedConstruct, SchemaCall
from prejoin.constructs.registry import added_constructs, constructs_of
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.mapping.facets import is_natural, planner_facets, unsaid_ending, when_values
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
from prejoin.workload.model import Attribute, Entity, Workload
from prejoin.workload.tenants import is_owned, tenant_field


def schema_module(workload: Workload, design: Design, names: Names) -> list[str]:
    imports = Imports()
    imports.name("prejoin", "Schema")
    used = {facet.slot for facet in planner_facets(design, workload)}
    stored = [e for e in workload.entities if design.item(e.name)]
    refreshed = [refresh.bound for refresh in refreshes(workload, design)]
    parts: list[Part] = [
        _entity(entity, design, names, imports, [bound for bound in refreshed if bound.entity is entity])
        for entity in stored
    ]
    # An index that nothing is in would be made for nothing, and its attributes have no types.
    indexes = [_index(slot) for slot in design.indexes if slot.name in used]
    if indexes:
        imports.name("prejoin", "Index")
        parts.append(keyword("indexes", listing(indexes)))
    parts += _settings(workload, design, names)
    for entity in stored:
        imports.name(".entities", names.classes[entity.name])
    head = docstring(f"The table of {workload.title or 'the application'}: where each entity is found, and by what.")
    name_docstring = '"""The name of the table."""'
    body = [f"TABLE = {string(design.table)}", name_docstring, "", *_schema_lines(parts, design, imports)]
    return [*head, "", *imports.lines(), "", *body]


def _settings(workload: Workload, design: Design, names: Names) -> Iterator[Part]:
    """The settings of the table that are not as usual."""
    base = design.slots[0]
    settings = [
        ("pk", base.pk[0].name, "pk"),
        ("sk", base.sk[0].name if base.sk else "sk", "sk"),
        ("type_attribute", design.type_attribute, "entityType"),
        ("separator", design.separator, "#"),
        ("ttl", unsaid_ending(design, workload), ""),
        ("tenant", tenant_field(workload, names.fields), ""),
    ]
    for name, value, usual in settings:
        if value != usual:
            yield keyword(name, string(value))
    entity_names = [entity.name for entity in workload.entities if design.item(entity.name)]
    exempt = [names.classes[name] for name in entity_names if workload.tenant and not is_owned(workload, name)]
    if exempt:
        yield keyword("exempt", listing(exempt))


def _schema_lines(parts: Iterable[Part], design: Design, imports: Imports) -> list[str]:
    """The lines that make the schema. Where contents are in a store, it is the caller who knows which."""
    if not design.stores:
        return lay(call("SCHEMA = Schema", *parts))
    imports.name("prejoin", "NoStore", "ObjectStore")
    paragraphs = (
        "The schema with a store for large contents",
        'In production it is `S3Store("the name of the bucket")`.',
    )
    return [
        "",
        "def schema(store: ObjectStore) -> Schema:",
        *docstring(*paragraphs, indent=STEP),
        *lay(call("return Schema", *parts), STEP),
        "",
        "",
        "SCHEMA = schema(NoStore())",
        '"""The schema without a store: it builds keys, and reads and writes all but large contents."""',
    ]


def _entity(
    entity: Entity, design: Design, names: Names, imports: Imports, refreshed: Iterable[RefreshedConstruct]
) -> Group:
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
    name_pairs = [(string(field), string(name)) for name, field in fields.items() if field != name]
    if name_pairs:
        parts.append(keyword("names", mapping(name_pairs)))
    patterns = [
        *_copies(entity, design, names, imports),
        *_attribute_patterns(entity, own, fields, imports),
        *_constructs(entity, design, names, imports, refreshed),
    ]
    if patterns:
        parts.append(keyword("patterns", listing(patterns)))
    return call("Entity", *parts)


def _twins(entity: Entity, design: Design) -> list[Item]:
    """The items of an entity under another key, between two designs."""
    return [item for item in design.items if item.entity == entity.name and item.change]


def _copies(entity: Entity, design: Design, names: Names, imports: Imports) -> Iterator[Group]:
    """The copies of an entity, and the constructs that the design adds."""
    fields, twins = names.fields[entity.name], _twins(entity, design)
    for item in design.items:
        if item.entity == entity.name and item.copy:
            yield _copy(item, entity, fields, design, imports)
    for construct in added_constructs(entity, design):
        for pattern in construct.schema_calls(design, [twin.copy for twin in twins]):
            yield _construct(pattern, entity, names, imports)
    for twin in twins:
        for values in twin.unique:
            yield call("Unique", *(string(fields[name]) for name in values), keyword("of", string(twin.copy)))


def _constructs(
    entity: Entity, design: Design, names: Names, imports: Imports, refreshed: Iterable[RefreshedConstruct]
) -> Iterator[Group]:
    kept_twins = [twin.copy for twin in _twins(entity, design) if twin.has_history]
    for bound in (*constructs_of(entity), *refreshed):
        for pattern in bound.schema_calls(design, kept_twins):
            yield _construct(pattern, entity, names, imports)


def _attribute_patterns(entity: Entity, own: Item, fields: Mapping[str, str], imports: Imports) -> Iterator[Group]:
    """The bounds of attributes, and what is true of them between two designs."""
    for attribute in entity.attributes:
        if is_bounded(attribute):
            yield _bounds(attribute, fields, imports)
    for pair in own.mirrored:
        imports.name("prejoin", "Mirror")
        yield call("Mirror", string(fields[pair.source]), string(fields[pair.target]))
    yield from _read_as(own, fields, imports)
    for form in own.next_attributes:
        yield _next_form(form, entity, fields, imports)


def _bounds(attribute: Attribute, fields: Mapping[str, str], imports: Imports) -> Group:
    imports.name("prejoin", "Bounds")
    minimum, maximum = attribute.bounds
    bounds = [keyword(name, str(bound)) for name, bound in (("min", minimum), ("max", maximum)) if bound is not None]
    return call("Bounds", string(fields[attribute.name]), *bounds)


def _read_as(own: Item, fields: Mapping[str, str], imports: Imports) -> list[Group]:
    """The words that are read as members, by attribute."""
    words: dict[str, list[tuple[str, str]]] = {}
    for member in own.read_members:
        words.setdefault(member.attribute, []).append((string(member.word), string(member.member)))
    if words:
        imports.name("prejoin", "ReadAs")
    return [call("ReadAs", string(fields[name]), mapping(pairs)) for name, pairs in words.items()]


def _next_form(form: NextAttribute, entity: Entity, fields: Mapping[str, str], imports: Imports) -> Group:
    imports.name("prejoin", "NextForm")
    attribute = entity.attribute(form.name)
    assert attribute is not None  # it is one of both designs
    parts: list[Part] = [string(fields[form.name])]
    if form.required:
        parts.append("required=True")
        if attribute.default is not None:
            parts.append(keyword("default", constant_text(attribute.default, attribute, imports)))
    if form.values:
        parts.append(keyword("values", Group("frozenset({", tuple(sorted(map(string, form.values))), "})")))
    return call("NextForm", *parts)


def _construct(pattern: SchemaCall, entity: Entity, names: Names, imports: Imports) -> Group:
    imports.name("prejoin", pattern.name)
    fields = names.fields[entity.name]
    parts: list[Part] = []
    if pattern.of:
        theirs = names.fields[pattern.of]
        parts.append(names.classes[pattern.of])
        parts.append(mapping((string(fields[own]), string(theirs[origin])) for own, origin in pattern.pairs))
        ids = [(string(theirs[id_]), string(fields[own])) for id_, own in pattern.by if theirs[id_] != fields[own]]
        parts += [keyword("by", mapping(ids))] if ids else []
    parts += [string(fields[name]) for name in pattern.attributes]
    if pattern.key:
        parts.append(call("Key", *(string(keys.renamed(text, fields)) for text in pattern.key)))
    parts += pattern.variables
    for name, value in pattern.options:
        parts.append(keyword(name, _option(value, imports)))
    return call(pattern.name, *parts)


def _option(value: object, imports: Imports) -> Part:
    if isinstance(value, timedelta):
        imports.name("datetime", "timedelta")
        whole_days = not value % timedelta(days=1)
        span = keyword("days", str(value.days)) if whole_days else keyword("seconds", str(round(value.total_seconds())))
        return call("timedelta", span)
    return string(value) if isinstance(value, str) else repr(value)


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
    templates = [f for f in item.facets[1:] if not _is_natural(f, design)]
    return mapping((string(f.slot), _key(f, entity, fields, design, imports)) for f in templates) if templates else None


def _is_natural(facet: Facet, design: Design) -> bool:
    slot = design.slot(facet.slot)
    return slot is not None and is_natural(facet.templates, slot.key_attributes)


def _key(facet: Facet, entity: Entity, fields: Mapping[str, str], design: Design, imports: Imports) -> Group:
    parts: list[Part] = [string(keys.renamed(text, fields)) for text in facet.templates]
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
