"""The state of a table between two designs, kept in an item of the table itself.

Every machine that works on a table finds there which design is in force, which change is under way, how far it came,
and who works on it. Each update has the condition that nobody else has written it since, so that two machines agree.
A table whose key is not made of texts has no place for the item; then the state is in a local folder.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from prejoin.migrate import codes
from prejoin.pipeline.errors import RefusedError
from prejoin.pipeline.output_files import make_folder
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.client.client import Client
from prejoin.table.codec.values import Json
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.pattern import STATE_KEY, STATE_TAG

LEASE = 120.0
"""Seconds after which the work of a machine that does not renew it may be continued by another."""
_LOG_SIZE = 100
"""The most finished changes that are kept."""


class StepStatus(msgspec.Struct):
    """A step that is under way."""

    name: str = ""
    position: Json | None = None
    """The key after which it goes on."""
    read: int = 0
    """The items that were read since it began."""
    began: str = ""


class ChangeStatus(msgspec.Struct):
    """The change of a table from one design to another."""

    id: str
    source: str
    """The id of the design that it begins with, and its folder."""
    source_name: str
    target: str
    target_name: str
    began: str
    direction: Literal["forward", "back"] = "forward"
    done: list[str] = msgspec.field(default_factory=list)
    """Finished steps, in the direction in which it goes."""
    step: StepStatus = msgspec.field(default_factory=StepStatus)
    is_cleaning: bool = False
    """Whether items under the old key are being removed, or were."""
    functions: list[str] = msgspec.field(default_factory=list)
    """The functions of the user that compute values: `Student`, `Customer to Address`."""
    holder: str = ""
    """The process that works on it: host, number and a random text; empty if none does."""
    held_until: float = 0.0

    @property
    def text(self) -> str:
        """The change in words: `old` to `new`."""
        back = " (going back)" if self.direction == "back" else ""
        return f"from `{self.source_name}` to `{self.target_name}`{back}"


class FinishedChange(msgspec.Struct):
    """A change in the log of a table."""

    id: str
    source: str
    source_name: str
    target: str
    target_name: str
    began: str
    ended: str
    result: Literal["applied", "taken back"]

    def again(self) -> ChangeStatus:
        """The change as one that is under way, to look for items that were written since."""
        direction: Literal["forward", "back"] = "forward" if self.result == "applied" else "back"
        done = ["indexes", "backfill"]
        change = ChangeStatus(
            self.id, self.source, self.source_name, self.target, self.target_name, now(), direction, done
        )
        change.is_cleaning = True
        return change


class TableRecord(msgspec.Struct):
    """What is known of a table."""

    design: str = ""
    """The id of the design in force; empty if no change was made yet."""
    design_name: str = ""
    change: ChangeStatus | None = None
    log: list[FinishedChange] = msgspec.field(default_factory=list)
    retired: list[str] = msgspec.field(default_factory=list)
    """Types of entities that got another type and key: code that has one would find none of its items (`drift`)."""

    def retire(self, leaving: Iterable[str], coming: Iterable[str]) -> None:
        """Notes which types code of the design in force does not have any more, and which it has again."""
        self.retired = sorted({*self.retired, *leaving} - {*coming})

    def finish(self, design: str, name: str, result: Literal["applied", "taken back"]) -> None:
        """Ends the change that is under way."""
        assert self.change is not None
        change = self.change
        finished_change = FinishedChange(
            id=change.id,
            source=change.source,
            source_name=change.source_name,
            target=change.target,
            target_name=change.target_name,
            began=change.began,
            ended=now(),
            result=result,
        )
        if self.log and self.log[-1].id == change.id and self.log[-1].result == result:
            self.log.pop()  # it was finished before, and looked for items that were written since
        self.log = [*self.log, finished_change][-_LOG_SIZE:]
        self.design, self.design_name, self.change = design, name, None


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class RecordPlace(Protocol):
    """Where the record of a table is kept."""

    def read(self) -> TableRecord: ...
    def write(self, record: TableRecord) -> None:
        """Writes a record that was read from here. Raises a `RefusedError` if another process wrote it since."""


class TableRecordPlace:
    """The item of a table that holds its record."""

    def __init__(self, client: Client, names: tuple[str, ...]) -> None:
        self._client = client
        self._key: Json = {name: {"S": text} for name, text in zip(names, STATE_KEY, strict=False)}
        self._revision = 0

    def read(self) -> TableRecord:
        item = self._client.call("GetItem", {"Key": self._key, "ConsistentRead": True}).get("Item")
        if item and ("revision" not in item or "state" not in item):
            message = f"the table has an item of another program with the key {key_text(self._key)}"
            raise RefusedError(
                codes.OTHER_CHANGE, message, "give that item another key: the state of a change is kept there"
            )
        self._revision = int(item["revision"]["N"]) if item else 0
        return msgspec.json.decode(item["state"]["S"], type=TableRecord) if item else TableRecord()

    def write(self, record: TableRecord) -> None:
        item = {
            **self._key,
            self._client.schema.type_attribute: {"S": STATE_TAG},
            "state": {"S": msgspec.json.encode(record).decode()},
            "revision": {"N": str(self._revision + 1)},
        }
        # A process that was held up finds another revision, and does not write over the record of its successor.
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(revision)"}
        if self._revision:
            condition = {
                "ConditionExpression": "revision = :read",
                "ExpressionAttributeValues": {":read": {"N": str(self._revision)}},
            }
        try:
            self._client.call("PutItem", {"Item": item, **condition})
        except DynamoDBError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            message = f"another process works on the table {self._client.table}: it wrote {key_text(self._key)}"
            raise RefusedError(codes.HELD, message, "`prejoin evolve status` shows it; run the command again") from None
        self._revision += 1


class FileRecordPlace:
    """A file that holds the record of a table, for tables that have no place for it."""

    def __init__(self, folder: Path, name: str) -> None:
        self._file = folder / f"{name}.json"

    def read(self) -> TableRecord:
        return msgspec.json.decode(self._file.read_bytes(), type=TableRecord) if self._file.is_file() else TableRecord()

    def write(self, record: TableRecord) -> None:
        make_folder(self._file.parent)
        # Replaced as a whole: a process that is killed here leaves the record as it was.
        part = self._file.with_suffix(".partial")
        part.write_bytes(msgspec.json.encode(record))
        part.replace(self._file)


def record_place(client: Client, folder: str | Path) -> RecordPlace:
    """The place of a table's record: the table itself, if its key is made of texts."""
    table_description = client.call("DescribeTable")["Table"]
    key_schema = sorted(table_description["KeySchema"], key=itemgetter("KeyType"))  # HASH before RANGE
    names = tuple(key["AttributeName"] for key in key_schema)
    definitions = table_description["AttributeDefinitions"]
    types = {definition["AttributeName"]: definition["AttributeType"] for definition in definitions}
    if all(types[name] == "S" for name in names):
        return TableRecordPlace(client, names)
    return FileRecordPlace(Path(folder), client.table)


# --- Who works on it ------------------------------------------------------------------------------------------------


_ACTIVE: set[str] = set()
"""The holders of this process that are at work."""


class Hold:
    """The right of one process to work on a change."""

    def __init__(self, place: RecordPlace, record: TableRecord) -> None:
        self._place = place
        self._record = record
        self._name = f"{socket.gethostname()} {os.getpid()} {os.urandom(4).hex()}"
        self._renewed = 0.0

    def take(self) -> None:
        """Takes the right. Raises a `RefusedError` if a process that is alive has it."""
        change = self._change
        if change.holder and change.held_until > time.time() and not is_dead(change.holder):
            host, number, _ = change.holder.split(" ")
            seconds = max(1, round(change.held_until - time.time()))
            message = f"process {number} on {host} works on the change {change.text}"
            fix = f"wait for it; if it is dead, the command works in {seconds} s at the latest"
            raise RefusedError(codes.HELD, message, fix)
        _ACTIVE.add(self._name)
        change.holder = self._name
        try:
            self.renew(force=True)
        except BaseException:
            self.abandon()
            raise

    def renew(self, force: bool = False) -> None:
        """Renews the right, and with it saves the record: at once, or if that was some time ago."""
        if force or time.time() - self._renewed > LEASE / 4:
            self._renewed = time.time()
            self._change.held_until = self._renewed + LEASE
            self._place.write(self._record)

    def release(self) -> None:
        """Gives the right back, and saves the record."""
        _ACTIVE.discard(self._name)
        if self._record.change is not None:
            self._record.change.holder, self._record.change.held_until = "", 0.0
        self._place.write(self._record)

    def abandon(self) -> None:
        """Forgets the right without a request: after a failure, the next process takes it over."""
        _ACTIVE.discard(self._name)

    @property
    def _change(self) -> ChangeStatus:
        assert self._record.change is not None
        return self._record.change


def is_dead(holder: str) -> bool:
    """Whether a holder is a process of this machine that does not run any more."""
    host, number, _ = holder.split(" ")
    if host != socket.gethostname():
        return False
    if int(number) == os.getpid():
        return holder not in _ACTIVE
    if os.name == "nt":
        return False  # a signal of 0 would end the process there
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
