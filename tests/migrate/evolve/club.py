"""A club whose members have one attribute that changes, and an application that reads and writes it meanwhile."""

from __future__ import annotations

import random
from typing import Any

from prejoin import Client, Embedded
from prejoin.design.model import TABLE, Design, Facet, Guard, Item
from prejoin.migrate.evolve.transition import CodeVersion, Transition
from tests.migrate.evolve.shop import _TABLE, index, version

_DOCUMENT = """# Club

## Entities

### Member

- `memberId` (string, id)
- `team` (string)
- `score` (integer, mutable)
{attribute}

### Team

- `team` (string, id)
- `nick` (string, optional, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Member | Get member | memberId | Single | - | 10/s |
| AP-002 | Member | Members of team | team | Collection | memberId | 10/s |
{reads}
### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Member | Join | memberId, team, score{input} | create Member | 1/s |
| AP-012 | Member | Score | memberId, score | update Member | 1/s |
| AP-013 | Member | Replace | memberId, team, score{input} | put Member | 1/s |
{writes}
### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Member | Leave | memberId | delete Member | 1/s |
"""
_READ = "| AP-003 | Member | By {name} | {name} | Collection | memberId | 10/s |\n"
_WRITE = "| AP-011 | Member | Change {name} | memberId, {name} | update Member | 1/s |\n"
_MEMBER = Facet(TABLE, ("MEMBER#{memberId}",), ("MEMBER",))
_BY_TEAM = Facet("gsi1", ("TEAM#{team}",), ("{memberId}",))
_TEAM = Item("Team", "Team", (Facet(TABLE, ("TEAM#{team}",), ("TEAM",)),))

Place = str
"""Where the attribute is beside the item: nowhere, in an index (`index`), unique (`guard`), in a copy (`copy`)."""


def club(name: str, attribute: str, place: Place = "") -> CodeVersion:
    """A version whose members have an attribute, such as `` `nick` (string, optional) ``; empty for none."""
    field = attribute.split("`")[1] if attribute else ""
    text = _DOCUMENT.format(
        attribute=f"- {attribute}" if attribute else "",
        input=f", {field}" if field else "",
        reads=_READ.format(name=field) if field and place in ("index", "copy") else "",
        writes=_WRITE.format(name=field) if field else "",
    )
    by_field = ("NICK#{" + field + "}",), ("{memberId}",)
    facets = (_MEMBER, _BY_TEAM, *([Facet("gsi2", *by_field)] if field and place == "index" else []))
    items = [Item("Member", "Member", facets), _TEAM]
    if field and place == "copy":
        items.append(Item("Member", "Member.by-nick", (Facet(TABLE, *by_field),), "by-nick"))
    guards = (Guard("Member", (field,)),) if field and place == "guard" else ()
    slots = (_TABLE, index("gsi1"), *([index("gsi2")] if field and place == "index" else []))
    return version(name, text, Design("club", slots, tuple(items), guards))


class Club:
    """The expected members, and the versions of the code that run. It acts as `Application` does."""

    def __init__(self, transition: Transition, names: tuple[str, str], seed: int) -> None:
        self.engine = Embedded()
        self.random = random.Random(seed)
        self.transition = transition
        self.names = names
        """The name of the attribute in OLD and in NEW."""
        self.members: dict[str, dict[str, Any]] = {}
        self.running: list[tuple[CodeVersion, Client]] = []
        self.checked = 0
        self.values = ["a", "b", "c"]
        """Values that the application writes."""
        self.gives_none = True
        """Whether the application leaves the attribute out, where its version allows that."""
        self._number = 0
        client = Client(transition.old.package.schema, "club", self.engine)
        client.create_table()
        team = transition.old.package.record("Team", {"team": "t0", "nick": "nobody's"})
        client.insert(team)
        self.bystander = client.call("GetItem", {"Key": {"pk": {"S": "TEAM#t0"}, "sk": {"S": "TEAM"}}})["Item"]

    def run(self, *versions: CodeVersion) -> None:
        self.running = [(one, Client(one.package.schema, "club", self.engine)) for one in versions]

    def act(self) -> None:
        """Writes with one version, then reads with all."""
        self._write(*self.random.choice(self.running))
        for version_, client in self.running:
            self._read(version_, client)

    def name(self, version_: CodeVersion) -> str:
        """The attribute by which the code of a version knows it."""
        return self.names[0] if version_ in (self.transition.old, self.transition.prepare) else self.names[1]

    def field(self, version_: CodeVersion) -> str:
        return version_.package.fields["Member"].get(self.name(version_), "")

    def add_old_item(self, member: str, value: str) -> None:
        """An item from before OLD: it lacks the attribute, which is read as the default, `value`."""
        self.run(self.transition.old)
        self._join(*self.running[0], member, {"nick": value})
        key = {"pk": {"S": f"MEMBER#{member}"}, "sk": {"S": "MEMBER"}}
        self.running[0][1].call("UpdateItem", {"Key": key, "UpdateExpression": f"REMOVE {self.names[0]}"})

    # --- Writes -----------------------------------------------------------------------------------------------------

    def _write(self, version_: CodeVersion, client: Client) -> None:
        self._number += 1
        verb = self.random.choice(("join", "join", "nick", "nick", "score", "replace", "leave"))
        if verb == "join" or not self.members:
            self._join(version_, client, f"m{self._number}", {})
            return
        member = self.random.choice(sorted(self.members))
        known = self.members[member]
        if verb == "nick" and self.name(version_) and f"AP-{11:03}" in version_.package.methods:
            known["nick"] = self.random.choice(self.values)
            self._call(version_, client, "AP-011", {"member_id": member, self.field(version_): known["nick"]})
        elif verb == "score":
            known["score"] = self._number
            self._call(version_, client, "AP-012", {"member_id": member, "score": self._number})
        elif verb == "replace":
            self._join(version_, client, member, {}, "AP-013")
        elif verb == "leave":
            self._call(version_, client, "AP-020", {"member_id": member})
            del self.members[member]

    def _join(
        self, version_: CodeVersion, client: Client, member: str, values: dict[str, Any], pattern: str = "AP-010"
    ) -> None:
        known = {"team": self.random.choice(("t0", "t1")), "score": self._number, "nick": None, **values}
        given = {"member_id": member, "team": known["team"], "score": known["score"]}
        entity = version_.workload.entity("Member")
        attribute = entity.attribute(self.name(version_)) if entity else None
        if attribute is not None:
            item = version_.design.item("Member")
            required = [one.name for one in item.next_attributes if one.required] if item else []
            # The code of OLD, with `prepare`, does what it did.
            own = self.transition.old if version_ is self.transition.prepare else version_
            own_entity = own.workload.entity("Member")
            own_attribute = own_entity.attribute(self.name(version_)) if own_entity else None
            may_leave_out = own_attribute is None or own_attribute.optional or own_attribute.default is not None
            if attribute.default is None and attribute.name in required:
                may_leave_out = False
            if known["nick"] is None and not (may_leave_out and self.gives_none and self.random.random() < 0.4):
                known["nick"] = self.random.choice(self.values)
            if known["nick"] is not None:
                given[self.field(version_)] = known["nick"]
            elif not attribute.optional or attribute.name in required:
                known["nick"] = attribute.default
        self._call(version_, client, pattern, {"member": version_.package.classes["Member"](**given)})
        self.members[member] = known

    def _call(self, version_: CodeVersion, client: Client, pattern: str, arguments: dict[str, Any]) -> Any:
        return version_.package.call(client, version_.package.methods[pattern], arguments)

    # --- Reads ------------------------------------------------------------------------------------------------------

    def _read(self, version_: CodeVersion, client: Client) -> None:
        for member in self.random.sample(sorted(self.members), min(2, len(self.members))):
            self._check(version_, self._call(version_, client, "AP-001", {"member_id": member}), member)
        for team in ("t0", "t1"):
            members = self._call(version_, client, "AP-002", {"team": team})
            found = {one.member_id: one for one in (members.items if hasattr(members, "items") else members)}
            assert sorted(found) == sorted(name for name, known in self.members.items() if known["team"] == team)
            for member, record in found.items():
                self._check(version_, record, member)
        if "AP-003" in version_.package.methods:
            value = self.random.choice(self.values)
            members = self._call(version_, client, "AP-003", {self.field(version_): value})
            found_members = {one.member_id for one in (members.items if hasattr(members, "items") else members)}
            expected = {name for name, known in self.members.items() if known["nick"] == value}
            may_have_default = {name for name, known in self.members.items() if known["nick"] is None}
            assert expected <= found_members <= expected | may_have_default, (version_.name, value)

    def _check(self, version_: CodeVersion, record: Any, member: str) -> None:
        known = self.members[member]
        assert (record.team, record.score) == (known["team"], known["score"])
        entity = version_.workload.entity("Member")
        attribute = entity.attribute(self.name(version_)) if entity else None
        if attribute is not None:
            value = getattr(record, self.field(version_))
            default = attribute.default
            allowed: list[Any] = [known["nick"]]
            if known["nick"] is None and not attribute.optional:
                allowed = [default]
            elif known["nick"] is None and default is not None:
                allowed.append(default)  # the backfill has written it
            assert value in allowed, (version_.name, member, value, known)
        self.checked += 1
