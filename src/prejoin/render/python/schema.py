"""Renders `schema.py`: the schema of a design."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    entities = _stored_entities(workload, design)
    used_slots = {facet.slot for facet in planner_facets(design, workload)}
    constructs: dict[str, list[RefreshedConstruct]] = {}
    for refresh in refreshes(workload, design):
        constructs.setdefault(refresh.bound.entity.name, []).append(refresh.bound)
    parts: list[Part] = []
    for entity in entities:
        imports.name(".entities", names.classes[entity.name])
        parts.append(_EntityCode(entity, design, names, imports, constructs.get(entity.name, ())).declaration())
    # An index that nothing is in would be made for nothing, and its attributes have no types.
    indexes = [_index(slot) for slot in design.indexes if slot.name in used_slots]
    if indexes:
        imports.name("prejoin", "Index")
        parts.append(keyword("indexes", listing(indexes)))
    parts += _settings(workload, design, names)
    head = docstring(f"The table of {workload.title or 'the application'}: where each entity is found, and by what.")
    name_docstring = '"""The name of the table."""'
    body = [f"TABLE = {string(design.table)}", name_docstring, "", *_schema_lines(parts, design, imports)]
    return [*head, "", *imports.lines(), "", *body]


def _stored_entities(workload: Workload, design: Design) -> list[Entity]:
    return [entity for entity in workload.entities if design.item(entity.name)]


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
    if workload.tenant:
        entities = _stored_entities(workload, design)
        exempt = [names.classes[entity.name] for entity in entities if not is_owned(workload, entity.name)]
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


@dataclass(frozen=True, slots=True)
class _EntityCode:
    """The declaration of an entity as code: its class, its keys, and the patterns of its attributes."""

    entity: Entity
    design: Design
    names: Names
    imports: Imports
    refreshed_constructs: Sequence[RefreshedConstruct]

    @property
    def fields(self) -> Mapping[str, str]:
        return self.names.fields[self.entity.name]

    @property
    def own_item(self) -> Item:
        item = self.design.item(self.entity.name)
        assert item is not None  # only entities with an item are declared
        return item

    @property
    def twins(self) -> list[Item]:
        """The items of the entity under another key, between two designs."""
        return [item for item in self.design.items if item.entity == self.entity.name and item.change]

    def declaration(self) -> Group:
        self.imports.name("prejoin", "Entity", "Key")
        own, cls = self.own_item, self.names.classes[self.entity.name]
        parts: list[Part] = [cls, self._key(own.facets[0])]
        if indexes := self._index_keys(own):
            parts.append(keyword("indexes", indexes))
        if own.tag != cls:
            parts.append(keyword("tag", string(own.tag)))
        name_pairs = [(string(field), string(name)) for name, field in self.fields.items() if field != name]
        if name_pairs:
            parts.append(keyword("names", mapping(name_pairs)))
        patterns = [*self._copies(), *self._attribute_patterns(), *self._constructs()]
        if patterns:
            parts.append(keyword("patterns", listing(patterns)))
        return call("Entity", *parts)

    # --- Patterns ---------------------------------------------------------------------------------------------------

    def _copies(self) -> Iterator[Group]:
        """The copies of the entity, and the constructs that the design adds."""
        for item in self.design.items:
            if item.entity == self.entity.name and item.copy:
                yield self._copy(item)
        twins = self.twins
        for construct in added_constructs(self.entity, self.design):
            for pattern in construct.schema_calls(self.design, [twin.copy for twin in twins]):
                yield self._construct(pattern)
        for twin in twins:
            for values in twin.unique:
                yield call("Unique", *self._strings(values), keyword("of", string(twin.copy)))

    def _constructs(self) -> Iterator[Group]:
        kept_twins = [twin.copy for twin in self.twins if twin.has_history]
        for bound in (*constructs_of(self.entity), *self.refreshed_constructs):
            for pattern in bound.schema_calls(self.design, kept_twins):
                yield self._construct(pattern)

    def _attribute_patterns(self) -> Iterator[Group]:
        """The bounds of attributes, and what is true of them between two designs."""
        own = self.own_item
        for attribute in filter(is_bounded, self.entity.attributes):
            yield self._bounds(attribute)
        for pair in own.mirrored:
            self.imports.name("prejoin", "Mirror")
            yield call("Mirror", *self._strings((pair.source, pair.target)))
        words: dict[str, list[tuple[str, str]]] = {}
        for member in own.read_members:
            words.setdefault(member.attribute, []).append((string(member.word), string(member.member)))
        for name, pairs in words.items():
            self.imports.name("prejoin", "ReadAs")
            yield call("ReadAs", string(self.fields[name]), mapping(pairs))
        for form in own.next_attributes:
            yield self._next_form(form)

    def _bounds(self, attribute: Attribute) -> Group:
        self.imports.name("prejoin", "Bounds")
        arguments: list[Part] = [string(self.fields[attribute.name])]
        for name, bound in zip(("min", "max"), attribute.bounds, strict=True):
            if bound is not None:
                arguments.append(keyword(name, str(bound)))
        return call("Bounds", *arguments)

    def _next_form(self, form: NextAttribute) -> Group:
        self.imports.name("prejoin", "NextForm")
        attribute = self.entity.attribute(form.name)
        assert attribute is not None  # it is one of both designs
        parts: list[Part] = [string(self.fields[form.name])]
        if form.required:
            parts.append("required=True")
            if attribute.default is not None:
                parts.append(keyword("default", constant_text(attribute.default, attribute, self.imports)))
        if form.values:
            parts.append(keyword("values", _frozenset(map(string, form.values))))
        return call("NextForm", *parts)

    def _construct(self, pattern: SchemaCall) -> Group:
        self.imports.name("prejoin", pattern.name)
        fields = self.fields
        parts: list[Part] = []
        if pattern.of:
            source_fields = self.names.fields[pattern.of]
            parts.append(self.names.classes[pattern.of])
            parts.append(mapping((string(fields[own]), string(source_fields[origin])) for own, origin in pattern.pairs))
            ids = [(string(source_fields[id_]), string(fields[own])) for id_, own in pattern.by]
            # Ids with the same name in both need not be declared.
            ids = [(source_name, own_name) for source_name, own_name in ids if source_name != own_name]
            if ids:
                parts.append(keyword("by", mapping(ids)))
        parts += self._strings(pattern.attributes)
        if pattern.key:
            parts.append(call("Key", *self._templates(pattern.key)))
        parts += pattern.variables
        for name, value in pattern.options:
            parts.append(keyword(name, _option(value, self.imports)))
        return call(pattern.name, *parts)

    def _copy(self, item: Item) -> Group:
        self.imports.name("prejoin", "Copy")
        parts: list[Part] = [string(item.copy), self._key(item.facets[0])]
        if item.attributes:
            parts.append(keyword("attributes", listing(self._strings(item.attributes))))
        if indexes := self._index_keys(item):
            parts.append(keyword("indexes", indexes))
        if item.whole or item.tag != f"{self.own_item.tag}.{item.copy}":
            parts.append(keyword("tag", string(item.tag)))
        if item.whole:  # it is the item of another design
            parts.append("whole=True")
        if item.change:
            parts.append(keyword("change", string(item.change)))
        return call("Copy", *parts)

    # --- Keys -------------------------------------------------------------------------------------------------------

    def _index_keys(self, item: Item) -> Group | None:
        """The index keys of an item that are built from templates; natural keys need no declaration."""
        keys_by_slot: list[tuple[str, Part]] = []
        for facet in item.facets[1:]:
            slot = self.design.slot(facet.slot)
            if slot is None or not is_natural(facet.templates, slot.key_attributes):
                keys_by_slot.append((string(facet.slot), self._key(facet)))
        return mapping(keys_by_slot) if keys_by_slot else None

    def _strings(self, attributes: Iterable[str]) -> list[Part]:
        """The fields of attributes as strings."""
        return [string(self.fields[name]) for name in attributes]

    def _templates(self, texts: Iterable[str]) -> list[Part]:
        """Templates with the names of fields."""
        return [string(keys.renamed(text, self.fields)) for text in texts]

    def _key(self, facet: Facet) -> Group:
        parts = self._templates(facet.templates)
        if facet.when:
            self.imports.name("prejoin", "When")
            parts.append(keyword("when", listing(map(self._when, facet.when))))
        if self.design.raw_keys:
            parts.append("raw=True")
        if facet.write_only:
            parts.append("write_only=True")
        return call("Key", *parts)

    def _when(self, when: When) -> Group:
        field, values = string(self.fields[when.attribute]), when_values(when, self.entity)
        if when.absent:
            return call("When", field, "absent=True")
        if values is None:
            return call("When", field)
        return call("When", field, _frozenset(literal(value, self.imports) for value in values))


def _frozenset(members: Iterable[str]) -> Group:
    # Sorted, because the order of a set differs from run to run.
    return Group("frozenset({", tuple(sorted(members)), "})")


def _option(value: object, imports: Imports) -> Part:
    if isinstance(value, timedelta):
        imports.name("datetime", "timedelta")
        whole_days = not value % timedelta(days=1)
        span = keyword("days", str(value.days)) if whole_days else keyword("seconds", str(round(value.total_seconds())))
        return call("timedelta", span)
    return string(value) if isinstance(value, str) else repr(value)


def _index(slot: Slot) -> Group:
    parts: list[Part] = [string(slot.name)]
    pk, sk = slot.key_names[: len(slot.pk)], slot.key_names[len(slot.pk) :]
    # An index without `pk` and `sk` has keys with these names.
    usual_pk, usual_sk = (f"{slot.name}pk",), (f"{slot.name}sk",)
    if slot.local:  # its partition key is the table's
        if sk != usual_sk:
            parts.append(keyword("sk", _several(sk)))
        parts.append("local=True")
    elif (pk, sk) != (usual_pk, usual_sk):
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
