"""What a role may do follows from its requests: every construct with every verb, run, recorded and compared.

Each document has one construct and a pattern for each verb. The proof runs all methods on the embedded engine, and every
request of a method is recorded, also those of refused calls. The policy of a role with one pattern has to allow them, and
nothing that no request of this pattern needs.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from random import Random
from typing import Any, NamedTuple

import pytest
from tests.render.designed import NAMES, WITH_COPY, designed
from tests.solutions import solve

from prejoin.design.cost.refreshes import refreshes
from prejoin.design.model import TABLE, Design
from prejoin.diagnostics import Severity
from prejoin.engine import Embedded
from prejoin.patterns.follows import refresh
from prejoin.patterns.large.content import LargeContentError, delete_large, read_large
from prejoin.patterns.large.large import LargeValue
from prejoin.patterns.large.stores import MemoryStore
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.package import load_package
from prejoin.proof.prove import PROOF_TIME, prove_patterns
from prejoin.proof.sample_table import SampleTable
from prejoin.render.infrastructure.options import Infrastructure, Role
from prejoin.render.infrastructure.policies import BUCKET, policies_of, policy_document
from prejoin.table.client.client import Client
from prejoin.workload.contents import contents_of
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload

from .iam import ARN, IamRequest, allowed, iam_requests

OBJECTS = "arn:aws:s3:::bucket"


class Construct(NamedTuple):
    attributes: str = ""
    lines: str = ""
    decisions: str = ""
    absent: frozenset[str] = frozenset()
    """Patterns that the construct does not have, because `check` refuses them."""


UNKNOWN_VERSION = frozenset({"AP-012"})
UNCHECKED_NAME = frozenset({"AP-010", "AP-011", "AP-012", "AP-018"})
CONSTRUCTS = {
    "plain": Construct(),
    "unique": Construct("  - `email` (string, unique, mutable)"),
    "history": Construct("  - `version` (integer, mutable)", "- **History**: 2 versions", absent=UNKNOWN_VERSION),
    "whole history": Construct(
        "  - `version` (integer, mutable)", "- **History**: all versions", absent=UNKNOWN_VERSION
    ),
    "sharded counter": Construct("  - `views` (integer, mutable, default=0)", decisions="- Note.views in 4 shards"),
    "content": Construct("  - `body` (content, mutable, 600 KB)", decisions="- Note.body in parts"),
    "content in a store": Construct("  - `body` (content, mutable, 600 KB)", decisions="- Note.body in a store"),
    "content and history": Construct(
        "  - `body` (content, mutable, 600 KB)\n  - `version` (integer, mutable)",
        "- **History**: 2 versions",
        absent=UNKNOWN_VERSION,
    ),
    "ttl": Construct("  - `expiresAt` (integer, ttl, optional)"),
    "follows": Construct("  - `ownerName` (string, mutable, follows Owner.name)", absent=UNCHECKED_NAME),
    "follows by a stream": Construct("  - `ownerName` (string, mutable, follows Owner.name within 10 seconds)"),
}

DOCUMENT = """# Desk

> Status: REVIEWED

{context}
## Entities

### Owner

- **Attributes**:
{tenant}  - `ownerId` (string, natural)
  - `name` (string, mutable)
  - `notes` (integer, mutable, default=0)
- **Cardinality**: ~2K total

### Note

- **Attributes**:
{tenant}  - `noteId` (string, natural)
  - `ownerId` (string, immutable, → Owner)
  - `title` (string, mutable)
  - `rank` (integer, mutable)
{attributes}
{lines}
- **Relationships**:
  - Owner 1:N Note via ownerId
- **Cardinality**: ~20 per Owner

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Note | get note | {t}noteId | Single | - | No | 1/s | Eventual | No |
| AP-002 | Note | notes of owner | {t}ownerId | Collection | rank DESC | Yes (20) | 1/s | Eventual | No |
| AP-003 | Note | titles of owner | {t}ownerId | Collection (title) | rank DESC | Yes (20) | 1/s | Eventual | No |
| AP-004 | Note | number of notes | {t}ownerId | Count | - | No | 1/s | Eventual | No |
| AP-005 | Owner | get owner | {t}ownerId | Single | - | No | 1/s | Eventual | No |
| AP-006 | Note | several notes | {t}noteId[] | Collection | - | No | 1/s | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
{writes}

### Deletes

| ID | Entity | Description | Input Parameters | Items Deleted | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-030 | Note | delete note | {t}noteId | delete Note | No | - | 1/s |
| AP-031 | Owner, Note | delete owner and notes | {t}ownerId, noteId[] | delete Owner; delete Note[] | No | - | Cold |
| AP-032 | Owner, Note | delete owner with notes | {t}ownerId, noteId[] | delete Owner; delete Note[] | Yes | - | Cold |
| AP-033 | Owner, Note | empty owner | {t}ownerId, noteId[] | update Owner (name = gone); delete Note[] | No | notes > 0 | Cold |

## Decisions

{decisions}
"""
WRITES = {
    "AP-010": "Note | create note | Note | create Note | No | - ",
    "AP-011": "Note | create counted note | Note | create Note; update Owner (notes += 1) | Yes | -",
    "AP-012": "Note | put note | Note | put Note | No | -",
    "AP-013": "Note | rename note | {t}noteId, title | update Note (title) | No | -",
    "AP-014": "Note | rank note | {t}noteId, rank | update Note (rank) | No | title != done",
    "AP-015": "Owner | create owner | Owner | create Owner | No | -",
    "AP-016": "Owner | rename owner | {t}ownerId, name | update Owner (name) | No | -",
    "AP-017": "Owner | upsert owner | {t}ownerId, name, notes | upsert Owner (name, notes) | No | -",
    "AP-018": "Note | create notes | Note[] | create Note[] | No | -",
    "AP-020": "Note | change e-mail | {t}noteId, email | update Note (email) | No | -",
    "AP-022": "Note | view note | {t}noteId | update Note (views += 1) | No | -",
    "AP-023": "Note | write body | {t}noteId, body | update Note (body) | No | -",
    "AP-024": "Note | write titled body | {t}noteId, title, body | update Note (title, body) | No | -",
}
NEEDS = {"AP-020": "email", "AP-022": "views", "AP-023": "body", "AP-024": "body"}


def document(construct: Construct, tenant: bool) -> str:
    given = "tenantId, " if tenant else ""
    rows = [
        f"| {id_} | {row.format(t=given)} | 1/s |"
        for id_, row in WRITES.items()
        if id_ not in construct.absent and f"`{NEEDS.get(id_, 'noteId')}`" in construct.attributes + "`noteId`"
    ]
    return DOCUMENT.format(
        context="## Context\n\n- **Tenant**: tenantId\n" if tenant else "",
        tenant="  - `tenantId` (string, natural)\n" if tenant else "",
        t=given,
        attributes=construct.attributes,
        lines=construct.lines,
        decisions=construct.decisions or "- none",
        writes="\n".join(rows),
    )


@dataclass
class Recorder:
    """The requests for authorization that generated methods cause, by pattern."""

    pk: dict[str, str]
    """The partition key of the table, under "", and of each index."""
    requests: list[IamRequest] = field(default_factory=list)

    def take(self) -> list[IamRequest]:
        """The requests since the last call."""
        taken, self.requests = self.requests, []
        return taken


class RecordingEngine(Embedded):
    """An engine that records the requests of observed clients: they ask for their units, and no other client does."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def send(self, operation: str, body: bytes) -> bytes:
        request = json.loads(body)
        if "ReturnConsumedCapacity" in request:
            self._recorder.requests += iam_requests(operation, request, self._recorder.pk)
        return super().send(operation, body)


class RecordingStore(MemoryStore):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def put(self, key: str, data: bytes) -> None:
        self._record("PutObject", key)
        super().put(key, data)

    def get(self, key: str, start: int = 0, end: int | None = None) -> bytes | None:
        self._record("GetObject", key)
        return super().get(key, start, end)

    def delete(self, key: str) -> None:
        self._record("DeleteObject", key)
        super().delete(key)

    def _record(self, action: str, key: str) -> None:
        self._recorder.requests.append(IamRequest(f"s3:{action}", f"{OBJECTS}/{key}", {}))


class Recording(NamedTuple):
    workload: Workload
    design: Design
    requests: dict[str, list[IamRequest]]
    """The requests of each pattern."""

    def policy(self, pattern: str) -> dict[str, Any]:
        """The policy of a role with one pattern."""
        arn = ARN.format(table=self.design.table)
        arns = {slot.name: arn if slot.name == TABLE else f"{arn}/index/{slot.name}" for slot in self.design.slots}
        (policy,) = policies_of(self.workload, self.design, Infrastructure(roles=(Role("One", (pattern,)),)))
        folders = {place for one in policy.statements for place in one.places if place.endswith("/")}
        arns |= {BUCKET: OBJECTS} | {one: f"{OBJECTS}/{self.design.table}/{one}*" for one in folders}
        return policy_document(policy, arns)


def record_proof(workload: Workload, design: Design) -> dict[str, list[IamRequest]]:
    """The requests of each pattern in all cases of its proof."""
    recorder = Recorder({"" if one.name == TABLE else one.name: one.pk[0].name for one in design.slots})
    requests: dict[str, list[IamRequest]] = {}
    with RecordingEngine(recorder) as engine:
        package = load_package(workload, design, clock=lambda: PROOF_TIME)
        sample = SampleTable.create(workload, design, engine, PROOF_TIME, edge_values=True, package=package)
        expected = ExpectedTable(sample)
        recorder.take()
        for proof in prove_patterns(sample, expected):
            assert proof.right, proof
            requests[proof.pattern] = recorder.take()
    return requests


@cache
def recorded(name: str, tenant: bool) -> Recording:
    reading = read_text(document(CONSTRUCTS[name], tenant), "md")
    assert not [one for one in reading.diagnostics if one.severity is Severity.ERROR]
    design = solve(reading.workload).design
    requests = record_proof(reading.workload, design)
    with Application(reading.workload, design, tenant) as application:
        application.use_contents()
        application.use_history()
        application.use_follows()
        for pattern, more in application.requests.items():
            requests[pattern] += more
    return Recording(reading.workload, design, requests)


CONTENT = Random(1).randbytes(500_000)
"""It does not fit into an item, and cannot be compressed."""


class Application:
    """A program with the generated code, for cases that a proof does not have: large contents, long histories."""

    def __init__(self, workload: Workload, design: Design, tenant: bool) -> None:
        self.recorder = Recorder({"" if one.name == TABLE else one.name: one.pk[0].name for one in design.slots})
        self.requests: dict[str, list[IamRequest]] = defaultdict(list)
        self.patterns = {pattern.id for pattern in workload.patterns}
        self.package = load_package(workload, design)
        store = RecordingStore(self.recorder)
        schema = self.package.schema_with(store) if design.stores else self.package.schema
        self.engine = RecordingEngine(self.recorder)
        self.tenant = {"tenant_id": "t"} if tenant else {}
        observed = Client(schema, design.table, self.engine, observe=lambda call: None)
        others = Client(schema, design.table, self.engine)
        others.create_table()
        self.db = observed.tenant("t") if tenant else observed
        self.others = others.tenant("t") if tenant else others
        """A client whose requests are not recorded."""
        self.repository = self.package.repository(observed)
        if tenant:
            self.repository = self.repository.of_tenant("t")
        self._put_owner()

    def __enter__(self) -> Application:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def _put_owner(self) -> None:
        owner = self.package.classes["Owner"]
        self.others.put(owner(owner_id="o", name="Ann", notes=1, **self.tenant))

    def note(self, id_: str, **more: Any) -> Any:
        cls = self.package.classes["Note"]
        values = {"note_id": id_, "owner_id": "o", "title": "Tea", "rank": 1, "version": 0, "owner_name": "Ann"}
        fields = self.package.fields["Note"].values()
        return cls(**{name: value for name, value in (values | more | self.tenant).items() if name in fields})

    def has(self, attribute: str) -> bool:
        return attribute in self.package.fields["Note"]

    def call(self, pattern: str, *arguments: Any) -> Any:
        """Call the method of a pattern, and record its requests."""
        return self.record(pattern, getattr(self.repository, self.package.methods[pattern].name), *arguments)

    def record(self, pattern: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        self.recorder.take()
        try:
            return function(*arguments, **named)
        finally:
            self.requests[pattern] += self.recorder.take()

    def use_contents(self) -> None:
        """Write large contents with each method that writes one, and read them from the results of each read."""
        if not self.has("body"):
            return
        content = LargeValue.of(CONTENT)
        self.call("AP-010", self.note("1", body=content))
        self.call("AP-011", self.note("2", body=content))
        if "AP-012" in self.patterns:
            self.call("AP-012", self.note("1", body=content))
        self.call("AP-018", [self.note("3", body=content), self.note("4", body=content)])
        self.call("AP-023", "1", content)
        self.call("AP-024", "1", "Coffee", content)
        self._put_note("0")
        self._read("AP-001", [self.call("AP-001", "0"), self.call("AP-001", "1")])
        self._put_note("0")
        self._read("AP-002", self.call("AP-002", "o"))
        self._put_note("0")
        self._read("AP-006", self.call("AP-006", ["0", "1"]))

    def _put_note(self, id_: str) -> None:
        self.others.insert(self.note(id_, body=LargeValue.of(CONTENT)))

    def _read(self, pattern: str, notes: Iterable[Any]) -> None:
        cls = self.package.classes["Note"]
        for note in list(notes):
            assert self.record(pattern, read_large, self.db, note, "body") == CONTENT
            # Somebody deletes the note after it was read.
            delete_large(self.others, cls, note_id=note.note_id)
            with pytest.raises(LargeContentError):
                self.record(pattern, read_large, self.db, note, "body")
            if note.note_id != "0":
                self.others.insert(self.note(note.note_id, body=LargeValue.of(CONTENT)))

    def use_history(self) -> None:
        """Write more versions than are kept, and let a new note continue the history of a deleted one."""
        if not self.has("version"):
            return
        updates: list[tuple[str, tuple[Any, ...]]] = [("AP-013", ("Milk",)), ("AP-014", (7,))]
        if self.has("body"):
            updates += [("AP-023", (LargeValue.of(CONTENT),)), ("AP-024", ("Milk", LargeValue.of(CONTENT)))]
        for pattern, arguments in updates:
            self.others.insert(self.note(pattern))
            self.call(pattern, pattern, *arguments)
            self.call("AP-030", pattern)
            # The versions 1 and 2 are those of the deleted note.
            self.others.insert(self.note(pattern))
            for _ in range(4):
                self.call(pattern, pattern, *arguments)
        for _ in range(2):
            self.others.insert(self.note("deleted twice"))
            self.call("AP-030", "deleted twice")
        for pattern in ("AP-031", "AP-032", "AP-033"):
            for _ in range(2):
                self._put_owner()
                self.others.insert(self.note(pattern))
                self.call(pattern, "o", [pattern])

    def use_follows(self) -> None:
        """Refresh what follows the name of an owner, as the methods that change it ask for."""
        if not self.has("ownerName") or "AP-010" in self.patterns:
            return
        owner = self.package.classes["Owner"]
        self.others.insert(self.note("1", owner_name="Ann"))
        self.call("AP-016", "o", "Bob")
        self.record("AP-016", refresh, self.db, owner, owner_id="o")
        self.call("AP-017", "o", "Cem", 1)
        self.record("AP-017", refresh, self.db, owner, owner_id="o")
        self._put_owner()
        self.others.insert(self.note("2", owner_name="Ann"))
        self.call("AP-033", "o", ["2"])
        self.others.insert(self.note("3", owner_name="Ann"))
        self.record("AP-033", refresh, self.db, owner, owner_id="o")


CASES = [
    pytest.param(name, tenant, id=f"{name}{' of a tenant' * tenant}") for name in CONSTRUCTS for tenant in (False, True)
]
pytestmark = pytest.mark.slow


def check_suffices(recording: Recording) -> None:
    """Every request of a pattern is allowed by the policy of its role."""
    for pattern, requests in recording.requests.items():
        policy = recording.policy(pattern)
        assert requests
        for request in requests:
            assert allowed(policy, request), (pattern, request, policy)


ACTIONS = (
    "Scan", "GetItem", "Query", "BatchGetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem",
    "ConditionCheckItem", "PartiQLSelect", "PartiQLDelete",
)  # fmt: skip
WRITING = frozenset(f"dynamodb:{action}" for action in ("PutItem", "UpdateItem", "DeleteItem"))
OBJECT_ACTIONS = ("GetObject", "PutObject", "DeleteObject")
SELECTS = ({}, {"dynamodb:Select": ["COUNT"]}, {"dynamodb:Select": ["SPECIFIC_ATTRIBUTES"]})


def words(partition: str) -> str:
    """The words of a key, without the values between them: `TENANT#1#NOTE#a` as `TENANT NOTE`."""
    return " ".join(re.findall(r"(?:(?<=#)|^)([A-Z]{2,})(?=#|$)", partition))


def partitions(request: IamRequest) -> Sequence[str]:
    return request.context.get("dynamodb:LeadingKeys", ())


def attacks(recording: Recording) -> Iterator[IamRequest]:
    """Each action in each place for a partition of each kind, as they are in the requests of all patterns."""
    everything = [request for requests in recording.requests.values() for request in requests]
    kinds = {words(key): key for request in everything for key in partitions(request)}
    tables = {request.resource for request in everything if request.action.startswith("dynamodb:")}
    objects = {request.resource for request in everything if request.action.startswith("s3:")}
    for action, resource, key, select in product(ACTIONS, tables, kinds.values(), SELECTS):
        yield IamRequest(f"dynamodb:{action}", resource, {"dynamodb:LeadingKeys": [key], **select})
    for action, resource in product(OBJECT_ACTIONS, objects):
        yield IamRequest(f"s3:{action}", resource, {})


def is_needed(attack: IamRequest, requests: Iterable[IamRequest]) -> bool:
    """Whether a recorded request has the same action, in the same place, for a partition of this kind.

    IAM cannot tell `NOTE#1` from a longer key that begins in the same way: `NOTE#*` is the pattern for both. Who may
    write an item may test conditions on it, so a condition check needs any write of such a partition.
    """
    if attack.action.startswith("s3:"):
        folder = attack.resource.split("/")[:4]  # the bucket, the table, the entity and the attribute
        return any(attack.action == one.action and folder == one.resource.split("/")[:4] for one in requests)
    (key,) = partitions(attack)
    for request in requests:
        is_same = request.action == attack.action
        if attack.action == "dynamodb:ConditionCheckItem":
            is_same = is_same or request.action in WRITING
        is_near = any(words(key).startswith(words(own)) for own in partitions(request))
        if is_same and is_near and request.resource == attack.resource:
            return True
    return False


def check_needed(recording: Recording) -> None:
    """Whatever the policy of a role allows, a request of its pattern needs."""
    tried = list(attacks(recording))
    for pattern, requests in recording.requests.items():
        policy = recording.policy(pattern)
        for attack in tried:
            if allowed(policy, attack):
                assert is_needed(attack, requests), (pattern, attack, policy)


@pytest.mark.parametrize(("name", "tenant"), CASES)
def test_a_role_may_send_the_requests_of_its_pattern_and_no_others(name: str, tenant: bool) -> None:
    recording = recorded(name, tenant)
    check_suffices(recording)
    check_needed(recording)


@pytest.mark.parametrize("name", [*NAMES, WITH_COPY])
def test_roles_of_documents_may_send_the_requests_of_their_patterns_and_no_others(name: str) -> None:
    workload, design = designed(name)
    requests = {pattern: sent for pattern, sent in record_proof(workload, design).items() if sent}
    recording = Recording(workload, design, requests)
    check_suffices(recording)
    if not any(contents_of(entity) for entity in workload.entities) and not refreshes(workload, design):
        # What else a document may have is in the constructs above.
        check_needed(recording)
