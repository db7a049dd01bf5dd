"""Designs of a small shop, to evolve from one to another."""

from __future__ import annotations

from functools import cache

from msgspec.structs import replace

from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, Guard, Item, KeyAttribute, Slot, design_with_names
from prejoin.migrate.evolve.transition import CodeVersion
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

OLD = """# Shop

## Entities

### User

- `userId` (string, id)
- `email` (string, mutable)
- `name` (string, mutable)

### Order

- `orderId` (string, id)
- `userId` (string, → User)
- `placedAt` (datetime)
- `status` (OPEN | PAID | SENT, mutable)
- `total` (integer, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | User | Get user | userId | Single | - | 10/s |
| AP-002 | Order | Orders of user | userId | Collection | placedAt | 10/s |
| AP-003 | Order | Get order | orderId | Single | - | 10/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | User | Register | userId, email, name | create User | 1/s |
| AP-011 | User | Change email | userId, email | update User | 1/s |
| AP-012 | Order | Place order | orderId, userId, placedAt, status, total | create Order | 5/s |
| AP-013 | Order | Change status | orderId, status | update Order | 5/s |
| AP-014 | Order | Change total | orderId, total | update Order | 5/s |

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Order | Cancel | orderId | delete Order | 1/s |
"""

MORE = """| AP-004 | Order | Orders with status | status | Collection | placedAt | 5/s |
| AP-005 | User | User by email | email | Single | - | 5/s |
"""
NEW = OLD.replace("\n### Writes", f"{MORE}\n### Writes").replace(
    "- `name` (string, mutable)", '- `name` (string, mutable)\n- `language` (string, mutable, default="en")'
)

_KEY = (KeyAttribute("pk"),), (KeyAttribute("sk"),)
_TABLE = Slot(TABLE, *_KEY)
_BY_USER = ("USER#{userId}",), ("ORDER#{placedAt}#{orderId}",)
_BY_STATUS = ("STATUS#{status}",), ("ORDER#{placedAt}#{orderId}",)


def index(name: str) -> Slot:
    return Slot(name, (KeyAttribute(f"{name}pk"),), (KeyAttribute(f"{name}sk"),))


USER = Item("User", "User", (Facet(TABLE, ("USER#{userId}",), ("USER",)),))
USER_BY_EMAIL = replace(USER, facets=(*USER.facets, Facet("gsi1", ("EMAIL#{email}",), ("USER#{userId}",))))
ORDER = Item("Order", "Order", (Facet(TABLE, ("ORDER#{orderId}",), ("ORDER",)), Facet("gsi1", *_BY_USER)))
ORDER_BY_STATUS = replace(ORDER, facets=(*ORDER.facets, Facet("gsi2", *_BY_STATUS)))
MOVED_ORDER = Item("Order", "Order2", (Facet(TABLE, ("O#{orderId}",), ("O",)), Facet("gsi3", *_BY_USER)))
STATUS_COPY = Item("Order", "Order.by-status", (Facet(TABLE, *_BY_STATUS),), "by-status")

FEW = Design("shop", (_TABLE, index("gsi1")), (USER, ORDER))
MANY = Design(
    "shop", (_TABLE, index("gsi1"), index("gsi2")), (USER_BY_EMAIL, ORDER_BY_STATUS), (Guard("User", ("email",)),)
)
COPIED = Design("shop", (_TABLE, index("gsi1")), (USER_BY_EMAIL, ORDER, STATUS_COPY))
MOVED = Design("shop", (_TABLE, index("gsi3")), (USER, MOVED_ORDER))


@cache
def workload(text: str) -> Workload:
    return read_text(text, "md").workload


def version(name: str, text: str, design: Design) -> CodeVersion:
    return CodeVersion(name, workload(text), map_patterns(design, workload(text)))


def few(name: str) -> CodeVersion:
    """Users by id, orders by id and user."""
    return version(name, OLD, FEW)


def many(name: str) -> CodeVersion:
    """As `few`, with an index by status and unique emails."""
    return version(name, NEW, MANY)


def copied(name: str) -> CodeVersion:
    """As `many`, with a copy for the status instead of an index, and emails that are not unique."""
    return version(name, NEW, COPIED)


def moved(name: str) -> CodeVersion:
    """As `few`, with another key for orders."""
    return version(name, OLD, MOVED)


# --- Other names ----------------------------------------------------------------------------------------------------

NAMES = {"User": "Customer", "Order": "Purchase"}


def in_new_names(text: str, names: dict[str, str]) -> str:
    """A document with other names of entities."""
    for was, now in names.items():
        for before, after in ((f"### {was}\n", f"### {now}\n"), (f"→ {was}", f"→ {now}"), (f"| {was} |", f"| {now} |")):
            text = text.replace(before, after)
        for verb in ("create", "update", "delete"):
            text = text.replace(f"{verb} {was} ", f"{verb} {now} ")
        text = text.replace(f"### {now}\n", f"### {now}\n\n- **Renamed from**: {was}\n")
    return text


def renamed(name: str) -> CodeVersion:
    """As `few`, with other names of entities."""
    return version(name, in_new_names(OLD, NAMES), design_with_names(FEW, NAMES))


def many_renamed(name: str) -> CodeVersion:
    """As `many`, with other names of entities."""
    return version(name, in_new_names(NEW, NAMES), design_with_names(MANY, NAMES))


def renamed_member(name: str) -> CodeVersion:
    """As `many`, with another name of a member of an enum, which is in the key of an index."""
    return version(name, NEW.replace("| SENT", "| SHIPPED renamed from SENT"), MANY)
