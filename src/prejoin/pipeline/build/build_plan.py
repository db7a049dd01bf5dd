"""The plan of a build: what happens to each generated file, and how the files are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from prejoin.pipeline.build.build_design import BuildDesign
from prejoin.pipeline.build.record import RECORD, BuildRecord, digest, read_record, text_at, write_record
from prejoin.pipeline.build.settings import Overrides, Settings
from prejoin.pipeline.design.design_document import changed_fixed_keys
from prejoin.pipeline.design.hand_changes import HandChange, lost_changes
from prejoin.pipeline.document import Document, output_form
from prejoin.pipeline.output_files import check_outputs, delete_file, write_file
from prejoin.pipeline.summary import quantity
from prejoin.render.stamp import Merged, difference, generated_part, merge


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A generated file, its text now, and what happens to it."""

    path: PurePosixPath
    before: str | None
    merged: Merged
    losses: tuple[HandChange, ...] = ()
    """Changes by hand of the design document that it would lose."""

    @property
    def diff(self) -> str:
        return difference(self.before, self.merged, str(self.path))


@dataclass(frozen=True, slots=True)
class LeftoverFile:
    """A file of an earlier build that is not needed any more."""

    path: PurePosixPath
    was: str
    """Its digest when it was written."""
    pristine: bool
    """Whether it is unchanged, so that deleting it loses nothing."""


@dataclass(frozen=True, slots=True)
class Product:
    """The generated files of a document, before anything is written."""

    read: Document
    folder: Path
    settings: Settings
    overrides: Overrides
    designed: BuildDesign
    files: Mapping[PurePosixPath, str]
    own: PurePosixPath
    """The document of the design, in which people write, too."""
    source: str
    """A digest of the inputs it was generated from."""
    replaces: bool = False
    """Whether changes by hand of the design document are replaced."""


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """The plan for each file of a build. `write` carries it out."""

    product: Product
    files: tuple[PlannedFile, ...]
    left: tuple[LeftoverFile, ...]

    @property
    def conflicts(self) -> tuple[PlannedFile, ...]:
        """Files that somebody has changed by hand. They are never overwritten."""
        return tuple(file for file in self.files if file.merged.state == "conflict")

    @property
    def writable(self) -> tuple[PlannedFile, ...]:
        """Files that are new or change."""
        return tuple(file for file in self.files if file.merged.writable)

    @property
    def deletable(self) -> tuple[LeftoverFile, ...]:
        """Leftover files that nobody has changed."""
        return tuple(file for file in self.left if file.pristine)

    @property
    def stuck(self) -> bool:
        """Whether the design was changed by hand: code for another design would be useless."""
        return any(file.path == self.product.own for file in self.conflicts)

    def again(self) -> BuildPlan:
        """The plan for the current files, which may have changed meanwhile."""
        return plan_of(self.product)

    def write(self, prune: bool = False) -> None:
        """Writes the files and the record; with `prune`, deletes leftover files that nobody has changed."""
        product, build_design = self.product, self.product.designed
        files_to_delete = self.deletable if prune else ()
        leftover_digests = {str(file.path): file.was for file in self.left if file not in files_to_delete}
        options = product.overrides if product.overrides.given else None
        record = BuildRecord(
            product.source,
            build_design.source,
            build_design.served,
            dict(build_design.unproven),
            left=leftover_digests,
            options=options,
        )
        _write_files(product.folder, self.files, record, product.own)
        check_outputs(product.folder, [file.path for file in files_to_delete])
        for file in files_to_delete:
            delete_file(product.folder, file.path)


def plan_of(product: Product) -> BuildPlan:
    record = read_record(product.folder)
    files = tuple(_design_document(file, product, record) for file in _plan_files(product, record))
    return BuildPlan(product, files, tuple(_leftovers(product, record)))


def _plan_files(product: Product, record: BuildRecord) -> list[PlannedFile]:
    # Before anything is read or written: a difference would show the contents of a link's target.
    check_outputs(product.folder, [*product.files, PurePosixPath(RECORD)])
    planned_files = []
    for path, text in sorted(product.files.items()):
        before = text_at(product.folder / path)
        merge_result = merge(before, text)
        if merge_result.state == "conflict" and not is_stamped(text):
            # It has no stamp, such as a picture; the record knows whether it is as it was generated.
            if before is not None and record.generated(str(path), before):
                merge_result = Merged("changed", text)
            else:
                reason = "it was not generated by the last build, or was changed by hand since"
                merge_result = Merged("conflict", text, reason)
        planned_files.append(PlannedFile(path, before, merge_result))
    return planned_files


def _design_document(file: PlannedFile, product: Product, record: BuildRecord) -> PlannedFile:
    """The document of the design is rewritten, with what people wrote in it; but not if they changed the design."""
    if file.path != product.own or file.merged.state != "conflict":
        return file
    name = str(file.path)
    replacing = PlannedFile(file.path, file.before, Merged("changed", file.merged.text))
    if product.replaces:
        return replacing
    last_text = record.last_text(name, file.before or "")
    if last_text is not None:
        form = output_form(product.folder / file.path)
        losses = lost_changes(last_text, file.before or "", file.merged.text, form)
        if not losses:
            return replacing
        reason = f"{quantity(len(losses), 'change')} by hand would be lost"
        return PlannedFile(file.path, file.before, Merged("conflict", file.merged.text, reason), losses)
    by_hand = not record.generated(name, file.before or "")
    if by_hand and not product.designed.kept and _has_other_keys(file, product):
        reason = (
            "its keys or settings were changed by hand"
            if name in record.files
            else "its keys or settings were written by hand, or with other options"
        )
        return PlannedFile(file.path, file.before, Merged("conflict", file.merged.text, reason))
    return replacing


def _has_other_keys(file: PlannedFile, product: Product) -> bool:
    form = output_form(product.folder / file.path)
    return bool(product.designed.keys or changed_fixed_keys(file.before or "", form, product.read.workload))


def _leftovers(product: Product, record: BuildRecord) -> list[LeftoverFile]:
    leftovers = []
    for name, was in sorted({**record.left, **record.files}.items()):
        path = PurePosixPath(name)
        # The record can be edited by anyone: nothing outside of the folder is ours.
        if path in product.files or path.is_absolute() or ".." in path.parts:
            continue
        text = text_at(product.folder / path)
        if text is not None:
            leftovers.append(LeftoverFile(path, was, record.generated(name, text) and text == generated_part(text)))
    return leftovers


def _write_files(folder: Path, files: tuple[PlannedFile, ...], record: BuildRecord, own: PurePosixPath) -> None:
    """Writes what is new or changed, each file as a whole or not at all, then the record.

    The record names the files before they are written, so that a build after an interrupted one knows its own files.
    """
    writable = [file for file in files if file.merged.writable]
    last_record = read_record(folder)
    record = _with_design_text(msgspec.structs.replace(record, last_texts=last_record.last_texts), files, own)
    digests = {
        str(file.path): digest(generated_part(file.merged.text)) for file in files if file.merged.state != "conflict"
    }
    # A file in conflict stays known as it was generated: if that text is put back, there is no conflict any more.
    digests = {
        str(file.path): last_digest for file in files if (last_digest := last_record.files.get(str(file.path)))
    } | digests
    if writable:
        digests_to_write = last_record.writing | {
            str(file.path): digest(generated_part(file.merged.text)) for file in writable
        }
        write_record(folder, msgspec.structs.replace(last_record, writing=digests_to_write))
    for file in writable:
        write_file(folder, file.path, file.merged.text)
    has_conflict = any(file.merged.state == "conflict" for file in files)
    if writable or not has_conflict:
        # After a conflict the source is empty: the next build has to report it again.
        write_record(
            folder, msgspec.structs.replace(record, files=digests, source="" if has_conflict else record.source)
        )


def _with_design_text(record: BuildRecord, files: tuple[PlannedFile, ...], own: PurePosixPath) -> BuildRecord:
    """The record with the text of the design document, unless that is left alone."""
    for file in files:
        if file.path == own and file.merged.state != "conflict":
            return record.with_text(str(own), file.merged.text)
    return record


def is_stamped(text: str) -> bool:
    """Whether the first line says which lines were generated."""
    return re.match(r"[^\n]*Generated by prejoin: \d+ lines", text) is not None
