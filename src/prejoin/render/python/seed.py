"""Renders `seed.py`: a sample item of each entity, with valid references, and a function that writes them."""

from __future__ import annotations

from prejoin.design.document.samples import sample_values
from prejoin.design.model import Design
from prejoin.render.python.layout import STEP, Group, Imports, call, docstring, keyword, lay
from prejoin.render.python.names import Names
from prejoin.render.python.values import literal
from prejoin.workload.field_names import identifier
from prejoin.workload.model import Entity, Workload


def seed_module(workload: Workload, design: Design, names: Names) -> list[str]:
    imports = Imports()
    imports.name("prejoin", "Client")
    entities = [e for e in workload.entities if design.item(e.name)]
    body: list[str] = []
    for entity in entities:
        cls = names.classes[entity.name]
        imports.name(".entities", cls)
        values = sample_values(workload, entity, design)
        fields = [keyword(names.field(entity.name, n), literal(v, imports)) for n, v in values.items()]
        body += ["", "", *lay(Group(f"def {maker(names, entity)}() -> (", (cls,), "):", commas=False, loose=True))]
        body += lay(call(f"return {cls}", *fields), STEP)
    records = Group("records = [", tuple(f"{maker(names, entity)}()" for entity in entities), "]")
    body += ["", "", "def fill(db: Client) -> None:", *docstring("Writes an item of each entity.", indent=STEP)]
    body += [*lay(records, STEP), f"{STEP}for record in records:", f"{STEP * 2}db.insert(record)"]
    head = docstring(f"Sample data of {workload.title or 'the application'}: items that belong together.")
    return [*head, "", *imports.lines(), *body]


def maker(names: Names, entity: Entity) -> str:
    """The name of the function that makes a sample of an entity."""
    name = identifier(names.classes[entity.name])
    return f"{name}_" if name in {"fill", "records", "record"} else name
