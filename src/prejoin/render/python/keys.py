"""Renders `keys.py`: functions that build the keys of items, for code that does not use the repository."""

from __future__ import annotations

from dataclasses import replace

from prejoin.render.python.context import RenderContext
from prejoin.render.python.layout import STEP, Group, Imports, Part, call, docstring, keyword, lay
from prejoin.workload.field_names import identifier
from prejoin.workload.model import Entity


def keys_module(repository: RenderContext) -> list[str]:
    """The lines of the module. It has other imports than the repository."""
    module = replace(repository, imports=Imports())
    module.imports.name(".schema", "SCHEMA")
    body: list[str] = ["", "Key = dict[str, dict[str, str]]", '"""A key in DynamoDB JSON, as every SDK takes it."""']
    for entity in module.workload.entities:
        body += _builder(module, entity)
    title = module.workload.title or "the application"
    head = docstring(f"The keys of {title}, for what goes past the repository.")
    return [*head, "", *module.imports.lines(), *body]


def _builder(module: RenderContext, entity: Entity) -> list[str]:
    """The function that builds the key of an entity's items in the table."""
    item = module.design.item(entity.name)
    if item is None:
        return []
    cls = module.cls(entity.name)
    key_attributes = module.key_attributes(entity)
    parameters: list[Part] = []
    arguments: list[Part] = []
    for attribute in entity.attributes:
        if attribute.name in key_attributes:
            field = module.names.field(entity.name, attribute.name)
            parameters.append(f"{field}: {module.type_of(entity.name, attribute)}")
            arguments.append(keyword(field, field))
    opening = Group(f"def {identifier(cls)}_key(", tuple(parameters), ") -> Key:")
    key = call("return SCHEMA.key", cls, *arguments)
    templates = " / ".join(f"`{text}`" for text in item.facets[0].templates)
    return ["", "", *lay(opening), *docstring(f"{templates} in the table.", indent=STEP), *lay(key, STEP)]
