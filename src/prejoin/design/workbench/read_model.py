"""Reads a NoSQL Workbench model into a design and a workload, with diagnostics for any text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
from prejoin.design.workbench.description import Described, read_description
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
from prejoin.workload.document.read_document import MOST_CHARACTERS
from prejoin.workload.model import Attribute, Entity, Status, Workload
from prejoin.workload.shorthand import write_out

GUARD = ".unique."
"""Separates the entity from the attributes in the name of a guard's facet."""
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
        return _failed(None, f"the model has more than {MOST_CHARACTERS:,} characters", "leave out most of the samples")
    try:
        plain, spans = read_tree(text, "json")
        model: DataModel = convert_tree(plain, spans, DataModel)
    except NotATreeError as problem:
        return _failed(problem.span, f"this is not a model of NoSQL Workbench: {problem}", fix)
    names = [one.table_name for one in model.data_model]
    if not names or (table and table not in names):
        wanted = f"there is no table `{table}` in the model" if names else "the model has no table"
        return _failed(None, wanted, f"the tables are {', '.join(names)}" if names else fix)
    at = names.index(table) if table else 0
    reader = _Reader(model, model.data_model[at], at, spans)
    if len(names) > 1 and not table:
        others = ", ".join(f"`{name}`" for name in names[1:])
        message = f"read is `{names[0]}`; not read: {others}"
        reader.say(codes.OTHER_TABLES, (), message, "say `--table NAME` for another")
    found = reader.read()
    return WorkbenchReading(record_attributes(found.design, found.workload), found.workload, found.diagnostics)


def _failed(span: Span | None, message: str, fix: str) -> WorkbenchReading:
    return WorkbenchReading(Design(""), Workload(), (codes.NOT_A_MODEL.at(span, message, fix),))


@dataclass(slots=True)
class _Reader:
    model: DataModel
    table: WorkbenchTable
    at: int
    spans: Mapping[Path, Span]
    said: list[Diagnostic] = field(default_factory=list)
    described: Described = field(default_factory=Described)
    type_attribute: str = ""
    """The attribute with the type of an item, if the samples have one."""

    def say(self, code: Code, path: Path, message: str, fix: str) -> None:
        here: Path = ("Data_model", self.at, *path)
        span = next((self.spans[here[:n]] for n in range(len(here), 0, -1) if here[:n] in self.spans), None)
        self.said.append(code.at(span, message, fix))

    # --- The whole --------------------------------------------------------------------------------------------------

    def read(self) -> WorkbenchReading:
        self.described = read_description(self.model.model_metadata.description)
        for line, why in self.described.wrong:
            self.say(codes.LINE, (), f"“{line}” in the description: {why}", "correct it, or take the line out")
        slots = (self._slot(TABLE, self.table.key_attributes), *self._indexes())
        groups, guards, separator = self._groups(slots)
        names = [key.attribute_name for key in _keys(self.table.key_attributes)]
        owners = owners_of(groups, names, separator)
        found = [self._stored(group, slots, separator, owners) for group in groups]
        entities = _referring(_merged(entity for _, entity in found), self.described.entities)
        raw = self.described.raw if self.described.separator else True
        design = Design(
            self._table_name(),
            slots,
            tuple(item for item, _ in found),
            guards,
            type_attribute=self.type_attribute or "entityType",
            separator=separator,
            raw_keys=raw,
            billing=Billing.ON_DEMAND if self.table.billing_mode == "PAY_PER_REQUEST" else Billing.PROVISIONED,
        )
        if raw and not self.described.separator:
            message = "keys are written as the samples show, without escapes"
            self.say(codes.RAW, (), message, "set `rawKeys` to false in a table that is new")
        title = " ".join(self.model.model_name.split()) or design.table
        workload = Workload(title, Status.DRAFT, self.described.overview, entities=tuple(entities))
        self.said += misfits(design, workload)
        if not has_errors(self.said):
            workload = self._with_patterns(workload, design)
        return WorkbenchReading(design, workload, in_order(self.said))

    def _with_patterns(self, workload: Workload, design: Design) -> Workload:
        """The workload with access patterns: from the description, or a sketch of what the keys serve."""
        told = self.described.patterns
        if told.patterns:
            asked = write_out(replace(workload, reads=told.reads, writes=told.writes, deletes=told.deletes))
            problem = next((d for d in check(asked) if d.severity is Severity.ERROR), None)
            if problem is None:
                return asked
            message = f"the access patterns of the description are not for this table: {problem.message}"
            self.say(codes.LINE, (), message, problem.fix)
        asked = sketch_patterns(workload, design)
        message = f"the {len(asked.patterns)} access patterns are a sketch, made from the keys"
        self.say(codes.SKETCH, (), message, "remove those that are not needed, and add missing ones")
        return asked

    def _table_name(self) -> str:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.table.table_name).strip("-")[:255]
        return name if _TABLE_NAME.fullmatch(name) else f"table-{name}"[:255]

    # --- Slots ------------------------------------------------------------------------------------------------------

    def _indexes(self) -> Iterator[Slot]:
        seen = {TABLE}
        for number, index in enumerate(self.table.global_secondary_indexes):
            if index.index_name in seen:
                message = f"the index `{index.index_name}` is there twice"
                self.say(codes.NOT_A_MODEL, ("Global_secondary_indexes", number), message, "name each once")
                continue
            seen.add(index.index_name)
            yield self._slot(index.index_name, index.key_attributes, self._projection(index))

    def _slot(self, name: str, keys: WorkbenchKeys, projection: Projection = Projection()) -> Slot:  # noqa: B008 - frozen
        pk = keys.partition_key
        sk = (KeyAttribute(keys.sort_key.attribute_name, keys.sort_key.attribute_type),) if keys.sort_key else ()
        return Slot(name, (KeyAttribute(pk.attribute_name, pk.attribute_type),), sk, projection)

    def _projection(self, index: WorkbenchIndex) -> Projection:
        kind = index.projection.projection_type
        names = index.projection.non_key_attributes or ()
        keys = {key.attribute_name for key in _keys(self.table.key_attributes)}
        held = tuple(name for name in names if name not in keys)
        known = kind in ProjectionKind.__members__ and (kind == "INCLUDE") >= bool(held)
        return Projection(ProjectionKind(kind), held) if known else Projection()

    # --- Items ------------------------------------------------------------------------------------------------------

    def _groups(self, slots: Sequence[Slot]) -> tuple[list[SampleGroup], tuple[Guard, ...], str]:
        must = {key.attribute_name: key.attribute_type for key in _keys(self.table.key_attributes)}
        of_facets: list[SampleGroup] = []
        guards: list[Guard] = []
        for number, facet in enumerate(self.table.table_facets):
            alias = facet.key_attribute_alias
            path: Path = ("Table_facets", number, "Table_data")
            samples = self._usable(facet.table_data, path, must)
            if GUARD in facet.facet_name and self.described.separator:
                owner, _, names = facet.facet_name.partition(GUARD)
                guards.append(Guard(owner, tuple(names.split("+"))))
            elif samples:
                aliases = alias.partition_key_alias, alias.sort_key_alias or ""
                of_facets.append(SampleGroup(facet.facet_name, samples, "", *aliases))
        loose = self._usable(self.table.table_data, ("Table_data",), must)
        everything = [sample for group in of_facets for sample in group.samples] + loose
        keys = frozenset(a.name for slot in slots for a in (*slot.pk, *slot.sk))
        texts = [text for s in everything for name in keys if (text := text_of(s.get(name))) and is_physical(name)]
        separator = self.described.separator or separator_of(texts)
        type_attribute = self.described.type_attribute or type_attribute_of(everything, keys)
        groups = groups_of(self.table, loose, separator, type_attribute)
        for facet_group in reversed(of_facets):
            mine = [facet_group]
            if not self.described.separator:
                mine = groups_of(self.table, facet_group.samples, separator, type_attribute, facet_group)
            groups[0:0] = mine
        if not groups:
            groups = [SampleGroup(entity_name(self.table.table_name))]
            message = f"the table `{self.table.table_name}` has no sample items"
            self.say(codes.NO_SAMPLES, (), message, "add some of each kind in NoSQL Workbench, and export it again")
        tags = [{text_of(sample.get(type_attribute)) or "" for sample in group.samples} for group in groups]
        if type_attribute and all(len(of_one) < 2 for of_one in tags):
            self.type_attribute = type_attribute
            for group, of_one in zip(groups, tags, strict=True):
                group.tag = max(of_one, default="")
        _name_apart(groups, ours=bool(self.described.separator))
        return groups, tuple(guards), separator

    def _usable(self, samples: Sequence[Sample], path: Path, must: Mapping[str, str]) -> list[Sample]:
        """The samples with a complete key and valid values."""
        found = []
        for number, sample in enumerate(samples):
            lacking = [name for name, type_ in must.items() if not _has(sample, name, type_)]
            if lacking:
                message = f"a sample has no `{lacking[0]}` of type {must[lacking[0]]}, which is part of the key"
                self.say(codes.BAD_SAMPLE, (*path, number), message, "give it a whole key; it is left aside")
                continue
            wrong = [name for name, value in sample.items() if not is_value(value) or not name]
            if wrong:
                message = f"`{wrong[0]}` of a sample is not a value in DynamoDB's JSON"
                self.say(codes.BAD_SAMPLE, (*path, number), message, 'write it as `{"S": "text"}`; it is left aside')
            found.append({name: value for name, value in sample.items() if name not in wrong})
        return found

    def _stored(
        self, group: SampleGroup, slots: Sequence[Slot], separator: str, owners: Mapping[str, str]
    ) -> tuple[Item, Entity]:
        """The item of a group and its entity, from the description or from the samples."""
        name, copy = _split_copy(group.name, ours=bool(self.described.separator))
        described = self.described.facets.get((name, copy))
        known = self.described.entities.get(name)
        keys = frozenset(a.name for s in slots for a in (*s.pk, *s.sk) if is_physical(a.name)) | {self.type_attribute}
        shown = RecoveredKey(group.samples, owners, keys, separator)
        facets = [self._facet(group, slot, shown, described) for slot in slots]
        there = tuple(facet for facet in facets if facet is not None)
        held = self.described.held.get((name, copy), ())
        item = Item(name, group.tag or (f"{name}.{copy}" if copy else name), there, copy, held)
        if shown.invented:
            names = " and ".join(f"`{one}`" for one in shown.invented)
            message = f"parts of the keys of `{name}` are in no attribute: they are called {names} here"
            self.say(codes.INVENTED, (), message, "rename those that have other names")
        seen = self._entity(name, group, shown, there)
        if not known or not described:
            return item, seen
        # The description does not know the attributes of keys that it does not list.
        used = {one for facet in there for text in (*facet.pk, *facet.sk) for one in fields_of(text)}
        added = [a for a in seen.attributes if a.name in used and known.attribute(a.name) is None]
        return item, replace(known, attributes=(*known.attributes, *added))

    def _facet(
        self, group: SampleGroup, slot: Slot, shown: RecoveredKey, described: list[Facet] | None
    ) -> Facet | None:
        told = next((f for f in described or () if f.slot == slot.name), None)
        names = [a.name for a in (*slot.pk, *slot.sk)]
        inside = [s for s in group.samples if all(_has(s, a.name, a.type) for a in (*slot.pk, *slot.sk))]
        if told is not None and len(told.pk) == len(slot.pk) and len(told.sk) == len(slot.sk):
            self._compare(group, slot, told, inside)
            return told
        if slot.name != TABLE and not inside:
            return None
        outside = [s for s in group.samples if s not in inside]
        called = dict(zip(names, (group.pk, group.sk), strict=False)) if slot.name == TABLE else {}
        before = set(shown.natural)
        pk, sk = (tuple(shown.template(a, inside, called.get(a.name, "")) for a in side) for side in (slot.pk, slot.sk))
        for name in sorted(shown.natural - before):
            message = f"the samples of `{group.name}` do not show what `{name}` is made of"
            self.say(codes.NOT_TAKEN_APART, (), message, "write it into the design, `USER#{userId}`")
        fields = frozenset(name for text in (*pk, *sk) for name in fields_of(text))
        when = when_of(inside, outside, fields - shown.invented.keys(), shown.keys) if inside else ()
        return Facet(slot.name, pk, sk, when)

    def _compare(self, group: SampleGroup, slot: Slot, told: Facet, inside: Sequence[Sample]) -> None:
        """Report samples whose key differs from the description."""
        entity = self.described.entities.get(_split_copy(group.name, ours=True)[0])
        types = {a.name: a.type for a in entity.attributes} if entity else {}
        for attribute, text in zip((*slot.pk, *slot.sk), (*told.pk, *told.sk), strict=True):
            if text == f"{{{attribute.name}}}":
                continue
            try:
                template = Template.of(text, types, self.described.separator, self.described.raw)
                wrong = [s for s in inside if not template.matches(text_of(s.get(attribute.name)) or "")]
            except (TemplateError, KeyValueError):
                continue  # the design's validation reports whether it can be a template
            if wrong:
                value = text_of(wrong[0].get(attribute.name))
                message = f"`{value}` of a sample of `{group.name}` is not a key of `{text}`"
                self.say(codes.NOT_ITS_KEY, (), message, "correct the sample, or the line in the description")

    def _entity(self, name: str, group: SampleGroup, shown: RecoveredKey, facets: Sequence[Facet]) -> Entity:
        own = facets[0]
        ids = dict.fromkeys(n for text in (*own.pk, *own.sk) for n in fields_of(text))
        used = dict.fromkeys(n for facet in facets for text in (*facet.pk, *facet.sk) for n in fields_of(text))
        present = [n for n in attributes_in(group.samples) if n not in shown.keys or n in used]
        present = [n for n in present if n != self.type_attribute]
        if not group.samples:
            present = [a.attribute_name for a in self.table.non_key_attributes]
        attributes = []
        for n in dict.fromkeys((*ids, *used, *present)):
            values = [sample[n] for sample in group.samples if n in sample]
            optional = n not in ids and n not in shown.invented and len(values) < len(group.samples)
            attributes.append(Attribute(n, self._type(n, values), id=n in ids, optional=optional))
        return Entity(name, attributes=tuple(attributes), singleton=not ids)

    def _type(self, name: str, values: Sequence[object]) -> Type:
        keys = [*_keys(self.table.key_attributes), *self.table.non_key_attributes]
        keys += [key for index in self.table.global_secondary_indexes for key in _keys(index.key_attributes)]
        declared = next((key.attribute_type for key in keys if key.attribute_name == name), "S")
        found = type_of(values or [{declared: "1"}])
        natural = {"N": Kind.NUMBER, "B": Kind.BINARY}.get(declared)
        return found if values or natural is None else Type(natural)


def _keys(keys: WorkbenchKeys) -> list[WorkbenchAttribute]:
    return [keys.partition_key, *([keys.sort_key] if keys.sort_key else [])]


def _has(sample: Sample, name: str, type_: str) -> bool:
    value = sample.get(name)
    return is_value(value) and isinstance(value, dict) and bool(value.get(type_))


def _split_copy(name: str, ours: bool) -> tuple[str, str]:
    entity, _, copy = name.partition(".") if ours else (name, "", "")
    return entity, copy


def _name_apart(groups: Sequence[SampleGroup], ours: bool) -> None:
    """Give each type a unique name that an entity can have."""
    taken: set[str] = set()
    for group in groups:
        name = group.name if ours else entity_name(group.name)
        number = 1
        while (found := name if number == 1 else f"{name}{number}") in taken:
            number += 1
        taken.add(found)
        group.name = found


def _merged(entities: Iterable[Entity]) -> list[Entity]:
    """Each entity once, with the attributes of its item and its copies."""
    found: dict[str, Entity] = {}
    for entity in entities:
        first = found.setdefault(entity.name, entity)
        added = [a for a in entity.attributes if first.attribute(a.name) is None]
        if added:
            found[entity.name] = replace(first, attributes=(*first.attributes, *added))
    return list(found.values())


def _referring(entities: Sequence[Entity], told: Collection[str]) -> list[Entity]:
    """Mark attributes with the name of another entity's id as references. Described entities stay as they are."""
    owners: dict[str, list[str]] = {}
    for entity in entities:
        if len(entity.id) == 1:
            owners.setdefault(entity.id[0].name, []).append(entity.name)
    found = []
    for entity in entities:
        attributes = []
        for a in entity.attributes:
            owner = owners.get(a.name, [])
            refers = len(owner) == 1 and owner[0] != entity.name and entity.name not in told and a.type.scalar
            attributes.append(replace(a, references=owner[0]) if refers else a)
        found.append(replace(entity, attributes=tuple(attributes)))
    return found
