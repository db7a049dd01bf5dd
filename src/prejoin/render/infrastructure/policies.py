"""IAM policies for the roles of an application, from their access patterns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from prejoin.design.cost.refreshes import refreshes
from prejoin.design.model import TABLE, Design
from prejoin.workload.lookup import suggest
from prejoin.workload.model import Model, Workload, Write

from .contents import content_folders, content_operations, content_uses, object_actions
from .errors import InfrastructureError
from .grants import READS, RETURNING, Grant, checking_grants, grants_of, merged, restoring_grants
from .options import Encryption, Infrastructure, Role

EVERYTHING = Role("Application")
"""The role that runs all access patterns, if no roles are given."""
CONSUMER = Role("Stream consumer")
"""The role that reads the stream, and updates what follows by it."""
STREAM = "the stream"
"""The place of actions on the stream. No index has a name with a space."""
BUCKET = "the bucket"
"""The place of actions on the bucket of large contents."""
MOST_CHARACTERS = 6144
"""The limit of a managed policy, without white space."""
_LONGEST_ARN = "arn:aws-us-gov:dynamodb:ap-southeast-99:123456789012:table/"
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
        shown = ", ".join(self.patterns)
        return f"{self.role}: {shown if len(shown) < _MOST_SHOWN else f'{len(self.patterns)} access patterns'}"


def policies_of(workload: Workload, design: Design, options: Infrastructure) -> tuple[Policy, ...]:
    """The policies of all roles; of one for everything, if none are given."""
    found: dict[str, Policy] = {}
    for role in options.roles or (EVERYTHING,):
        for policy in _policies(role, policy_name(role.name), workload, design, options):
            other = found.setdefault(policy.name.lower(), policy)
            if other is not policy:
                both = f"{other.role} and {role.name}"
                raise InfrastructureError(f"the roles {both} would both be {policy.name}", "rename one")
    return tuple(found.values())


def consumer_policy(workload: Workload, design: Design, options: Infrastructure) -> Policy:
    """The policy of the function that reads the stream: its records, and what keeps attributes current by it."""
    followed = [one.operation for one in refreshes(workload, design) if one.link.within is not None]
    written = statements_of(grant for operation in followed for grant in grants_of(operation, design))
    reads = Statement("ReadStream", ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"), (STREAM,))
    keyed = _key_actions(written) if options.encryption is Encryption.CUSTOMER else ()
    return Policy(policy_name(CONSUMER.name), CONSUMER.name, (), (reads, *written), keyed)


def policy_name(role: str) -> str:
    """A role's name as a name in a template.

    >>> policy_name("order desk"), policy_name("order-desk"), policy_name("OrderDesk")
    ('OrderDesk', 'OrderDesk', 'OrderDesk')
    """
    if not _ROLE.fullmatch(role):
        raise InfrastructureError(
            f"the role {role!r}", "a name begins with a letter and has up to 64 letters A to Z, digits, spaces, _ and -"
        )
    return _camel(role)


def statements_of(grants: Iterable[Grant]) -> tuple[Statement, ...]:
    """Grants as statements; grants with the same limits share one."""
    actions: dict[tuple[str, frozenset[str], frozenset[str], bool], list[str]] = {}
    for grant in merged(grants):
        limited = (grant.place, grant.keys, grant.attributes, grant.counts)
        actions.setdefault(limited, []).append(grant.action)
    places: dict[tuple[tuple[str, ...], frozenset[str], frozenset[str], bool], list[str]] = {}
    for (place, keys, attributes, counts), named in actions.items():
        places.setdefault((tuple(sorted(named)), keys, attributes, counts), []).append(place)
    taken: set[str] = set()
    return tuple(
        Statement(_sid(named, where, taken), named, _table_first(where), _condition(named, keys, attributes, counts))
        for (named, keys, attributes, counts), where in places.items()
    )


def policy_document(policy: Policy, resources: Mapping[str, Any], key: Any = None) -> dict[str, Any]:
    """A policy document of IAM. `resources` has the names of the table and its indexes in the language."""
    statements = [
        {
            "Sid": one.sid,
            "Effect": "Allow",
            "Action": [f"{one.service}:{action}" for action in one.actions],
            "Resource": [resources[place] for place in one.places],
            **({"Condition": one.condition} if one.condition else {}),
        }
        for one in policy.statements
    ]
    if policy.key_actions:
        statements.append({"Sid": "Key", "Effect": "Allow", "Action": list(policy.key_actions), "Resource": [key]})
    return {"Version": "2012-10-17", "Statement": statements}


def _policies(role: Role, name: str, workload: Workload, design: Design, options: Infrastructure) -> Iterator[Policy]:
    patterns = tuple(_patterns(role, workload, design))
    operations = [operation for one in patterns if (operation := design.operation(one))]
    # Who changes a source updates what follows it, unless the consumer of the stream does.
    refreshed = [one for one in refreshes(workload, design) if one.link.within is None]
    operations += [one.operation for one in refreshed if any(write.id in patterns for write in one.writes)]
    run = [pattern for pattern in workload.patterns if pattern.id in patterns]
    # Who runs all patterns is the whole application. It also calls what no pattern does: `write_large` and
    # `restore_version`.
    whole = all(one.pattern in patterns for one in design.operations if one.served)
    uses = tuple(content_uses(workload, design, run, whole=whole))
    operations += content_operations(uses, design)
    grants = [grant for operation in operations for grant in grants_of(operation, design)]
    for pattern in run:
        operation = design.operation(pattern.id)
        if isinstance(pattern, Write) and operation is not None:
            grants += checking_grants(pattern, operation)
    if whole:
        grants += [grant for operation in operations for grant in restoring_grants(operation, design)]
    statements = statements_of(grants)
    statements += _object_statements(object_actions(uses, content_folders(workload, design)))
    if not statements:
        if role is EVERYTHING:
            return
        raise InfrastructureError(f"the role {role.name} sends no request to the table", "leave it out")
    keyed = _key_actions(statements) if options.encryption is Encryption.CUSTOMER else ()
    for number, part in enumerate(_parts(role, statements, design.table)):
        own = f"{name}{number + 1}" if number else name
        yield Policy(own, role.name, patterns, part, () if number else keyed)


def _object_statements(actions: Mapping[str, tuple[str, ...]]) -> tuple[Statement, ...]:
    """The permissions of a role for the objects of large contents, from its actions in each folder."""
    folders: dict[tuple[str, ...], list[str]] = {}
    for folder, named in actions.items():
        folders.setdefault(named, []).append(folder)
    statements = []
    for named, places in folders.items():
        statements.append(Statement(_object_sid(named), named, tuple(places), service="s3"))
    if any("GetObject" in named for named in folders):
        # Without it S3 says of a missing object that access is denied, and not that it is missing.
        statements.append(Statement("MissingObjects", ("ListBucket",), (BUCKET,), service="s3"))
    return tuple(statements)


def _object_sid(actions: tuple[str, ...]) -> str:
    if actions == ("GetObject",):
        return "ReadObjects"
    return "StoreObjects" if actions == ("PutObject",) else "Objects" if "DeleteObject" in actions else "UseObjects"


def _patterns(role: Role, workload: Workload, design: Design) -> Iterator[str]:
    """The access patterns of a role that the design serves."""
    if not role.patterns:
        yield from (operation.pattern for operation in design.operations if operation.served)
    for id_ in dict.fromkeys(role.patterns):
        operation = design.operation(id_)
        if operation is None:
            known = [pattern.id for pattern in workload.patterns]
            if id_ in known:
                problem = f"the role {role.name} names {id_}, which is not a pattern of this table"
                raise InfrastructureError(problem, "leave it out")
            near = suggest(id_, known)
            hint = f"did you mean {near}?" if near else f"there are {', '.join(known)}"
            raise InfrastructureError(f"the role {role.name} names {id_}, which is no access pattern", hint)
        if not operation.served:
            raise InfrastructureError(
                f"the role {role.name} names {id_}, which the design does not serve", operation.problem
            )
        yield id_


def _parts(role: Role, statements: Sequence[Statement], table: str) -> Iterator[tuple[Statement, ...]]:
    """Splits statements into policies within the limit of IAM."""
    part: list[Statement] = []
    for one in statements:
        if _length([one], table) > MOST_CHARACTERS:
            raise InfrastructureError(
                f"what the role {role.name} may do with {' and '.join(one.actions)} does not fit into a policy of "
                f"{MOST_CHARACTERS:,} characters",
                "tell several roles apart",
            )
        if part and _length([*part, one], table) > MOST_CHARACTERS:
            yield tuple(part)
            part = []
        part.append(one)
    yield tuple(part)


def _length(statements: list[Statement], table: str) -> int:
    """The length of a policy with the longest ARNs and the customer's key."""
    places = {place for one in statements for place in one.places}
    arns = {place: f"{_LONGEST_ARN}{table}" + ("" if place == TABLE else f"/index/{place}") for place in places}
    policy = Policy("", "", (), tuple(statements), (*_KEY_READS, *_KEY_WRITES))
    return len(json.dumps(policy_document(policy, arns, f"{_LONGEST_ARN}{'0' * 36}"), separators=(",", ":")))


def _condition(
    actions: Sequence[str], keys: frozenset[str], attributes: frozenset[str], counts: bool
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    if keys:
        found["ForAllValues:StringLike"] = {"dynamodb:LeadingKeys": sorted(keys)}
    if attributes:
        found["ForAllValues:StringEquals"] = {"dynamodb:Attributes": sorted(attributes)}
        # Who does not say which attributes would get all of them, and names none.
        found.setdefault("StringEqualsIfExists", {})["dynamodb:Select"] = "SPECIFIC_ATTRIBUTES"
    if RETURNING.intersection(actions):
        # Generated methods ask for no values. Without this, `ReturnValues=ALL_OLD` reads the item that is written.
        # The key is absent where the parameter is, and from the writes of a transaction.
        found.setdefault("StringEqualsIfExists", {})["dynamodb:ReturnValues"] = "NONE"
    if counts:
        found["StringEquals"] = {"dynamodb:Select": "COUNT"}
    if keys:
        # ForAllValues holds where there are no values at all: a request has to name its partitions.
        found["Null"] = {"dynamodb:LeadingKeys": "false"}
    return found


def _key_actions(statements: Iterable[Statement]) -> tuple[str, ...]:
    reads = READS | _OBJECT_READS
    writes = any(not reads.issuperset(one.actions) for one in statements)
    return tuple(sorted((*_KEY_READS, *(_KEY_WRITES if writes else ()))))


def _sid(actions: Sequence[str], places: Sequence[str], taken: set[str]) -> str:
    """The id of a statement: actions and places."""
    reads = sum(action in READS for action in actions)
    verb = "Read" if reads == len(actions) else "Write" if not reads else "Use"
    several = "TableAndIndexes" if TABLE in places else "Indexes"
    name = (actions[0] if len(actions) == 1 else verb) + (several if len(places) > 1 else _camel(places[0]))
    tries = (name, *(f"{name}N{number}" for number in range(2, len(taken) + 3)))
    found = next(one for one in tries if one not in taken)
    taken.add(found)
    return found


def _table_first(places: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(places, key=lambda place: (place != TABLE, place)))


def _camel(text: str) -> str:
    return "".join(word[0].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", text) if word)
