"""Renders `keys.py`: functions that build the keys of items, for code that does not use the repository."""

from __future__ import annotations

from prejoin.design.mapping.facets import planner_facet
from prejoin.design.model import Design
from prejoin.render.python.layout import STEP, Group, Imports, call, docstring, keyword, lay
from prejoin.render.python.names import Names
from prejoin.render.python.values import annotation
from prejoin.workload.field_names import identifier
from prejoin.workload.model import Entity, Workload


def keys_module(workload: Workload, design: Design, names: Names) -> list[str]:
    imports = Imports()
    imports.name(".schema", "SCHEMA")
    body: list[str] = ["", "Key = dict[str, dict[str, str]]", '"""A key in DynamoDB JSON, as every SDK takes it."""']
    for entity in workload.entities:
        body += _builder(entity, design, names, imports)
    head = docstring(f"The keys of {workload.title or 'the application'}, for what goes past the repository.")
    return [*head, "", *imports.lines(), *body]


def _builder(entity: Entity, design: Design, names: Names, imports: Imports) -> list[str]:
    item = design.item(entity.name)
    if item is None:
        return []
    cls, fields, base = names.classes[entity.name], names.fields[entity.name], item.facets[0]
    imports.name(".entities", cls)
    key_attributes = planner_facet(design, entity, item, base).attributes
    attributes = [attribute for attribute in entity.attributes if attribute.name in key_attributes]
    parameters = []
    for attribute in attributes:
        enum = names.enums.get((entity.name, attribute.name), "")
        if enum:
            imports.name(".entities", enum)
        parameters.append(f"{fields[attribute.name]}: {annotation(attribute.type, imports, enum)}")
    opening = Group(f"def {identifier(cls)}_key(", tuple(parameters), ") -> Key:")
    key = call("return SCHEMA.key", cls, *(keyword(fields[a.name], fields[a.name]) for a in attributes))
    templates = " / ".join(f"`{text}`" for text in base.templates)
    return ["", "", *lay(opening), *docstring(f"{templates} in the table.", indent=STEP), *lay(key, STEP)]
