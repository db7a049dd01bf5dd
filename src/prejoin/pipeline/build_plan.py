"""What `prejoin build` made, and what becomes of each file: the plan, before anything is written."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from prejoin.pipeline.build_design import Designed
from prejoin.pipeline.build_files import Left, Planned, left_over, planned
from prejoin.pipeline.document import Document
from prejoin.pipeline.record import Record, read_record
from prejoin.pipeline.settings import Overrides, Settings
from prejoin.render.keeping import Merged


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be done with what is made."""

    yes: bool = False
    check: bool = False
    diffs: bool = False
    prune: bool = False
    as_json: bool = False
    overrides: Overrides = field(default_factory=Overrides)

    @property
    def somebody(self) -> bool:
        """Whether there is somebody to be asked."""
        return not (self.yes or self.check or self.as_json) and sys.stdin.isatty() and sys.stdout.isatty()


@dataclass(frozen=True, slots=True)
class Product:
    """What was made of a document, and not written yet."""

    read: Document
    folder: Path
    settings: Settings
    designed: Designed
    files: Mapping[PurePosixPath, str]
    own: PurePosixPath
    """The document of the design, in which people write, too."""
    source: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of each file."""

    product: Product
    found: tuple[Planned, ...]
    left: tuple[Left, ...]

    @property
    def conflicts(self) -> tuple[Planned, ...]:
        return tuple(one for one in self.found if one.merged.state == "conflict")

    @property
    def writable(self) -> tuple[Planned, ...]:
        return tuple(one for one in self.found if one.merged.writable)

    @property
    def deletable(self) -> tuple[Left, ...]:
        """What is left over and as it was written."""
        return tuple(one for one in self.left if one.pristine)

    @property
    def stuck(self) -> bool:
        """Code for another design than the one that people keep would be no help."""
        return any(one.path == self.product.own for one in self.conflicts)


def plan_of(product: Product) -> Plan:
    record = read_record(product.folder)
    found = planned(product.folder, product.files, record)
    left = left_over(product.folder, product.files, record)
    return Plan(product, tuple(_rewritten(one, product, record) for one in found), tuple(left))


def _rewritten(one: Planned, product: Product, record: Record) -> Planned:
    """The design's own document keeps what people wrote in it: it is rewritten. Keys that they changed are theirs."""
    if one.path != product.own or one.merged.state != "conflict":
        return one
    name = str(one.path)
    by_hand = name in record.files and not record.generated(name, one.before or "")
    if by_hand and product.designed.keys and not product.designed.kept:
        return Planned(one.path, one.before, Merged("conflict", one.merged.text, "its keys were changed by hand"))
    return Planned(one.path, one.before, Merged("changed", one.merged.text))
