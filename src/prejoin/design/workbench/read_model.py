"""Reads a NoSQL Workbench model into a design and a workload, with diagnostics for any text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from msgspec.structs import replace

from prejoin.design import codes
from prejoin.design.layout.growth import record_attributes
from prejoin.design.mapping.validate import misfits
from prejoin.design.model import (
    TABLE,
    Billing,
    Design,
    Facet,
    Guard,
    Item,
    KeyAttribute,
    Projection,
    ProjectionKind,
    Slot,
)
from prejoin.design.workbench.description import Description, read_description
from prejoin.design.workbench.file_format import (
    DataModel,
    Sample,
    WorkbenchAttribute,
    WorkbenchIndex,
    WorkbenchKeys,
    WorkbenchTable,
)
from prejoin.design.workbench.samples import (
    RecoveredKey,
    SampleGroup,
    attributes_in,
    entity_name,
    groups_of,
    is_physical,
    is_value,
    owners_of,
    separator_of,
    text_of,
    type_attribute_of,
    type_of,
    when_of,
)
from prejoin.design.workbench.sketch import sketch_patterns
from prejoin.diagnostics import Code, Diagnostic, Severity, Span, has_errors, in_order
from prejoin.keys import KeyValueError, Template, TemplateError, fields_of
from prejoin.types import Kind, Type
from prejoin.workload.checks import check
from prejoin.workload.data_tree import NotATreeError, Path, convert_tree, read_tree
from prejoin.workload.document.sections import MOST_CHARACTERS
from prejoin.workload.model import Attribute, Entity, Status, Workload
from prejoin.workload.shorthand import write_out

GUARD = ".unique."
"""Separates the entity from the attributes in the name of a guard's facet."""
_KINDS = {"N": Kind.NUMBER, "B": Kind.BINARY}
"""The kinds of key attributes whose type is declared and that no sample has; others are inferred like values."""
_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")


@dataclass(frozen=True, slots=True)
class WorkbenchReading:
    """The design and workload of a model. If the diagnostics have errors, neither can be used."""

    design: Design
    workload: Workload
    diagnostics: tuple[Diagnostic, ...]


def is_model(text: str) -> bool:
    """Whether a text looks like a NoSQL Workbench model, without parsing it."""
    return '"DataModel"' in text and '"ModelName"' in text


def read_workbench(text: str, table: str = "") -> WorkbenchReading:
    """Read the design in a model's file, and sketch the workload. Of several tables, use the named or the first one."""
    fix = "export it from NoSQL Workbench as “NoSQL Workbench model”"
    if len(text) > MOST_CHARACTERS:
        return _failure(
            None, f"the model has more than {MOST_CHARACTERS:,} characters", "leave out most of the samples"
        )
    try:
        tree, spans = read_tree(text, "json")
        model: DataModel = convert_tree(tree, spans, DataModel)
    except NotATreeError as problem:
        return _failure(problem.span, f"this is not a model of NoSQL Workbench: {problem}", fix)
    names = [workbench_table.table_name for workbench_table in model.data_model]
    if not names:
        return _failure(None, "the model has no table", fix)
    if table and table not in names:
        return _failure(None, f"there is no table `{table}` in the model", f"the tables are {', '.join(names)}")
    number = names.index(table) if table else 0
    reader = _Reader(model, model.data_model[number], number, spans)
    if len(names) > 1 and not table:
        others = ", ".join(f"`{name}`" for name in names[1:])
        message = f"read is `{names[0]}`; not read: {others}"
        reader.say(codes.OTHER_TABLES, (), message, "say `--table NAME` for another")
    reading = reader.read()
    return WorkbenchReading(record_attributes(reading.design, reading.workload), reading.workload, reading.diagnostics)


def _failure(span: Span | None, message: str, fix: str) -> WorkbenchReading:
    return WorkbenchReading(Design(""), Workload(), (codes.NOT_A_MODEL.at(span, message, fix),))


@dataclass(slots=True)
class _Reader:
    model: DataModel
    table: WorkbenchTable
    table_number: int
    spans: Mapping[Path, Span]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    description: Description = field(default_factory=Description)
    type_attribute: str = ""
    """The attribute with the type of an item, if the samples have one."""

    def say(self, code: Code, path: Path, message: str, fix: str) -> None:
        """Report a problem at a path in the table, or at the nearest part above it that has a place in the text."""
        full_path: Path = ("Data_model", self.table_number, *path)
        paths_upwards = (full_path[:length] for length in range(len(full_path), 0, -1))
        span = next((self.spans[path] for path in paths_upwards if path in self.spans), None)
        self.diagnostics.append(code.at(span, message, fix))

    # --- The whole --------------------------------------------------------------------------------------------------

    def read(self) -> WorkbenchReading:
        self.description = read_description(self.model.model_metadata.description)
        for line, reason in self.description.wrong:
            self.say(codes.LINE, (), f"“{line}” in the description: {reason}", "correct it, or take the line out")
        slots = (self._slot(TABLE, self.table.key_attributes), *self._indexes())
        groups, guards, separator = self._groups(slots)
        names = [key.attribute_name for key in _keys(self.table.key_attributes)]
        owners = owners_of(groups, names, separator)
        items_and_entities = [self._item_and_entity(group, slots, separator, owners) for group in groups]
        merged_entities = _merge_entities(entity for _, entity in items_and_entities)
        entities = _with_references(merged_entities, self.description.entities)
        # Other people's tables have no escapes in their keys.
        is_raw = self.description.raw if self.description.separator else True
        design = Design(
            self._table_name(),
            slots,
            tuple(item for item, _ in items_and_entities),
            guards,
            type_attribute=self.type_attribute or "entityType",
            separator=separator,
            raw_keys=is_raw,
            billing=Billing.ON_DEMAND if self.table.billing_mode == "PAY_PER_REQUEST" else Billing.PROVISIONED,
        )
        if is_raw and not self.description.separator:
            message = "keys are written as the samples show, without escapes"
            self.say(codes.RAW, (), message, "set `rawKeys` to false in a table that is new")
        title = " ".join(self.model.model_name.split()) or design.table
        workload = Workload(title, Status.DRAFT, self.description.overview, entities=tuple(entities))
        self.diagnostics += misfits(design, workload)
        if not has_errors(self.diagnostics):
            workload = self._with_patterns(workload, design)
        return WorkbenchReading(design, workload, in_order(self.diagnostics))

    def _with_patterns(self, workload: Workload, design: Design) -> Workload:
        """The workload with access patterns: from the description, or a sketch of what the keys serve."""
        patterns = self.description.patterns
        if patterns.patterns:
            complete_workload = write_out(
                replace(workload, reads=patterns.reads, writes=patterns.writes, deletes=patterns.deletes)
            )
            errors = [problem for problem in check(complete_workload) if problem.severity is Severity.ERROR]
            if not errors:
                return complete_workload
            message = f"the access patterns of the description are not for this table: {errors[0].message}"
            self.say(codes.LINE, (), message, errors[0].fix)
        sketched_workload = sketch_patterns(workload, design)
        message = f"the {len(sketched_workload.patterns)} access patterns are a sketch, made from the keys"
        self.say(codes.SKETCH, (), message, "remove those that are not needed, and add missing ones")
        return sketched_workload

    def _table_name(self) -> str:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.table.table_name).strip("-")[:255]
        return name if _TABLE_NAME.fullmatch(name) else f"table-{name}"[:255]

    # --- Slots ------------------------------------------------------------------------------------------------------

    def _indexes(self) -> Iterator[Slot]:
        names = {TABLE}
        for number, index in enumerate(self.table.global_secondary_indexes):
            if index.index_name in names:
                message = f"the index `{index.index_name}` is there twice"
                self.say(codes.NOT_A_MODEL, ("Global_secondary_indexes", number), message, "name each once")
                continue
            names.add(index.index_name)
            yield self._slot(index.index_name, index.key_attributes, self._projection(index))

    def _slot(self, name: str, keys: WorkbenchKeys, projection: Projection = Projection()) -> Slot:  # noqa: B008 - frozen
        pk = keys.partition_key
        sk = (KeyAttribute(keys.sort_key.attribute_name, keys.sort_key.attribute_type),) if keys.sort_key else ()
        return Slot(name, (KeyAttribute(pk.attribute_name, pk.attribute_type),), sk, projection)

    def _projection(self, index: WorkbenchIndex) -> Projection:
        kind = index.projection.projection_type
        names = index.projection.non_key_attributes or ()
        # DynamoDB projects the keys of the table by itself, and refuses an INCLUDE that names them.
        keys = {key.attribute_name for key in _keys(self.table.key_attributes)}
        attributes = tuple(name for name in names if name not in keys)
        if kind not in ProjectionKind.__members__ or (attributes and kind != "INCLUDE"):
            return Projection()
        return Projection(ProjectionKind(kind), attributes)

    # --- Items ------------------------------------------------------------------------------------------------------

    def _groups(self, slots: Sequence[Slot]) -> tuple[list[SampleGroup], tuple[Guard, ...], str]:
        """The types of items with their samples, the guards, and the separator of keys."""
        is_ours = bool(self.description.separator)
        facet_groups, guards = self._facet_groups()
        loose_samples = self._usable(self.table.table_data, ("Table_data",))
        samples = [sample for group in facet_groups for sample in group.samples] + loose_samples
        keys = _key_names(slots)
        separator = self.description.separator or separator_of(_key_texts(samples, keys))
        type_attribute = self.description.type_attribute or type_attribute_of(samples, keys)
        groups: list[SampleGroup] = []
        for facet_group in facet_groups:
            # A facet of our own models has one type. Others show what is read together.
            if is_ours:
                groups.append(facet_group)
            else:
                groups += groups_of(self.table, facet_group.samples, separator, type_attribute, facet_group)
        groups += groups_of(self.table, loose_samples, separator, type_attribute)
        if not groups:
            groups = [SampleGroup(entity_name(self.table.table_name))]
            message = f"the table `{self.table.table_name}` has no sample items"
            self.say(codes.NO_SAMPLES, (), message, "add some of each kind in NoSQL Workbench, and export it again")
        self._set_tags(groups, type_attribute)
        _make_names_unique(groups, ours=is_ours)
        return groups, guards, separator

    def _facet_groups(self) -> tuple[list[SampleGroup], tuple[Guard, ...]]:
        """The samples of each facet; facets of guards, which prejoin writes, are no types."""
        groups: list[SampleGroup] = []
        guards: list[Guard] = []
        for number, facet in enumerate(self.table.table_facets):
            samples = self._usable(facet.table_data, ("Table_facets", number, "Table_data"))
            if GUARD in facet.facet_name and self.description.separator:
                owner, _, names = facet.facet_name.partition(GUARD)
                guards.append(Guard(owner, tuple(names.split("+"))))
            elif samples:
                alias = facet.key_attribute_alias
                pk, sk = alias.partition_key_alias, alias.sort_key_alias or ""
                groups.append(SampleGroup(facet.facet_name, samples, "", pk, sk))
        return groups, tuple(guards)

    def _set_tags(self, groups: Sequence[SampleGroup], type_attribute: str) -> None:
        """Take the type attribute if it has one value in each type."""
        if not type_attribute:
            return
        tags_of_groups = [{text_of(sample.get(type_attribute)) or "" for sample in group.samples} for group in groups]
        if all(len(tags) < 2 for tags in tags_of_groups):
            self.type_attribute = type_attribute
            for group, tags in zip(groups, tags_of_groups, strict=True):
                group.tag = max(tags, default="")

    def _usable(self, samples: Sequence[Sample], path: Path) -> list[Sample]:
        """The samples with a complete key and valid values."""
        key_types = {key.attribute_name: key.attribute_type for key in _keys(self.table.key_attributes)}
        usable_samples = []
        for number, sample in enumerate(samples):
            absent_keys = [name for name, type_ in key_types.items() if not _has_value(sample, name, type_)]
            if absent_keys:
                name = absent_keys[0]
                message = f"a sample has no `{name}` of type {key_types[name]}, which is part of the key"
                self.say(codes.BAD_SAMPLE, (*path, number), message, "give it a whole key; it is left aside")
                continue
            bad_names = [name for name, value in sample.items() if not is_value(value) or not name]
            if bad_names:
                message = f"`{bad_names[0]}` of a sample is not a value in DynamoDB's JSON"
                self.say(codes.BAD_SAMPLE, (*path, number), message, 'write it as `{"S": "text"}`; it is left aside')
            usable_samples.append({name: value for name, value in sample.items() if name not in bad_names})
        return usable_samples

    def _item_and_entity(
        self, group: SampleGroup, slots: Sequence[Slot], separator: str, owners: Mapping[str, str]
    ) -> tuple[Item, Entity]:
        """The item of a group and its entity, from the description or from the samples."""
        name, copy = _split_copy(group.name, ours=bool(self.description.separator))
        described_facets = self.description.facets.get((name, copy))
        described_entity = self.description.entities.get(name)
        keys = frozenset(filter(is_physical, _key_names(slots))) | {self.type_attribute}
        recovered = RecoveredKey(group.samples, owners, keys, separator)
        facets: list[Facet] = []
        for slot in slots:
            facet = self._facet(group, slot, recovered, described_facets or ())
            if facet is not None:
                facets.append(facet)
        tag = group.tag or (f"{name}.{copy}" if copy else name)
        item = Item(name, tag, tuple(facets), copy, self.description.held.get((name, copy), ()))
        if recovered.invented:
            invented_names = " and ".join(f"`{invented}`" for invented in recovered.invented)
            message = f"parts of the keys of `{name}` are in no attribute: they are called {invented_names} here"
            self.say(codes.INVENTED, (), message, "rename those that have other names")
        inferred_entity = self._entity(name, group, recovered, facets)
        if not described_entity or not described_facets:
            return item, inferred_entity
        # The description does not know the attributes of keys that it does not list.
        unlisted_names = set(_names_in(facets)) - described_entity.types.keys()
        new_attributes = [attribute for attribute in inferred_entity.attributes if attribute.name in unlisted_names]
        return item, replace(described_entity, attributes=(*described_entity.attributes, *new_attributes))

    def _facet(
        self, group: SampleGroup, slot: Slot, recovered: RecoveredKey, described_facets: Sequence[Facet]
    ) -> Facet | None:
        """The key of a group in a slot: as described, or as the samples show; None if none of them is in the slot."""
        attributes = slot.key_attributes
        inside: list[Sample] = []
        outside: list[Sample] = []
        for sample in group.samples:
            has_key = all(_has_value(sample, attribute.name, attribute.type) for attribute in attributes)
            (inside if has_key else outside).append(sample)
        described = next((facet for facet in described_facets if facet.slot == slot.name), None)
        if described is not None and (len(described.pk), len(described.sk)) == (len(slot.pk), len(slot.sk)):
            self._compare(group, slot, described, inside)
            return described
        if slot.name != TABLE and not inside:
            return None
        aliases: dict[str, str] = {}
        if slot.name == TABLE:
            aliases = dict(zip(slot.key_names, (group.pk, group.sk), strict=False))
        natural_before = set(recovered.natural)
        templates = [recovered.template(attribute, inside, aliases.get(attribute.name, "")) for attribute in attributes]
        for name in sorted(recovered.natural - natural_before):
            message = f"the samples of `{group.name}` do not show what `{name}` is made of"
            self.say(codes.NOT_TAKEN_APART, (), message, "write it into the design, `USER#{userId}`")
        facet = Facet(slot.name, tuple(templates[: len(slot.pk)]), tuple(templates[len(slot.pk) :]))
        if not inside:
            return facet
        stored_names = frozenset(_names_in([facet])) - recovered.invented.keys()
        return replace(facet, when=when_of(inside, outside, stored_names, recovered.keys))

    def _compare(self, group: SampleGroup, slot: Slot, described: Facet, inside: Sequence[Sample]) -> None:
        """Report samples whose key differs from the description."""
        entity = self.description.entities.get(_split_copy(group.name, ours=True)[0])
        types = entity.types if entity else {}
        for name, text in zip(slot.key_names, described.templates, strict=True):
            if text == f"{{{name}}}":
                continue
            key_texts = [text_of(sample.get(name)) for sample in inside]
            try:
                template = Template.of(text, types, self.description.separator, self.description.raw)
                mismatches = [key_text for key_text in key_texts if not template.matches(key_text or "")]
            except (TemplateError, KeyValueError):
                continue  # the design's validation reports whether it can be a template
            if mismatches:
                message = f"`{mismatches[0]}` of a sample of `{group.name}` is not a key of `{text}`"
                self.say(codes.NOT_ITS_KEY, (), message, "correct the sample, or the line in the description")

    def _entity(self, name: str, group: SampleGroup, recovered: RecoveredKey, facets: Sequence[Facet]) -> Entity:
        """The entity as the samples show it: the attributes of its key in the table are its id."""
        ids = _names_in(facets[:1])
        names = dict.fromkeys((*ids, *_names_in(facets)))
        if group.samples:
            # Attributes that are only keys, and the type, are prejoin's to write.
            hidden = (recovered.keys - names.keys()) | {self.type_attribute}
            names.update((name, None) for name in attributes_in(group.samples) if name not in hidden)
        else:
            names.update((attribute.attribute_name, None) for attribute in self.table.non_key_attributes)
        attributes = []
        for attribute_name in names:
            values = [sample[attribute_name] for sample in group.samples if attribute_name in sample]
            is_id = attribute_name in ids
            is_optional = not is_id and attribute_name not in recovered.invented and len(values) < len(group.samples)
            type_ = self._type(attribute_name, values)
            attributes.append(Attribute(attribute_name, type_, id=is_id, optional=is_optional))
        return Entity(name, attributes=tuple(attributes), singleton=not ids)

    def _type(self, name: str, values: Sequence[object]) -> Type:
        """The type of the values; without any, the declared type of the attribute."""
        if values:
            return type_of(values)
        keys = [*_keys(self.table.key_attributes), *self.table.non_key_attributes]
        for index in self.table.global_secondary_indexes:
            keys += _keys(index.key_attributes)
        declared = next((key.attribute_type for key in keys if key.attribute_name == name), "S")
        return type_of([{declared: "1"}]) if declared not in _KINDS else Type(_KINDS[declared])


def _key_names(slots: Iterable[Slot]) -> frozenset[str]:
    return frozenset(chain.from_iterable(slot.key_names for slot in slots))


def _keys(keys: WorkbenchKeys) -> list[WorkbenchAttribute]:
    return [keys.partition_key, *([keys.sort_key] if keys.sort_key else [])]


def _key_texts(samples: Sequence[Sample], keys: Collection[str]) -> list[str]:
    """The texts of attributes that are only keys."""
    names = [name for name in keys if is_physical(name)]
    texts = [text_of(sample.get(name)) for sample in samples for name in names]
    return [text for text in texts if text]


def _names_in(facets: Iterable[Facet]) -> list[str]:
    """The attributes in keys, each once."""
    texts = chain.from_iterable(facet.templates for facet in facets)
    return list(dict.fromkeys(chain.from_iterable(map(fields_of, texts))))


def _has_value(sample: Sample, name: str, type_: str) -> bool:
    value = sample.get(name)
    return is_value(value) and isinstance(value, dict) and bool(value.get(type_))


def _split_copy(name: str, ours: bool) -> tuple[str, str]:
    entity, _, copy = name.partition(".") if ours else (name, "", "")
    return entity, copy


def _make_names_unique(groups: Sequence[SampleGroup], ours: bool) -> None:
    """Give each type a unique name that an entity can have."""
    used_names: set[str] = set()
    for group in groups:
        name = group.name if ours else entity_name(group.name)
        unique_name = name
        number = 1
        while unique_name in used_names:
            number += 1
            unique_name = f"{name}{number}"
        used_names.add(unique_name)
        group.name = unique_name


def _merge_entities(entities: Iterable[Entity]) -> list[Entity]:
    """Each entity once, with the attributes of its item and its copies."""
    entities_by_name: dict[str, Entity] = {}
    for entity in entities:
        first = entities_by_name.setdefault(entity.name, entity)
        new_attributes = [attribute for attribute in entity.attributes if first.attribute(attribute.name) is None]
        if new_attributes:
            entities_by_name[entity.name] = replace(first, attributes=(*first.attributes, *new_attributes))
    return list(entities_by_name.values())


def _with_references(entities: Sequence[Entity], described: Collection[str]) -> list[Entity]:
    """Mark attributes with the name of another entity's id as references. Described entities stay as they are."""
    names_by_id: dict[str, list[str]] = {}
    for entity in entities:
        if len(entity.id) == 1:
            names_by_id.setdefault(entity.id[0].name, []).append(entity.name)
    # An id that several entities have refers to none of them: nobody could tell to which.
    owners = {id_: names[0] for id_, names in names_by_id.items() if len(names) == 1}
    result = []
    for entity in entities:
        if entity.name in described:
            result.append(entity)
            continue
        attributes = []
        for attribute in entity.attributes:
            owner = owners.get(attribute.name, entity.name)
            refers = owner != entity.name and attribute.type.scalar
            attributes.append(replace(attribute, references=owner) if refers else attribute)
        result.append(replace(entity, attributes=tuple(attributes)))
    return result
