"""A random walk over the commands of `prejoin evolve`: in any order and direction, with kills, and with stragglers.

Code of every version writes at any time, also where nobody should let it run. At the end the change is finished in the
direction that it has. Then every object exists once, with the value that was written last, and nothing else does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prejoin import Client, Embedded, InputError, RefusedError
from prejoin.migrate.evolve.abort import abort_on
from prejoin.migrate.evolve.items import Evolution, StepResult, evolution_of
from prejoin.migrate.evolve.record import record_place
from prejoin.migrate.evolve.transition import CodeVersion, Transition, design_id, plan_transition
from prejoin.patterns.integrity.audit import audit
from prejoin.table.schema.bind import facet_tag
from prejoin.table.schema.pattern import STATE_TAG
from tests.migrate.evolve.application import Killed

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_MOST = 60
"""The most orders of a walk."""
_STEPS: tuple[Callable[[Evolution], StepResult], ...] = (Evolution.add_indexes, Evolution.backfill, Evolution.clean)


class Killer:
    """A transport that the walk writes through, and that sometimes kills the command."""

    concurrent = False

    def __init__(self, walk: Walk, kill: float) -> None:
        self._walk = walk
        self._kill = kill

    def send(self, operation: str, body: bytes) -> bytes:
        chance = self._walk.random
        if chance.random() < self._kill:
            raise Killed
        # Not more than a command can catch up with.
        if chance.random() < 0.05 and len(self._walk.orders) < _MOST:
            self._walk.write()
        answer = self._walk.engine.send(operation, body)
        if chance.random() < self._kill:
            raise Killed  # the request was applied, and the command does not know it
        return answer

    def close(self) -> None:
        pass


@dataclass
class Walk:
    """A table between two designs, and the objects that it must have."""

    first: CodeVersion
    second: CodeVersion
    folder: Path
    seed: int
    engine: Embedded = field(default_factory=Embedded)
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    refused: int = 0
    kills: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._number = 0
        self.forward = plan_transition(self.first, self.second)
        self.back = plan_transition(self.second, self.first)
        Client(self.first.package.schema, "shop", self.engine).create_table()

    # --- The application --------------------------------------------------------------------------------------------

    @property
    def versions(self) -> list[CodeVersion]:
        """The versions that may write now: all but those whose indexes the table does not have."""
        described = self._client(self.first).call("DescribeTable")["Table"]
        there = {one["IndexName"] for one in described.get("GlobalSecondaryIndexes") or ()}
        every = (self.first, self.forward.prepare, self.forward.switch, self.second)
        return [one for one in every if {slot.name for slot in one.design.indexes} <= there]

    def write(self) -> None:
        """Creates an object with any version of the code, or changes one of its own."""
        version = self.random.choice(self.versions)
        self._number += 1
        number = self._number
        client = self._client(version)
        if number % 4 == 0:
            user = {"userId": f"u{number}", "email": f"{number}@x", "name": "N"}
            client.insert(version.package.record(entity_name(version, "User"), user))
            self.users[f"u{number}"] = user
            return
        order = {
            "orderId": f"o{number}",
            "userId": f"u{number % 3}",
            "placedAt": _BEGIN + timedelta(seconds=number),
            "status": self.random.choice(("OPEN", "PAID", "SENT")),
            "total": number,
        }
        stored = {**order, "status": state_name(version, order["status"])}
        client.insert(version.package.record(entity_name(version, "Order"), stored))
        self.orders[f"o{number}"] = order
        if self.random.random() < 0.5:
            cls = version.package.classes[entity_name(version, "Order")]
            with client.update(cls, order_id=f"o{number}", read=True) as changed:
                changed.total = -number
            order["total"] = -number

    # --- The commands -----------------------------------------------------------------------------------------------

    def act(self) -> None:
        """Writes, or runs any command in any direction."""
        choice = self.random.random()
        if choice < 0.4:
            self.write()
        elif choice < 0.9:
            direction = self.forward if self.random.random() < 0.7 else self.back
            self.run(direction, self.random.choice(_STEPS), 0.02)
        else:
            self._abort(self.forward if self.random.random() < 0.7 else self.back)

    def run(self, transition: Transition, step: Callable[[Evolution], StepResult], kill: float = 0.0) -> None:
        client = Client(transition.old.package.schema, "shop", Killer(self, kill))
        name = f"{step.__name__} {transition.old.name} {transition.new.name}"
        try:
            with evolution_of(transition, client, self.folder) as evolution:
                result = step(evolution)
            self.log.append(f"{name}: {dict(result.written)} {[str(one) for one in result.undecided]}")
        except RefusedError as refusal:
            self.refused += 1
            self.log.append(f"{name} refused: {refusal}")
        except Killed:
            self.kills += 1
            self.log.append(f"{name} killed")

    def _abort(self, transition: Transition) -> None:
        try:
            abort_on(self._client(transition.old), transition, self.folder)
            self.log.append(f"abort {transition.old.name} {transition.new.name}")
        except (RefusedError, InputError) as refusal:
            self.refused += 1
            self.log.append(f"abort refused: {refusal}")

    # --- The end ----------------------------------------------------------------------------------------------------

    def finish(self) -> CodeVersion:
        """Ends the change that is under way, with no other writers; returns the version in force."""
        record = record_place(self._client(self.first), self.folder).read()
        change = record.change
        is_first = (change.source if change else record.design) in ("", design_id(self.first))
        goes_back = change is not None and change.direction == "back"
        direction = self.forward if is_first is not goes_back else self.back
        self.engine_only(direction)
        return direction.new

    def engine_only(self, direction: Transition) -> None:
        for step in (Evolution.add_indexes, Evolution.backfill, Evolution.clean, Evolution.clean):
            client = Client(direction.old.package.schema, "shop", self.engine)
            with evolution_of(direction, client, self.folder) as evolution:
                result = step(evolution)
            assert result.undecided == [], [*self.log, *map(str, result.undecided)]

    def found(self, version: CodeVersion) -> tuple[dict[str, Any], dict[str, Any]]:
        """The objects of the table, by their ids; an object that is there twice is an error."""
        client = self._client(version)
        assert list(audit(client)) == [], self.log
        schema, package = version.package.schema, version.package
        orders: dict[str, Any] = {}
        users: dict[str, Any] = {}
        for item in client.call("Scan")["Items"]:
            tag = item["entityType"]["S"]
            entity = schema.by_tag.get(tag)
            if entity is None:
                assert tag == STATE_TAG or tag in _pattern_tags(version), (tag, self.log)
                continue
            values = entity.codec.values(entity.codec.decode(item))
            target, key = (
                (orders, "order_id")
                if entity.codec.cls is package.classes[entity_name(version, "Order")]
                else (users, "user_id")
            )
            assert values[key] not in target, (values, self.log)
            target[values[key]] = values
        return orders, users

    def _client(self, version: CodeVersion) -> Client:
        return Client(version.package.schema, "shop", self.engine)


def _pattern_tags(version: CodeVersion) -> set[str]:
    schema = version.package.schema
    return {facet_tag(facet) for e in schema.entities for pattern in e.patterns for facet in pattern.facets}


def entity_name(version: CodeVersion, name: str) -> str:
    """The name of an entity in a version that may have renamed it."""
    if version.workload.entity(name):
        return name
    return next(entity.name for entity in version.workload.entities if entity.renamed_from == name)


def state_name(version: CodeVersion, state: str) -> str:
    """A member of `status` in the words of a version."""
    entity = version.workload.entity(entity_name(version, "Order"))
    attribute = entity.attribute("status") if entity else None
    assert attribute is not None
    if state in attribute.type.values:
        return state
    return next(member for member, former in attribute.renamed_members if former == state)
