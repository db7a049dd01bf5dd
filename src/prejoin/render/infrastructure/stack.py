"""All that is deployed for a design, whatever the language: `stack_of(workload, design, options)`."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.mapping.validate import DesignError, must_fit
from prejoin.design.model import TABLE, Design
from prejoin.workload.model import Model, Workload

from .errors import InfrastructureError
from .options import Encryption, Infrastructure
from .policies import Policy, policies_of
from .table import Table, TableIndex, table_of

NOTICE = "Written by prejoin from the table's design: change that, and write this again."


class Stack(Model, frozen=True):
    title: str
    """What it is the table of, in a line."""
    table: Table
    policies: tuple[Policy, ...]
    options: Infrastructure

    @property
    def makes_key(self) -> bool:
        """Whether a key for encryption is part of it."""
        return self.options.encryption is Encryption.CUSTOMER and not self.options.key_arn


class Scaled(Model, frozen=True):
    """Units that follow the load: of reads or writes, of the table or of one of its indexes."""

    name: str
    """In words without spaces: `Index1Writes`."""
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
    """What is to be deployed; InfrastructureError where AWS would refuse it."""
    try:
        must_fit(design, workload)
    except DesignError as misfit:
        raise InfrastructureError(str(misfit)) from None
    title = "".join(c for c in " ".join(workload.title.split()) if c.isprintable())[:200]
    if not design.operations:  # a design that was written as data need not say what follows from its keys
        design = map_patterns(design, workload)
    table = table_of(workload, design, options)
    for problem in _unread(design, table):
        raise problem
    return Stack(title or table.name, table, policies_of(workload, design, options), options)


def _unread(design: Design, table: Table) -> Iterator[InfrastructureError]:
    """Operations that read an index which is not deployed: it is not there, or nothing is in it."""
    there = {TABLE, *(index.name for index in table.indexes)}
    for operation in design.operations:
        for request in operation.requests:
            if request.slot not in there:
                fix = "give one a key there, or leave the operation out, so that it follows from the keys"
                message = f"{operation.pattern} reads the index {request.slot!r}, in which no entity has a key"
                yield InfrastructureError(message, fix)


def scaled(stack: Stack) -> tuple[Scaled, ...]:
    """What scales, of a table that is provisioned: the table and each global index, reads and writes."""
    if not stack.table.provisioned:
        return ()
    found = []
    for number, index in enumerate((None, *stack.table.global_indexes)):
        for writes, scaling in ((False, stack.options.reads), (True, stack.options.writes)):
            # Index names need not differ in letters and digits alone, so they are told apart by number.
            place = f"Index{number}" if index else "Table"
            name = f"{place}{'Writes' if writes else 'Reads'}"
            found.append(Scaled(name, index, writes, scaling.least, scaling.most, scaling.target))
    return tuple(found)
