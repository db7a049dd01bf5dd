"""The stack of a design, independent of the language: `stack_of(workload, design, options)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from prejoin.constructs.refreshed import refreshed_in
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.mapping.validate import DesignError, must_fit
from prejoin.design.model import TABLE, Design
from prejoin.workload.model import Decision, Model, Need, OwnTable, Workload

from .contents import content_folders
from .errors import InfrastructureError
from .options import Encryption, Infrastructure, Stream
from .policies import BUCKET, STREAM, Policy, consumer_policy, policies_of
from .table import Table, TableIndex, table_of

NOTICE = "Written by prejoin from the table's design: change that, and write this again."
STREAM_ATTEMPTS = 100
"""How often Lambda delivers a record that fails. Without a limit it stops its shard for a day."""
ABORT_DAYS = 7
"""Days after which S3 deletes the parts of an upload that was not finished."""
RECOVERY_DAYS = 35
"""Days that deleted objects are kept, as long as a table can be restored: its earlier items refer to them."""


_LONGEST_TITLE = 200


class Stack(Model, frozen=True):
    title: str
    """The title of the application, in a line."""
    table: Table
    policies: tuple[Policy, ...]
    options: Infrastructure
    consumer: Policy | None = None
    """The policy of the function that reads the stream, if there is one."""
    folders: tuple[str, ...] = ()
    """The folders of the bucket for large contents, in that of the table."""

    @property
    def bucket(self) -> bool:
        """Whether there is a bucket."""
        return bool(self.folders)

    @property
    def every_policy(self) -> tuple[Policy, ...]:
        return (*self.policies, self.consumer) if self.consumer else self.policies

    @property
    def has_customer_key(self) -> bool:
        """Whether the customer's key encrypts the table: one of the stack, or one that exists."""
        return self.options.encryption is Encryption.CUSTOMER

    @property
    def makes_key(self) -> bool:
        """Whether an encryption key is part of the stack."""
        return self.has_customer_key and not self.options.key_arn

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the table and of the bucket, in the order of their keys."""
        return dict(sorted(self.options.tags.items()))

    @property
    def provisioned_units(self) -> tuple[int, int] | None:
        """The read and write units of the table and of each index; None for an on-demand table."""
        if not self.table.is_provisioned:
            return None
        return self.options.reads.least, self.options.writes.least

    @property
    def request_limits(self) -> dict[str, int]:
        """The limits of an on-demand table and of each index that are set: `{"max_read_request_units": 500}`."""
        limits: dict[str, int] = {}
        # DynamoDB refuses these limits for a provisioned table.
        if not self.table.is_provisioned:
            if self.options.most_reads is not None:
                limits["max_read_request_units"] = self.options.most_reads
            if self.options.most_writes is not None:
                limits["max_write_request_units"] = self.options.most_writes
        return limits

    def resources(
        self, *, table: Any, stream: Any, bucket: Any, index: Callable[[str], Any], folder: Callable[[str], Any]
    ) -> dict[str, Any]:
        """The ARNs that policies name, in a language, by the places of statements."""
        arns = {table_index.name: index(table_index.name) for table_index in self.table.indexes}
        for name in self.folders:
            arns[name] = folder(name)
        return {**arns, TABLE: table, STREAM: stream, BUCKET: bucket}


class Scaled(Model, frozen=True):
    """Auto scaling of reads or writes, of the table or of an index."""

    name: str
    """Words without spaces: `Index1Writes`."""
    index: TableIndex | None
    writes: bool
    least: int
    most: int
    target: int

    @property
    def dimension(self) -> str:
        kind = "index" if self.index else "table"
        return f"dynamodb:{kind}:{'Write' if self.writes else 'Read'}CapacityUnits"

    @property
    def metric(self) -> str:
        return f"DynamoDB{'Write' if self.writes else 'Read'}CapacityUtilization"


def stack_of(workload: Workload, design: Design, options: Infrastructure) -> Stack:
    """The stack; raises InfrastructureError if AWS would refuse it."""
    try:
        must_fit(design, workload)
    except DesignError as misfit:
        raise InfrastructureError(str(misfit)) from None
    title = "".join(filter(str.isprintable, " ".join(workload.title.split())))[:_LONGEST_TITLE]
    # A design that was written as data need not have the operations that follow from its keys.
    if not design.operations:
        design = map_patterns(design, workload)
    options = _with_stream(workload, options)
    table = table_of(workload, design, options)
    for problem in _missing_index_errors(design, table):
        raise problem
    consumer = consumer_policy(workload, design, options) if options.stream else None
    policies = policies_of(workload, design, options)
    folders = tuple(content_folders(workload, design).values())
    return Stack(title or table.name, table, policies, options, consumer, folders)


def _with_stream(workload: Workload, options: Infrastructure) -> Infrastructure:
    """The options, with a stream if items are refreshed by it, or if entities need one."""
    # A refresh compares the attributes before and after a change: it needs both images.
    for bound in refreshed_in(workload):
        if bound.within is None or options.stream is Stream.NEW_AND_OLD_IMAGES:
            continue
        if options.stream is None:
            return replace(options, stream=Stream.NEW_AND_OLD_IMAGES)
        message = f"{bound.label} by the stream, which needs both images"
        raise InfrastructureError(message, f'write stream = "{Stream.NEW_AND_OLD_IMAGES.value}", or leave it out')
    if options.stream is None and any(map(_needs_stream, workload.decisions)):
        return replace(options, stream=Stream.NEW_AND_OLD_IMAGES)
    return options


def _needs_stream(decision: Decision) -> bool:
    return isinstance(decision.pin, OwnTable) and Need.STREAM in decision.pin.needs


def _missing_index_errors(design: Design, table: Table) -> Iterator[InfrastructureError]:
    """Operations that read an index which is not deployed, because it does not exist or has no items."""
    deployed_slots = {index.name for index in table.indexes} | {TABLE}
    for operation in design.operations:
        for request in operation.requests:
            if request.slot not in deployed_slots:
                fix = "give one a key there, or leave the operation out, so that it follows from the keys"
                message = f"{operation.pattern} reads the index {request.slot!r}, in which no entity has a key"
                yield InfrastructureError(message, fix)


def scaled_dimensions(stack: Stack) -> tuple[Scaled, ...]:
    """The auto scaling of a provisioned table: reads and writes of the table and of each global index."""
    if not stack.table.is_provisioned:
        return ()
    dimensions = []
    for number, index in enumerate((None, *stack.table.global_indexes)):
        for writes, scaling in ((False, stack.options.reads), (True, stack.options.writes)):
            # Without the other characters, the names of two indexes may be equal. Numbers tell them apart.
            place = f"Index{number}" if index else "Table"
            name = f"{place}{'Writes' if writes else 'Reads'}"
            dimensions.append(Scaled(name, index, writes, scaling.least, scaling.most, scaling.target))
    return tuple(dimensions)


def split_words(name: str, joint: str = "_") -> str:
    """A class name in lower case, with a joint between its words.

    >>> split_words("ShopTable"), split_words("ShopTable", "-")
    ('shop_table', 'shop-table')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", joint, name).lower()
