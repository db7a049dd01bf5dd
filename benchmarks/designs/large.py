"""Large workloads, made up but not at random: the same for the same size. How long they take to solve and to prove."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from common.tables import amount, table
from corpus.convert import convert
from corpus.source import Fields
from designs.exam import Place, proven, solved
from prejoin.workload.model import Workload

SIZES = ((10, 20), (20, 60), (50, 150))
"""Entities and patterns."""
_GROUP = 5


def measured(
    places: Mapping[str, Place], say: Callable[[str], None], sizes: tuple[tuple[int, int], ...] = SIZES
) -> str:
    """A table of how long each size takes."""
    rows = []
    for entities, patterns in sizes:
        for linked in (False, True):
            name = f"{entities} entities, {patterns} patterns, " + ("all linked" if linked else "in groups")
            say(name)
            workload = made(entities, patterns, linked=linked)
            ours, design = solved(workload)
            served = sum(one.served for one in ours.answered.values())
            proofs = [proven(workload, design, place, "large") for place in places.values()]
            row = [name, f"{ours.gsis} + {ours.copies}", f"{served}/{patterns}", amount(ours.seconds)]
            row += [cell for p in proofs for cell in (p.error or f"{p.right}/{p.of}", amount(p.seconds))]
            rows.append([*row, "yes" if ours.exact else "no"])
    head = ["", "GSIs + copies", "served", "solved in"]
    head += [cell for place in places for cell in (f"proven, {place}", "in")]
    return table([*head, "exact"], rows)


def made(entities: int, patterns: int, *, linked: bool, seed: int = 1) -> Workload:
    """A workload of that size. Linked, reads go from each group of entities into the next.

    >>> workload = made(10, 20, linked=True)
    >>> len(workload.entities), len(workload.patterns)
    (10, 20)
    """
    groups = -(-entities // _GROUP)
    described: list[dict[str, Any]] = []
    for group in range(groups):
        described += _entities(group, (group + 1) % groups if linked else group)
    described = described[:entities]
    names = {one["name"] for one in described}
    asked = [p for g in range(groups) for p in _patterns(g, (g + 1) % groups, linked) if set(p["entities"]) <= names]
    chance = random.Random(seed)
    # As many of each group as of the others; which of them, chance says, but always the same.
    order = sorted(range(len(asked)), key=lambda at: (asked[at]["weight"], chance.random()))
    chosen = sorted(order[:patterns])
    kept = [{**asked[at], "id": f"AP{number:03}"} for number, at in enumerate(chosen, 1)]
    for one in kept:
        del one["weight"]
    return convert(Fields({"name": "large", "entities": described, "access_patterns": kept}, "large"))


def _entities(group: int, other: int) -> list[dict[str, Any]]:
    owner, order, line, member, event = (f"{kind}{group}" for kind in ("Owner", "Order", "Line", "Member", "Event"))
    own, far = f"owner{group}Id", f"owner{other}Id"
    made_at = {"createdAt": "datetime"}
    return [
        {
            "name": owner,
            "id": [own],
            "attributes": {own: "S", "email": "S", "name": "S", "country": "S", **made_at},
            "mutable": ["name", "country"],
        },
        {
            "name": order,
            "id": [f"order{group}Id"],
            "attributes": {f"order{group}Id": "S", own: "S", "status": "S", "total": "N", **made_at},
            "mutable": ["status", "total"],
            "immutable": [own, "createdAt"],
            "enum": {"status": ["OPEN", "PAID", "DONE"]},
            "parent": owner,
        },
        {
            "name": line,
            "id": [f"order{group}Id", f"line{group}Id"],
            "attributes": {f"order{group}Id": "S", f"line{group}Id": "S", "sku": "S", "quantity": "N"},
            "mutable": ["quantity"],
            "parent": order,
        },
        {
            "name": member,
            "id": [own, f"order{group}Id"],
            "attributes": {own: "S", f"order{group}Id": "S", "role": "S", **made_at},
            "relationship": f"M:N {owner}-{order}",
        },
        {
            "name": event,
            "id": [f"event{group}Id"],
            "attributes": {f"event{group}Id": "S", **dict.fromkeys((own, far), "S"), "kind": "S", **made_at},
            "immutable": [own, far, "kind", "createdAt"],
        },
    ]


def _patterns(group: int, other: int, linked: bool) -> list[dict[str, Any]]:
    """What may be asked of a group. The weight says what is asked first when not all of it is."""
    owner, order, line, member, event = (f"{kind}{group}" for kind in ("Owner", "Order", "Line", "Member", "Event"))
    own, order_id, far = f"owner{group}Id", f"order{group}Id", f"owner{other}Id"
    newest = {"attr": "createdAt", "dir": "desc"}
    between = {"attr": "createdAt", "op": "between"}

    def read(weight: int, name: str, entities: list[str], given: list[str], **more: Any) -> dict[str, Any]:
        one = {"returns": "many", **more}
        return {"name": name, "kind": "read", "entities": entities, "given": given, "weight": weight, **one}

    def write(weight: int, name: str, entity: str, action: str, given: list[str], **more: Any) -> dict[str, Any]:
        one = {"action": action, **more}
        return {"name": name, "kind": "write", "entities": [entity], "given": given, "weight": weight, **one}

    return [
        read(0, f"{owner} and orders", [owner, order], [own]),
        read(0, f"{order} and lines", [order, line], [order_id]),
        read(0, f"orders of {owner} by status", [order], [own, "status"], sort=newest),
        read(1, f"{owner} by email", [owner], ["email"], returns="one"),
        read(1, f"members of {order}", [member], [order_id]),
        read(1, f"orders of a member of {owner}", [member], [own], sort=newest),
        read(1, f"events of {owner}", [event], [own], range=between, sort=newest),
        read(2, f"{owner} by id", [owner], [own], returns="one"),
        read(2, f"{order} by id", [order], [order_id], returns="one"),
        read(2, f"orders of {owner} newest first", [order], [own], sort=newest),
        *([read(0, f"Owner{other} and {event}", [f"Owner{other}", event], [far])] if linked else []),
        write(1, f"create {owner}", owner, "create", [own]),
        write(2, f"create {order}", order, "create", [order_id, own]),
        write(1, f"set status of {order}", order, "update", [own, order_id], sets=["status"]),
        write(2, f"add {line}", line, "create", [order_id, f"line{group}Id"]),
        write(2, f"remove {line}", line, "delete", [order_id, f"line{group}Id"]),
        write(2, f"join {member}", member, "create", [own, order_id]),
        write(2, f"leave {member}", member, "delete", [own, order_id]),
        write(2, f"record {event}", event, "create", [f"event{group}Id", own]),
        read(3, f"{owner}s of a country", [owner], ["country"]),
        read(3, f"events of a kind in group {group}", [event], ["kind"], range=between),
    ]
