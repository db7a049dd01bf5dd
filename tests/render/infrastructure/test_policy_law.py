"""The policy of a role allows what its pattern sends, and nothing that its pattern does not send.

While a design is proven, all requests of the client are recorded. The policy of a role with one pattern allows those of
this pattern, refused and repeated calls included. It allows a request of another pattern only if that is an instance of
a documented request of its own: the same action in the same place, for such a partition, with no more attributes.

Large contents are read, replaced and deleted by functions that no pattern calls. Their requests are recorded, too: a role
may read contents if its pattern returned one, and no role may delete one. Objects in a store have permissions of S3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.design.test_laws import HUNDREDS
from tests.design.wide_workloads import wide_workloads
from tests.golden import document_name
from tests.place import examples
from tests.proof.documented_requests import PUT_OBJECT, Recorded, is_instance, recorded_calls
from tests.proof.league import NOW
from tests.proof.test_documented_requests import DOCUMENTS
from tests.solutions import solve

from prejoin.design.cost.refreshes import refreshes
from prejoin.design.model import TABLE, Call, Design, Did, ProjectionKind
from prejoin.design.requests.contents import content_readings
from prejoin.design.requests.literal import (
    ItemRequest,
    LiteralRequest,
    ObjectRequest,
    PartRequest,
    ReadRequest,
    WriteRequest,
)
from prejoin.design.requests.lower import literal_requests, repeated_requests
from prejoin.design.solver.solve import solve as solve_anew
from prejoin.engine import Embedded
from prejoin.keys.content import object_folder
from prejoin.patterns.large.content import delete_large, read_large, write_large
from prejoin.proof.prove import prove
from prejoin.proof.sample_table import SampleTable, StoredContent
from prejoin.render.infrastructure import policies
from prejoin.render.infrastructure.contents import ContentUse
from prejoin.render.infrastructure.grants import ANY, Grant
from prejoin.render.infrastructure.options import Infrastructure, Role
from prejoin.table.client.observe import Call as SentCall
from prejoin.workload.contents import contents_of
from prejoin.workload.field_names import field_names
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Read, Workload

from .iam import IamRequest, allowed, iam_requests
from .test_policies import written


def recorded_requests(recorded: Recorded, design: Design) -> dict[str, list[IamRequest]]:
    """The authorization requests of each pattern that was called, without repetitions."""
    pk = {"" if slot.name == TABLE else slot.name: slot.pk[0].name for slot in design.slots}
    requests: dict[str, list[IamRequest]] = {}
    for pattern, calls in recorded.items():
        distinct: dict[str, IamRequest] = {}
        for _, sequence in calls:
            for call in sequence:
                if call.operation == PUT_OBJECT:
                    continue
                for request in iam_requests(call.operation, call.request, pk):
                    distinct.setdefault(repr(request), request)
        if distinct:
            requests[pattern] = list(distinct.values())
    return requests


def role_policies(patterns: tuple[str, ...], workload: Workload, design: Design) -> list[dict[str, Any]]:
    options = Infrastructure(roles=(Role("One", patterns),))
    return [written(policy, design) for policy in policies.policies_of(workload, design, options)]


def problems(
    recorded: Recorded, workload: Workload, design: Design, roles: Iterable[tuple[str, ...]] | None = None
) -> Iterator[str]:
    """What a role may not send and does, and what it may send and does not; by default a role for each pattern."""
    requests = recorded_requests(recorded, design)
    requests_of_functions = recorded_functions(workload, design)
    possible = list(possible_requests(requests, workload, design))
    for role in [(pattern,) for pattern in requests] if roles is None else roles:
        own_documents = role_policies(role, workload, design)
        pattern = ", ".join(role)
        documented = [each for one in role for each in documented_requests(one, workload, design)]
        returned = [content for one in role for content in returned_contents(one, recorded, workload, design)]
        asked = [content for one in role for content in asked_contents(one, recorded, workload, design)]
        documented += [each for one in role for each in _of_reading(one, workload, design)]
        for content in returned:
            for request in requests_of_functions.get(f"read_large of {content}", ()):
                if not any(allowed(document, request) for document in own_documents):
                    yield f"{pattern} returns {content} and may not send {request}"
        yield from object_problems(role, own_documents, recorded, (returned, asked), workload, design)
        for sender, sent in (*requests.items(), *requests_of_functions.items()):
            for request in sent:
                is_allowed = any(allowed(document, request) for document in own_documents)
                if sender in role and not is_allowed:
                    yield f"{pattern} may not send {request}"
                if sender not in role and is_allowed and not is_documented(request, documented, design.separator):
                    yield f"{pattern} may send {request} of {sender}"
        if all(each.pattern in role for each in design.operations if each.served):
            continue  # the whole application: it may also restore a version, and delete a content
        for partition, request in possible:
            is_allowed = any(allowed(document, request) for document in own_documents)
            if is_allowed and not is_documented(request, documented, design.separator):
                own_partitions = [each.partition for each in documented if _fits(request, each)]
                if not any(may_be_like(own, partition) for own in own_partitions):
                    yield f"{pattern} may send {request}"


def possible_requests(
    requests: Mapping[str, Sequence[IamRequest]], workload: Workload, design: Design
) -> Iterator[tuple[str, IamRequest]]:
    """Each action on an item of each partition that any pattern has a request for, such as the versions of an item."""
    kinds: dict[tuple[str, str], None] = {}
    for pattern in requests:
        for each in documented_requests(pattern, workload, design):
            kinds[each.place, each.partition] = None
    for place, partition in kinds:
        for request in (request for sent in requests.values() for request in sent):
            keys = [
                key
                for key in request.context.get("dynamodb:LeadingKeys", ())
                if is_instance(partition, {"S": key}, design.separator)
            ]
            if keys and (request.resource.partition("/index/")[2] or TABLE) == place:
                for action in _TABLE_ACTIONS if place == TABLE else ("Query",):
                    context: dict[str, Sequence[str]] = {"dynamodb:LeadingKeys": keys[:1]}
                    if action in _READING:
                        context["dynamodb:Select"] = ["ALL_ATTRIBUTES"]
                    yield partition, IamRequest(f"dynamodb:{action}", request.resource, context)
                break


def may_be_like(own: str, other: str) -> bool:
    """Whether a key of a partition is like the pattern of another one, which can then not be denied.

    `A#{a}#B#{b}#HISTORY` with the value `A` is like `A#*#A#HISTORY`.
    """
    pattern = ".*".join(map(re.escape, re.split(r"\{[^{}]*\}", other)))
    words = {*re.split(r"[#{}]", other), ""}
    fields = re.findall(r"\{[^{}]*\}", own)
    for values in product(words, repeat=len(fields)):
        key = own
        for field, value in zip(fields, values, strict=True):
            key = key.replace(field, value, 1)
        if re.fullmatch(pattern, key):
            return True
    return False


_READING = ("GetItem", "Query", "BatchGetItem")
_TABLE_ACTIONS = (*_READING, "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "BatchWriteItem")


# --- Large contents ---------------------------------------------------------------------------------------------------


def recorded_functions(workload: Workload, design: Design) -> dict[str, list[IamRequest]]:
    """The requests of the functions for large contents, by function and content: `read_large of Document.body`."""
    if not any(contents_of(entity) for entity in workload.entities):
        return {}
    pk = {"": design.partition_key}
    requests: dict[str, list[IamRequest]] = {}
    contents = sum(len(contents_of(entity)) for entity in workload.entities)
    for number in range(contents):
        # Each in a table of its own, because they replace and delete the contents of the others.
        with Embedded() as engine:
            sample = SampleTable.create(workload, design, engine, NOW)
            if number < len(sample.contents):
                requests |= _requests_of_content(sample, sample.contents[number], pk)
    return requests


def _requests_of_content(
    sample: SampleTable, content: StoredContent, pk: Mapping[str, str]
) -> dict[str, list[IamRequest]]:
    requests: dict[str, list[IamRequest]] = {}
    cls = sample.package.classes[content.entity]
    field = sample.package.fields[content.entity][content.attribute]
    record = sample.unobserved.get(cls, **content.key)
    functions: dict[str, Callable[[], Any]] = {
        "read_large": partial(read_large, sample.client, record, field),
        "write_large": partial(write_large, sample.client, cls, field, content.data, **content.key),
        "delete_large": partial(delete_large, sample.client, cls, **content.key),
    }
    for name, function in functions.items():
        with sample.watched() as calls:
            function()
        sent = [one for call in calls for one in iam_requests(call.operation, call.request, pk)]
        requests[f"{name} of {content.entity}.{content.attribute}"] = sent
    return requests


def returned_contents(pattern: str, recorded: Recorded, workload: Workload, design: Design) -> list[str]:
    """The contents that a read returned, by the attributes of the items in its responses: `Document.body`."""
    if not isinstance(workload.pattern(pattern), Read):
        return []
    items = [
        item
        for _, calls in recorded[pattern]
        for call in calls
        for item in (*call.response.get("Items", ()), call.response.get("Item", {}), *_batch_items(call.response))
    ]
    types = {item.get(design.type_attribute, {}).get("S") for item in items}
    names = frozenset(name for item in items for name in item)
    return [
        f"{entity.name}.{attribute.name}"
        for entity in workload.entities
        for attribute in contents_of(entity)
        if attribute.name in names and any(item.tag in types for item in design.items if item.entity == entity.name)
    ]


def asked_contents(pattern: str, recorded: Recorded, workload: Workload, design: Design) -> list[str]:
    """The contents that the requests of a read ask for, whether or not an item has one: `Document.body`."""
    read = workload.pattern(pattern)
    if not isinstance(read, Read):
        return []
    calls = [call for _, sequence in recorded[pattern] for call in sequence]
    return [
        f"{entity.name}.{attribute.name}"
        for entity in workload.entities
        for attribute in contents_of(entity)
        if entity.name in read.entities and any(_asks_for(call, attribute.name, design) for call in calls)
    ]


def _asks_for(call: SentCall, attribute: str, design: Design) -> bool:
    bodies = [call.request, *call.request.get("RequestItems", {}).values()]
    bodies += [one["Get"] for one in call.request.get("TransactItems", ()) if "Get" in one]
    projected = [body for body in bodies if "ProjectionExpression" in body]
    slot = design.slot(call.index or TABLE)
    assert slot is not None
    is_held = slot.projection.kind is ProjectionKind.ALL or attribute in slot.projection.attributes
    is_named = any(attribute in body["ExpressionAttributeNames"].values() for body in projected)
    return is_held and call.request.get("Select") != "COUNT" and (is_named or not projected)


def _batch_items(response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    responses = response.get("Responses", ())
    if isinstance(responses, Mapping):
        for items in responses.values():
            yield from items
    else:
        yield from (one.get("Item", {}) for one in responses)


def _of_reading(pattern: str, workload: Workload, design: Design) -> Iterator[Documented]:
    """What `read_large` does, as Requests prints it: it reads parts, and the item again if it was replaced meanwhile."""
    operation = design.operation(pattern)
    assert operation is not None
    for reading in content_readings(operation, workload, design):
        for request in reading.reads:
            yield from _of_request(request, design)


def object_problems(
    role: Sequence[str],
    documents: Sequence[dict[str, Any]],
    recorded: Recorded,
    read: tuple[Sequence[str], Sequence[str]],
    workload: Workload,
    design: Design,
) -> Iterator[str]:
    """What a role may do with objects and does not need, or needs and may not do.

    `read` has the contents that were returned, and those that were asked for.
    """
    returned, asked = read
    pattern = ", ".join(role)
    recorded_of_role = [call for one in role for _, calls in recorded[one] for call in calls]
    sent = [call for call in recorded_of_role if call.operation == PUT_OBJECT]
    for store in design.stores:
        entity = workload.entity(store.entity)
        own = design.item(store.entity)
        assert entity is not None
        assert own is not None
        key = f"{design.table}/{object_folder(own.tag, field_names(entity)[store.attribute])}a/b/000000"
        is_stored = any(call.request["Key"].rpartition("/")[0].startswith(key[: -len("a/b/000000")]) for call in sent)
        limits = {
            "GetObject": (store.name in returned, store.name in asked),
            "PutObject": (is_stored, is_stored),
            "DeleteObject": (False, False),
        }
        for action, (is_needed, is_asked) in limits.items():
            request = IamRequest(f"s3:{action}", f"arn:aws:s3:::bucket/{key}", {})
            is_allowed = any(allowed(document, request) for document in documents)
            if is_needed and not is_allowed:
                yield f"{pattern} may not send {action} for {store.name}"
            if is_allowed and not is_asked:
                yield f"{pattern} may send {action} for {store.name}"


# --- What a pattern sends ---------------------------------------------------------------------------------------------


class Documented(NamedTuple):
    """What a documented request does with items of one partition."""

    action: str
    place: str
    partition: str
    """The template of the partition key."""
    attributes: frozenset[str] = frozenset()
    """The attributes of a read with a projection; empty if it reads whole items."""
    counts: bool = False


def documented_requests(pattern: str, workload: Workload, design: Design) -> Iterator[Documented]:
    operation = design.operation(pattern)
    assert operation is not None
    operations = [operation]
    # Who changes a source refreshes it, unless the stream keeps all that follows it current.
    refreshed = refreshes(workload, design)
    changed = [one for one in refreshed if any(write.id == pattern for write in one.writes)]
    called = {one.bound.source.name for one in changed if one.bound.within is None}
    operations += [one.operation for one in refreshed if one.bound.source.name in called]
    for each in operations:
        for request in (*literal_requests(each, workload, design), *repeated_requests(each, workload, design)):
            yield from _of_request(request, design)


def _of_request(request: LiteralRequest, design: Design) -> Iterator[Documented]:
    if isinstance(request, ReadRequest):
        action = {Call.TRANSACT_GET: "GetItem"}.get(request.call, request.call.value)
        keys = [key.name for slot in design.slots for key in (*slot.pk, *slot.sk)]  # AWS wants them named
        attributes = frozenset((*request.projection, *request.placeholders.names.values(), *keys))
        limited = attributes if request.projection else frozenset()
        counts = request.is_count and request.call is Call.QUERY
        yield Documented(action, request.slot, request.partition, limited, counts)
        return
    if isinstance(request, PartRequest):
        yield Documented("PutItem", TABLE, request.partition)
        return
    if isinstance(request, ObjectRequest):
        return  # its permission is that of a bucket
    assert isinstance(request, WriteRequest)
    for item in request.items:
        if request.call is Call.BATCH_WRITE:
            yield Documented("BatchWriteItem", TABLE, item.partition)
        else:
            yield from _of_item(item, design)


_ACTIONS = {Did.PUT: "PutItem", Did.UPDATE: "UpdateItem", Did.DELETE: "DeleteItem", Did.CHECK: "ConditionCheckItem"}


def _of_item(item: ItemRequest, design: Design) -> Iterator[Documented]:
    yield Documented(_ACTIONS[item.action], TABLE, item.partition)
    if item.otherwise is not None:
        yield from _of_item(item.otherwise, design)
    name = item.item
    if name.construct == "history":
        # A new item with the id of a deleted one continues its versions.
        own = design.item(name.entity)
        assert own is not None
        yield Documented("Query", TABLE, item.partition)
        for action in ("GetItem", "UpdateItem"):
            yield Documented(action, TABLE, own.facets[0].pk[0])


def is_documented(request: IamRequest, documented: Sequence[Documented], separator: str) -> bool:
    """Whether each partition of a request is that of a documented one, which reads as much."""
    fitting = [each for each in documented if _fits(request, each)]
    keys = request.context["dynamodb:LeadingKeys"]
    return all(any(is_instance(each.partition, {"S": key}, separator) for each in fitting) for key in keys)


def _fits(request: IamRequest, documented: Documented) -> bool:
    index = request.resource.partition("/index/")[2] or TABLE
    if (request.action, index) != (f"dynamodb:{documented.action}", documented.place):
        return False
    (selected,) = request.context.get("dynamodb:Select", [""])
    if documented.attributes:
        is_limited = documented.attributes.issuperset(request.context.get("dynamodb:Attributes", ()))
        return selected == "SPECIFIC_ATTRIBUTES" and is_limited
    return not documented.counts or selected == "COUNT"


# --- The law ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=document_name)
def test_the_policies_of_a_document_allow_what_is_sent_and_nothing_else(path: Path) -> None:
    workload = read_file(path).workload
    design = solve(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine)
    assert recorded
    assert list(problems(recorded, workload, design)) == []


@pytest.mark.slow
@given(wide_workloads())
@settings(HUNDREDS, max_examples=examples(200))
def test_the_policies_of_random_workloads_allow_what_is_sent_and_nothing_else(workload: Workload) -> None:
    design = solve_anew(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine, now=NOW)
    assert list(problems(recorded, workload, design)) == []


ROLES = {
    "desk": {
        "Desk": ("AP-001", "AP-003", "AP-004", "AP-022", "AP-024"),
        "SignIn": ("AP-002", "AP-020", "AP-021"),
        "Reports": ("AP-006",),
        "Renames": ("AP-023", "AP-030"),
    },
    "votes": {
        "Voters": ("AP-001", "AP-003", "AP-021", "AP-030"),
        "Hosts": ("AP-002", "AP-020", "AP-022", "AP-023"),
        "Results": ("AP-004", "AP-005", "AP-006"),
        "Corrections": ("AP-024",),
    },
    "files": {
        "Browser": ("AP-001", "AP-003"),
        "Editor": ("AP-002", "AP-021", "AP-022", "AP-023"),
        "Admin": ("AP-020", "AP-030"),
    },
}
"""Roles of several patterns, by document of the folder `roles`."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ROLES)
def test_roles_of_several_patterns_may_do_what_these_do(name: str) -> None:
    workload = read_file(Path(__file__).parent / "roles" / f"{name}.md").workload
    design = solve(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        proof = prove(workload, design, engine, now=NOW)
    assert [(answer.pattern, answer.wrong, answer.problem) for answer in proof.failed] == []
    patterns = {pattern.id for pattern in workload.patterns}
    assert {one for role in ROLES[name].values() for one in role} == patterns
    assert list(problems(recorded, workload, design, ROLES[name].values())) == []
    assert list(problems(recorded, workload, design)) == []


# --- Mistakes that it finds -------------------------------------------------------------------------------------------

MUTANTS: dict[str, Callable[[Grant], Grant]] = {
    "any partition": lambda grant: replace(grant, keys=ANY),
    "any attribute": lambda grant: replace(grant, attributes=ANY),
    "no counting only": lambda grant: replace(grant, counts=False),
    "another partition": lambda grant: replace(grant, keys=frozenset({"OTHER#*"})),
    "no checks": lambda grant: replace(grant, action=grant.action.replace("ConditionCheckItem", "PutItem")),
    "the table for an index": lambda grant: replace(grant, place=TABLE),
    "updates for deletes": lambda grant: replace(grant, action=grant.action.replace("Delete", "Update")),
}


@pytest.mark.everyday(2)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_in_grants_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = read_file(Path(__file__).parents[2] / "proof" / "league.md").workload
    design = solve(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine, now=NOW)
    grants_of = policies.grants_of
    monkeypatch.setattr(
        policies, "grants_of", lambda requests, design: map(MUTANTS[mutant], grants_of(requests, design))
    )
    assert list(problems(recorded, workload, design)) != []


ARCHIVE = """# Archive

## Entities

### Document

- **Attributes**:
  - `documentId` (ulid, generated)
  - `title` (string, mutable)
  - `body` (binary, mutable, 2 MB)
- **Cardinality**: ~1,000 total

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Document | A document | documentId | Single | 1/s |
| AP-002 | Document | A title | documentId | Single (title) | 1/s |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Document | Save a document | Document | create Document | 1/s |
| AP-011 | Document | Scan it again | documentId, body | update Document (body) | 1/s |
| AP-012 | Document | Rename it | documentId, title | update Document (title) | 1/s |
| AP-013 | Document | Announce it | documentId, title | create Document | 1/s |
| AP-014 | Document | Delete it | documentId | delete Document | 1/s |
"""
SECOND = "  - `scan` (content, optional, mutable, 300 KB)\n- **Cardinality**"
PLACES = {
    "two in parts": ARCHIVE.replace("- **Cardinality**", SECOND),
    "parts": ARCHIVE,
    "a store": f"{ARCHIVE}\n## Decisions\n\n- Document.body in a store\n",
}


def problems_of_contents(place: str) -> list[str]:
    workload = read_text(PLACES[place], "md").workload
    design = solve(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine, now=NOW)
    return list(problems(recorded, workload, design))


@pytest.mark.parametrize("place", PLACES)
def test_roles_may_use_the_contents_that_their_patterns_use(place: str) -> None:
    assert problems_of_contents(place) == []


def changed_uses(**changes: bool) -> Callable[..., Iterator[ContentUse]]:
    uses = policies.content_uses
    return lambda *arguments, **options: (replace(use, **changes) for use in uses(*arguments, **options))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "change", [{"reads": True}, {"reads": False}, {"removes": True}], ids=["all read", "none reads", "all delete"]
)
def test_a_mistake_in_the_use_of_contents_is_found(
    change: dict[str, bool], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policies, "content_uses", changed_uses(**change))
    assert problems_of_contents(place) != []


@pytest.mark.parametrize(("document", "roles"), [("desk", ROLES["desk"].values()), ("files", [("AP-021",)])])
def test_a_partition_that_no_request_is_for_is_found(
    document: str, roles: Iterable[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`TICKET#*` would let through the versions of a ticket."""
    workload = read_file(Path(__file__).parent / "roles" / f"{document}.md").workload
    design = solve(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine, now=NOW)
    monkeypatch.setattr(policies, "other_partitions", lambda limits, places, partitions: ())
    assert list(problems(recorded, workload, design, roles)) != []
