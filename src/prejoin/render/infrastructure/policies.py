"""IAM policies for the roles of an application, from their access patterns."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from prejoin.constructs.registry import lines_in
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.mapping.map_writes import entity_actions
from prejoin.design.model import TABLE, Call, Design, Operation, Request
from prejoin.design.requests.literal import LiteralRequest
from prejoin.design.requests.lower import literal_requests, repeated_requests
from prejoin.keys.planner.placeholders import SortCondition
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Input, Model, Workload, Write

from .contents import content_folders, content_grants, content_uses, object_actions
from .errors import InfrastructureError
from .grants import READS, RETURNING, Grant, grants_of, merge_grants, restoring_grants
from .options import Encryption, Infrastructure, Role
from .partitions import other_partitions, partition_keys

EVERYTHING = Role("Application")
"""The role that runs all access patterns, if no roles are given."""
CONSUMER = Role("Stream consumer")
"""The role that reads the stream, and refreshes items by it."""
STREAM = "the stream"
"""The place of actions on the stream. No index has a name with a space."""
BUCKET = "the bucket"
"""The place of actions on the bucket of large contents."""
MOST_CHARACTERS = 6144
"""The limit of a managed policy, without white space."""
_LONGEST_ARN = "arn:aws-us-gov:dynamodb:ap-southeast-99:123456789012:table/"
_POLICY_LANGUAGE = "2012-10-17"
"""The version of IAM's policy language, which is the current one. Without it IAM reads policies as those of 2008."""
_LIKE, _NOT_LIKE = "ForAllValues:StringLike", "ForAllValues:StringNotLike"
_MOST_SHOWN = 60
"""The most characters of pattern ids in a description."""
_ROLE = re.compile(r"[A-Za-z][A-Za-z0-9 _-]{0,63}")
_OBJECT_READS = frozenset({"GetObject", "ListBucket"})
_KEY_READS = ("kms:Decrypt", "kms:DescribeKey")
_KEY_WRITES = ("kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*")


class Statement(Model, frozen=True):
    """Actions that are allowed on the table or on indexes, or on the bucket of large contents."""

    sid: str
    actions: tuple[str, ...]
    places: tuple[str, ...]
    """The table, indexes, the stream, the bucket, or folders of the bucket."""
    condition: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    service: str = "dynamodb"


class Policy(Model, frozen=True):
    name: str
    """Words without spaces, `OrderDesk`; a policy that is too long is continued in `OrderDesk2`."""
    role: str
    patterns: tuple[str, ...]
    statements: tuple[Statement, ...]
    key_actions: tuple[str, ...] = ()
    """Actions on the customer's key, if there is one."""

    @property
    def text(self) -> str:
        """The description, in a line."""
        if not self.patterns:
            return self.role
        pattern_list = ", ".join(self.patterns)
        is_short = len(pattern_list) < _MOST_SHOWN
        return f"{self.role}: {pattern_list if is_short else f'{len(self.patterns)} access patterns'}"


def policies_of(workload: Workload, design: Design, options: Infrastructure) -> tuple[Policy, ...]:
    """The policies of all roles; of one for everything, if none are given."""
    policies: dict[str, Policy] = {}
    for role in options.roles or (EVERYTHING,):
        for policy in _policies(role, policy_name(role.name), workload, design, options):
            other = policies.setdefault(policy.name.lower(), policy)
            if other is not policy:
                both_roles = f"{other.role} and {role.name}"
                raise InfrastructureError(f"the roles {both_roles} would both be {policy.name}", "rename one")
    return tuple(policies.values())


def consumer_policy(workload: Workload, design: Design, options: Infrastructure) -> Policy:
    """The policy of the function that reads the stream: its records, and what keeps attributes current by it."""
    all_refreshes = refreshes(workload, design)
    # `keep_fresh` refreshes all items of the schema, also those that the application refreshes, too.
    is_streamed = any(refresh.bound.within is not None for refresh in all_refreshes)
    requests: list[LiteralRequest] = []
    for refresh in all_refreshes if is_streamed else ():
        requests += literal_requests(refresh.operation, workload, design)
    statements = tuple(_without_other_partitions(statements_of(grants_of(requests, design)), workload, design))
    reads = Statement("ReadStream", ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"), (STREAM,))
    key_actions = _key_actions(statements) if options.encryption is Encryption.CUSTOMER else ()
    return Policy(policy_name(CONSUMER.name), CONSUMER.name, (), (reads, *statements), key_actions)


def policy_name(role: str) -> str:
    """A role's name as a name in a template.

    >>> policy_name("order desk"), policy_name("order-desk"), policy_name("OrderDesk")
    ('OrderDesk', 'OrderDesk', 'OrderDesk')
    """
    if not _ROLE.fullmatch(role):
        raise InfrastructureError(
            f"the role {role!r}", "a name begins with a letter and has up to 64 letters A to Z, digits, spaces, _ and -"
        )
    return pascal(role)


def statements_of(grants: Iterable[Grant]) -> tuple[Statement, ...]:
    """Grants as statements; grants with the same limits share one."""
    # First the actions with the same limits in one place, then the places with the same actions: an IAM statement
    # allows each of its actions on each of its resources.
    actions: dict[tuple[str, frozenset[str], frozenset[str], bool], list[str]] = {}
    for grant in merge_grants(grants):
        limits = (grant.place, grant.keys, grant.attributes, grant.counts)
        actions.setdefault(limits, []).append(grant.action)
    places: dict[tuple[tuple[str, ...], frozenset[str], frozenset[str], bool], list[str]] = {}
    for (place, keys, attributes, counts), names in actions.items():
        places.setdefault((tuple(sorted(names)), keys, attributes, counts), []).append(place)
    used_ids: set[str] = set()
    statements: list[Statement] = []
    for (action_names, keys, attributes, counts), statement_places in places.items():
        sid = _sid(action_names, statement_places, used_ids)
        condition = _condition(action_names, keys, attributes, counts)
        statements.append(Statement(sid, action_names, _table_first(statement_places), condition))
    return tuple(statements)


def _without_other_partitions(
    statements: Iterable[Statement], workload: Workload, design: Design
) -> Iterator[Statement]:
    """Statements that leave out the partitions that begin like theirs, and that none of their requests is for.

    One that would not fit into a policy then stays as it is.
    """
    partitions = partition_keys(workload, design)
    for statement in statements:
        limits = statement.condition.get(_LIKE, {}).get("dynamodb:LeadingKeys", ())
        condition = dict(statement.condition)
        if other_patterns := other_partitions(limits, statement.places, partitions):
            condition[_NOT_LIKE] = {"dynamodb:LeadingKeys": list(other_patterns)}
        narrow_statement = replace(statement, condition=condition)
        yield narrow_statement if _length([narrow_statement], design.table) <= MOST_CHARACTERS else statement


def policy_document(policy: Policy, resources: Mapping[str, Any], key: Any = None) -> dict[str, Any]:
    """A policy document of IAM. `resources` has the names of the table and its indexes in the language."""
    statements = [_statement_object(statement, resources) for statement in policy.statements]
    if policy.key_actions:
        statements.append({"Sid": "Key", "Effect": "Allow", "Action": list(policy.key_actions), "Resource": [key]})
    return {"Version": _POLICY_LANGUAGE, "Statement": statements}


def _statement_object(statement: Statement, resources: Mapping[str, Any]) -> dict[str, Any]:
    """A statement in IAM's JSON."""
    statement_object: dict[str, Any] = {
        "Sid": statement.sid,
        "Effect": "Allow",
        "Action": [f"{statement.service}:{action}" for action in statement.actions],
        "Resource": [resources[place] for place in statement.places],
    }
    if statement.condition:
        statement_object["Condition"] = statement.condition
    return statement_object


def only_tls(resources: Sequence[Any]) -> dict[str, Any]:
    """The policy document of a bucket: no access to it and its objects without TLS."""
    statement = {
        "Sid": "OnlyTls",
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "s3:*",
        "Resource": list(resources),
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return {"Version": _POLICY_LANGUAGE, "Statement": [statement]}


def _refresh_operations(patterns: Collection[str], workload: Workload, design: Design) -> Iterator[Operation]:
    """The refreshes of the sources that some patterns change, if the application has to call them.

    One call refreshes all items of a source, also those that the stream keeps current.
    """
    all_refreshes = refreshes(workload, design)
    called_sources: set[str] = set()
    for refresh in all_refreshes:
        is_changed = any(write.id in patterns for write in refresh.writes)
        if refresh.bound.client_function and is_changed:
            called_sources.add(refresh.bound.source.name)
    for refresh in all_refreshes:
        if refresh.bound.source.name in called_sources:
            yield refresh.operation


def _policies(role: Role, name: str, workload: Workload, design: Design, options: Infrastructure) -> Iterator[Policy]:
    patterns = tuple(_patterns(role, workload, design))
    operations = [*filter(None, map(design.operation, patterns)), *_refresh_operations(patterns, workload, design)]
    role_patterns = [pattern for pattern in workload.patterns if pattern.id in patterns]
    # Who runs all patterns is the whole application. It also calls what no pattern does: `write_large`,
    # `restore_version`, and `restore` and `purge` of soft deletes.
    runs_everything = set(patterns).issuperset(_served_patterns(design))
    requests: list[LiteralRequest] = []
    for operation in operations:
        requests += literal_requests(operation, workload, design)
        requests += repeated_requests(operation, workload, design)
    uses = tuple(content_uses(workload, design, role_patterns, requests, runs_everything=runs_everything))
    grants = [*grants_of(requests, design), *content_grants(uses, design)]
    if runs_everything:
        grants += restoring_grants(requests, design)
        grants += grants_of(_function_requests(workload, design), design)
    statements = tuple(_without_other_partitions(statements_of(grants), workload, design))
    statements += _object_statements(object_actions(uses, content_folders(workload, design)))
    if not statements:
        if role is EVERYTHING:
            return
        raise InfrastructureError(f"the role {role.name} sends no request to the table", "leave it out")
    key_actions = _key_actions(statements) if options.encryption is Encryption.CUSTOMER else ()
    for number, part in enumerate(_parts(role, statements, design.table)):
        part_name = f"{name}{number + 1}" if number else name
        yield Policy(part_name, role.name, patterns, part, () if number else key_actions)


def _function_requests(workload: Workload, design: Design) -> Iterator[LiteralRequest]:
    """The requests of functions of the client that constructs have: each reads an item first."""
    for bound in lines_in(workload, design):
        entity, item = bound.entity, design.item(bound.entity.name)
        assert item is not None  # constructs of entities that have an item
        (pk, *_), sk = item.facets[0].pk, item.facets[0].sk
        first = Request(Call.GET, entities=(entity.name,), pk=pk, sk=SortCondition("=", sk[0]) if sk else None)
        for action in bound.function_actions():
            inputs = tuple(Input(attribute.name) for attribute in entity.attributes)
            write = Write("function", entities=(entity.name,), inputs=inputs, actions=(action,))
            write_requests = [request for _, request in entity_actions(write, workload, design, entity)]
            yield from literal_requests(Operation("function", (first, *write_requests)), workload, design)


def _object_statements(actions: Mapping[str, tuple[str, ...]]) -> tuple[Statement, ...]:
    """The permissions of a role for the objects of large contents, from its actions in each folder."""
    folders: dict[tuple[str, ...], list[str]] = {}
    for folder, action_names in actions.items():
        folders.setdefault(action_names, []).append(folder)
    statements = [
        Statement(_object_sid(action_names), action_names, tuple(places), service="s3")
        for action_names, places in folders.items()
    ]
    if any("GetObject" in action_names for action_names in folders):
        # Without it S3 says of a missing object that access is denied, and not that it is missing.
        statements.append(Statement("MissingObjects", ("ListBucket",), (BUCKET,), service="s3"))
    return tuple(statements)


def _object_sid(actions: tuple[str, ...]) -> str:
    if actions == ("GetObject",):
        return "ReadObjects"
    if actions == ("PutObject",):
        return "StoreObjects"
    return "Objects" if "DeleteObject" in actions else "UseObjects"


def _patterns(role: Role, workload: Workload, design: Design) -> Iterator[str]:
    """The access patterns of a role that the design serves."""
    if not role.patterns:
        yield from _served_patterns(design)
    for pattern_id in dict.fromkeys(role.patterns):
        operation = design.operation(pattern_id)
        if operation is None:
            pattern_ids = [pattern.id for pattern in workload.patterns]
            if pattern_id in pattern_ids:
                problem = f"the role {role.name} names {pattern_id}, which is not a pattern of this table"
                raise InfrastructureError(problem, "leave it out")
            near = suggest(pattern_id, pattern_ids)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(pattern_ids)}"
            raise InfrastructureError(f"the role {role.name} names {pattern_id}, which is no access pattern", hint)
        if not operation.served:
            raise InfrastructureError(
                f"the role {role.name} names {pattern_id}, which the design does not serve", operation.problem
            )
        yield pattern_id


def _served_patterns(design: Design) -> list[str]:
    return [operation.pattern for operation in design.operations if operation.served]


def _parts(role: Role, statements: Sequence[Statement], table: str) -> Iterator[tuple[Statement, ...]]:
    """Splits statements into policies within the limit of IAM."""
    part: list[Statement] = []
    for statement in statements:
        if _length([statement], table) > MOST_CHARACTERS:
            actions = " and ".join(statement.actions)
            raise InfrastructureError(
                f"what the role {role.name} may do with {actions} does not fit into a policy of "
                f"{MOST_CHARACTERS:,} characters",
                "tell several roles apart",
            )
        if part and _length([*part, statement], table) > MOST_CHARACTERS:
            yield tuple(part)
            part = []
        part.append(statement)
    yield tuple(part)


def _length(statements: list[Statement], table: str) -> int:
    """The length of a policy with the longest ARNs and the customer's key."""
    arns: dict[str, str] = {}
    for statement in statements:
        for place in statement.places:
            arns[place] = f"{_LONGEST_ARN}{table}" + ("" if place == TABLE else f"/index/{place}")
    policy = Policy("", "", (), tuple(statements), (*_KEY_READS, *_KEY_WRITES))
    return len(json.dumps(policy_document(policy, arns, f"{_LONGEST_ARN}{'0' * 36}"), separators=(",", ":")))


def _condition(
    actions: Sequence[str], keys: frozenset[str], attributes: frozenset[str], counts: bool
) -> dict[str, dict[str, Any]]:
    condition: dict[str, dict[str, Any]] = {}
    if keys:
        condition[_LIKE] = {"dynamodb:LeadingKeys": sorted(keys)}
    if attributes:
        condition["ForAllValues:StringEquals"] = {"dynamodb:Attributes": sorted(attributes)}
        # Who does not say which attributes would get all of them, and names none.
        condition.setdefault("StringEqualsIfExists", {})["dynamodb:Select"] = "SPECIFIC_ATTRIBUTES"
    if RETURNING.intersection(actions):
        # Generated methods ask for no values. Without this, `ReturnValues=ALL_OLD` reads the item that is written.
        # The key is absent where the parameter is, and from the writes of a transaction.
        condition.setdefault("StringEqualsIfExists", {})["dynamodb:ReturnValues"] = "NONE"
    if counts:
        condition["StringEquals"] = {"dynamodb:Select": "COUNT"}
    if keys:
        # ForAllValues holds where there are no values at all: a request has to name its partitions.
        condition["Null"] = {"dynamodb:LeadingKeys": "false"}
    return condition


def _key_actions(statements: Iterable[Statement]) -> tuple[str, ...]:
    """The actions on the customer's key: DynamoDB and S3 use it in the name of the caller."""
    reads = READS | _OBJECT_READS
    writes = any(not reads.issuperset(statement.actions) for statement in statements)
    return tuple(sorted((*_KEY_READS, *(_KEY_WRITES if writes else ()))))


def _sid(actions: Sequence[str], places: Sequence[str], used_ids: set[str]) -> str:
    """The id of a statement: actions and places."""
    base = sid = _verb(actions) + _noun(places)
    number = 2
    # IAM refuses a policy with two statements of one id, and ids with other characters than letters and digits.
    while sid in used_ids:
        sid, number = f"{base}N{number}", number + 1
    used_ids.add(sid)
    return sid


def _verb(actions: Sequence[str]) -> str:
    """The only action, or a word for several."""
    if len(actions) == 1:
        return actions[0]
    if READS.issuperset(actions):
        return "Read"
    return "Write" if READS.isdisjoint(actions) else "Use"


def _noun(places: Sequence[str]) -> str:
    if len(places) == 1:
        return pascal(places[0])
    return "TableAndIndexes" if TABLE in places else "Indexes"


def _table_first(places: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(places, key=lambda place: (place != TABLE, place)))


def pascal(text: str) -> str:
    """A text as a name without other characters than letters and digits.

    >>> pascal("order desk"), pascal("shop-orders")
    ('OrderDesk', 'ShopOrders')
    """
    return "".join(word[0].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", text) if word)
