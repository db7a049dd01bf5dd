"""What a design leaves open about its table: how it is paid for, kept safe and watched, and who may use it for what.

The defaults are those of a table that somebody needs: what was there can be restored, and is not deleted by accident.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from prejoin.design.model import Billing
from prejoin.workload.model import Model


class Encryption(StrEnum):
    """Whose key it is. DynamoDB encrypts what it stores in any case."""

    AWS_OWNED = "aws-owned"
    """A key of AWS: free, and nobody sees its use."""
    AWS_MANAGED = "aws-managed"
    """The account's key for DynamoDB: its use is in CloudTrail, and its requests are paid for."""
    CUSTOMER = "customer"
    """A key of your own: who may use it is yours to say, and a role needs permission for the key, too."""


class Stream(StrEnum):
    """What a stream tells of an item that changed."""

    KEYS_ONLY = "KEYS_ONLY"
    NEW_IMAGE = "NEW_IMAGE"
    OLD_IMAGE = "OLD_IMAGE"
    NEW_AND_OLD_IMAGES = "NEW_AND_OLD_IMAGES"


class TableClass(StrEnum):
    STANDARD = "STANDARD"
    INFREQUENT_ACCESS = "STANDARD_INFREQUENT_ACCESS"


class Scaling(Model, frozen=True):
    """Provisioned units a second, of the table and of each index: they follow the load between two ends."""

    least: int = 5
    most: int = 1000
    target: int = 70
    """Per cent of the units that are to be used."""


class Role(Model, frozen=True):
    """A part of the application, by the access patterns that it runs."""

    name: str
    patterns: tuple[str, ...] = ()
    """All that the design serves, where empty."""


class Infrastructure(Model, frozen=True):
    """All that is to be said about a table beside its design."""

    billing: Billing | None = None
    """The design's, where it is not said."""
    reads: Scaling = Scaling()
    writes: Scaling = Scaling()
    most_reads: int | None = None
    """Units a second that an on-demand table, and each index, is to take at most: a limit to what a mistake costs."""
    most_writes: int | None = None
    table_class: TableClass = TableClass.STANDARD
    point_in_time_recovery: bool = True
    deletion_protection: bool = True
    encryption: Encryption = Encryption.AWS_MANAGED
    key_arn: str = ""
    """The customer's key, if it is there already; else one is made."""
    stream: Stream | None = None
    tags: dict[str, str] = msgspec.field(default_factory=dict)
    roles: tuple[Role, ...] = ()
    """One role for all access patterns, where empty."""
