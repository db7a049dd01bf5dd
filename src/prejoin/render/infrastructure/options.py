"""Options of a table that its design leaves open: billing, encryption, backups, streams, and roles.

By default the table has backups and cannot be deleted by accident.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from prejoin.design.model import Billing
from prejoin.workload.model import Model


class Encryption(StrEnum):
    """The owner of the encryption key. DynamoDB always encrypts."""

    AWS_OWNED = "aws-owned"
    """A key of AWS: free, and its use is not logged."""
    AWS_MANAGED = "aws-managed"
    """The account's key for DynamoDB: its use is logged in CloudTrail, and its requests are charged."""
    CUSTOMER = "customer"
    """A key of your own, with its own permissions: a role needs them, too."""


class Stream(StrEnum):
    """The content of a stream record."""

    KEYS_ONLY = "KEYS_ONLY"
    NEW_IMAGE = "NEW_IMAGE"
    OLD_IMAGE = "OLD_IMAGE"
    NEW_AND_OLD_IMAGES = "NEW_AND_OLD_IMAGES"


class TableClass(StrEnum):
    STANDARD = "STANDARD"
    INFREQUENT_ACCESS = "STANDARD_INFREQUENT_ACCESS"


class Scaling(Model, frozen=True):
    """Provisioned units a second of the table and of each index, with auto scaling between two limits."""

    least: int = 5
    most: int = 1000
    target: int = 70
    """The target utilization in per cent."""


class Role(Model, frozen=True):
    """A part of the application, by the access patterns that it runs."""

    name: str
    patterns: tuple[str, ...] = ()
    """Empty: all patterns that the design serves."""


class Infrastructure(Model, frozen=True):
    """The options of a table beside its design."""

    billing: Billing | None = None
    """By default that of the design."""
    reads: Scaling = Scaling()
    writes: Scaling = Scaling()
    most_reads: int | None = None
    """The most units a second of an on-demand table and of each index, to limit the cost of a mistake."""
    most_writes: int | None = None
    table_class: TableClass = TableClass.STANDARD
    point_in_time_recovery: bool = True
    deletion_protection: bool = True
    encryption: Encryption = Encryption.AWS_MANAGED
    key_arn: str = ""
    """The customer's key; by default a new one is created."""
    stream: Stream | None = None
    tags: dict[str, str] = msgspec.field(default_factory=dict)
    roles: tuple[Role, ...] = ()
    """Empty: one role for all access patterns."""
