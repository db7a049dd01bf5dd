"""A school whose students have a name that becomes two, in several forms of the entity."""

from __future__ import annotations

from prejoin.design.model import TABLE, Design, Facet, Guard, Item
from prejoin.migrate.evolve.transition import CodeVersion
from tests.migrate.evolve.shop import _TABLE, index, version

STUDENTS = ("plain", "tenant", "index", "unique", "history")
"""Forms of the entity: the new value is nowhere else, in the key of an index, unique; it has a tenant, a history."""

_DOCUMENT = """# School
{tenant}
## Entities

### Student

- `studentId` (string, id)
- `fullName` (string, mutable)
- `score` (integer, mutable)
{added}
{history}
### Room

- `roomId` (string, id)
- `fullName` (string, mutable)

{entity}## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Student | Get student | studentId | Single | - | 10/s |
{reads}
### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Student | Enrol | studentId, fullName, score | create Student | 1/s |
"""


def document(form: str, *, has_new: bool, entity: str = "") -> str:
    """The document of a version."""
    by_last = "| AP-002 | Student | By last name | lastName | Collection | studentId | 5/s |\n"
    return _DOCUMENT.format(
        tenant="\n> Tenant: schoolId\n" if form == "tenant" else "",
        added="- `firstName` (string, optional, mutable)\n- `lastName` (string, optional, mutable)\n"
        if has_new
        else "",
        history="- `version` (integer, mutable)\n- **History**: 20 versions\n" if form == "history" else "",
        reads=by_last if form == "index" and has_new else "",
        entity=entity,
    )


def school(name: str, form: str, *, has_new: bool, entity: str = "") -> CodeVersion:
    """A version with or without the new attributes, firstName and lastName."""
    before = "SCHOOL#{schoolId}#" if form == "tenant" else ""
    facets = [Facet(TABLE, (before + "STUDENT#{studentId}",), ("STUDENT",))]
    slots = [_TABLE]
    guards = [Guard("Student", ("lastName",))] if form == "unique" and has_new else []
    if form == "index" and has_new:
        slots.append(index("gsi1"))
        facets.append(Facet("gsi1", ("LAST#{lastName}",), ("{studentId}",)))
    items = [
        Item("Student", "Student", tuple(facets)),
        Item("Room", "Room", (Facet(TABLE, (before + "ROOM#{roomId}",), ("ROOM",)),)),
    ]
    if entity:
        items.append(Item("Phone", "Phone", (Facet(TABLE, ("STUDENT#{studentId}",), ("PHONE#{number}",)),)))
    text = document(form, has_new=has_new, entity=entity)
    return version(name, text, Design("school", tuple(slots), tuple(items), tuple(guards)))
