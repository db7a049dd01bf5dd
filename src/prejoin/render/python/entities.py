"""Renders `entities.py`: dataclasses, msgspec structs or pydantic models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from prejoin.render.python.layout import (
    STEP,
    Group,
    Imports,
    Part,
    call,
    comment,
    docstring,
    keyword,
    lay,
    listing,
    mapping,
    string,
)
from prejoin.render.python.names import Names
from prejoin.render.python.values import annotation, constant_text
from prejoin.workload.model import Attribute, Entity, Workload

Style = Literal["dataclass", "msgspec", "pydantic"]


@dataclass(frozen=True, slots=True)
class View:
    """A class with some attributes of an entity, for reads that need no others."""

    name: str
    entity: str
    attributes: tuple[str, ...]


def with_other_values(text: str, values: Sequence[tuple[str, Part]], style: Style, imports: Imports) -> Group:
    """The code of an object of an entity, `text`, with some other values."""
    match style:
        case "pydantic":
            return call(f"{text}.model_copy", keyword("update", mapping((string(n), value) for n, value in values)))
        case "msgspec":
            imports.name("msgspec.structs", "replace")
        case "dataclass":
            imports.name("dataclasses", "replace")
        case _:
            assert_never(style)
    return call("replace", text, *(keyword(name, value) for name, value in values))


def entities_module(workload: Workload, names: Names, views: Sequence[View], style: Style) -> list[str]:
    imports = Imports()
    body: list[str] = []
    for entity in workload.entities:
        for attribute in entity.attributes:
            if alias := names.enums.get((entity.name, attribute.name)):
                imports.name("typing", "Literal")
                values = listing(map(string, attribute.type.values), f"{alias} = Literal")
                body += lay(values)
    for entity in workload.entities:
        note = names.classes[entity.name]
        note_text = f"{entity.name!r} in the document" if note.lower() != entity.name.lower() else ""
        texts = [entity.description or entity.name, note_text]
        body += ["", "", *_class(note, entity, entity.attributes, names, imports, style, texts)]
    for view in views:
        entity_ = workload.entity(view.entity)
        assert entity_ is not None  # views are of entities that were read
        view_attributes = [a for a in entity_.attributes if a.name in view.attributes]
        texts = [f"Some of {names.classes[view.entity]}: what some reads give back"]
        body += ["", "", *_class(view.name, entity_, view_attributes, names, imports, style, texts)]
    head = docstring(f"What {workload.title or 'the application'} stores.")
    return [*head, "", *imports.lines(), *([] if body[:1] == [""] else [""]), *body]


def _class(
    name: str,
    entity: Entity,
    attributes: Iterable[Attribute],
    names: Names,
    imports: Imports,
    style: Style,
    texts: Sequence[str],
) -> list[str]:
    lines = [*_opening(name, style, imports), *docstring(texts[0], *texts[1:], indent=STEP), ""]
    for attribute in attributes:
        if note := names.note(entity.name, attribute.name):
            lines += comment(note, STEP)
        # What may be absent is None by default; a required attribute with a default has that.
        type_ = annotation(attribute.type, imports, names.enums.get((entity.name, attribute.name), ""))
        absent = " | None = None" if attribute.optional else ""
        if attribute.default is not None and not attribute.optional:
            absent = f" = {constant_text(attribute.default, attribute, imports)}"
        lines.append(f"{STEP}{names.field(entity.name, attribute.name)}: {type_}{absent}")
    return lines if lines[-1] else lines[:-1]


def _opening(name: str, style: Style, imports: Imports) -> list[str]:
    match style:
        case "dataclass":
            imports.name("dataclasses", "dataclass")
            return ["@dataclass(kw_only=True, slots=True)", f"class {name}:"]
        case "msgspec":
            imports.name("msgspec", "Struct")
            return [f"class {name}(Struct, kw_only=True):"]
        case "pydantic":
            imports.name("pydantic", "BaseModel")
            return [f"class {name}(BaseModel):"]
        case _:
            assert_never(style)
