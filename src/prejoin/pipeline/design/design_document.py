"""The table-design document: written from a design, and compared with the one that exists."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prejoin.design.checks import fit
from prejoin.design.codes import FIXED_KEY
from prejoin.design.document import headings
from prejoin.design.document.annotations import Annotations, Validation
from prejoin.design.document.read_document import parse_document
from prejoin.design.document.write_document import rewrite_document, write_document
from prejoin.design.explain.explanation import claim
from prejoin.design.files import read_design_text
from prejoin.design.files import write_design as design_data
from prejoin.design.model import TABLE, Design, Facet, Item, Projection
from prejoin.diagnostics import Diagnostic
from prejoin.pipeline import codes
from prejoin.pipeline.build.record import read_record, write_record
from prejoin.pipeline.design.design_file import design_in_use
from prejoin.pipeline.design.design_table import DesignResult
from prejoin.pipeline.design.hand_changes import (
    HandChange,
    foreign_keys_diagnostics,
    hand_change_diagnostics,
    lost_changes,
)
from prejoin.pipeline.document import output_form, report_unwritable, write
from prejoin.pipeline.errors import ChangedByHandError, InputError, RefusedError, Source
from prejoin.pipeline.summary import tally
from prejoin.proof.result import Proof
from prejoin.workload.files import Form
from prejoin.workload.model import Status, Workload

_FEWEST = "Indexes and copies"
_CODES_WITH_ROWS = frozenset({codes.UNSERVED.id, codes.UNPROVEN.id, codes.ACCEPTED_UNPROVEN.id})
"""Diagnostics that rows of their own report."""
_KEPT_STRUCTURES = "what was there is kept"


@dataclass(frozen=True, slots=True)
class DesignTarget:
    """The file that a design is to be written to, and the design that it has now."""

    path: Path
    form: Form
    text: str | None = None
    before: Design | None = None
    approved: bool = False
    keeps: str = ""
    """The design in use that it was made to extend, as a path from its folder; empty if it extends none."""
    last_text: str | None = None
    """The text when prejoin wrote it last; None if that is not known."""

    def lost_changes(self, new: str) -> tuple[HandChange, ...]:
        """What was changed by hand since, and is not in a new text."""
        if self.last_text is None or self.text is None:
            return ()
        return lost_changes(self.last_text, self.text, new, self.form)

    @property
    def binding(self) -> bool:
        """Whether its keys are in use, or about to be: they stay, and new parts are added."""
        return self.approved or bool(self.keeps)

    @property
    def kept_path(self) -> Path | None:
        """The file of the design in use, if it is another file that exists."""
        path = Path(os.path.normpath(self.path.parent / self.keeps))
        return path if self.keeps and path.is_file() and not is_same_file(path, self.path) else None


def is_same_file(path: Path, other: Path) -> bool:
    """Whether two paths name one file. It need not exist."""
    return os.path.realpath(path) == os.path.realpath(other)


def design_target(path: Path) -> DesignTarget:
    """Reads what the file has now. Raises a `RefusedError` if that is not a design."""
    form = output_form(path)
    if not path.exists():
        return DesignTarget(path, form)
    fix = "move it away, or give `--output FILE`"
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        message = f"{path} exists and cannot be read: {getattr(problem, 'strerror', None) or 'it is not UTF-8'}"
        raise RefusedError(codes.WOULD_OVERWRITE, message, fix, str(path)) from None
    reading = parse_document(text) if form == "md" else read_design_text(text, Workload(), form)
    approved = reading.kept.status is Status.APPROVED
    # An approved design that has lost its keys is a design with errors, which its reader reports.
    is_design = bool(reading.design.items) or (approved and bool(reading.design.table))
    if not is_design and text.strip():
        raise RefusedError(codes.WOULD_OVERWRITE, f"{path} exists and is not a table design", fix, str(path))
    last_text = read_record(path.parent).last_text(path.name, text)
    return DesignTarget(path, form, text, reading.design, approved, reading.kept.keeps, last_text)


def bound_design(target: DesignTarget, workload: Workload, outcome: str) -> Design:
    """The design of a file whose keys stay. Raises an `InputError` with the outcome if it has errors."""
    reason = "is APPROVED" if target.approved else f"keeps the keys of {target.keeps}"
    return design_in_use(target.path, workload, f"{target.path} {reason} and has errors; {outcome}")


def design_of_table(target: DesignTarget, workload: Workload) -> Design | None:
    """The design in use that the file names. None if it names none, or that cannot be read any more."""
    if target.kept_path is None:
        return None
    try:
        return design_in_use(target.kept_path, workload)
    except InputError:
        return None  # the kept keys are in the file itself


def changes_lost_by(result: DesignResult, target: DesignTarget) -> tuple[HandChange, ...]:
    """The changes by hand of a file that are lost if the design is written to it."""
    return target.lost_changes(result_text(result, target.form, target.text, target.path.parent))


def check_changes_by_hand(result: DesignResult, target: DesignTarget) -> None:
    """Raises a `ChangedByHandError` if the design cannot be written without losing changes by hand."""
    command = f"prejoin design {result.request.document.file} --yes --replace"
    if losses := changes_lost_by(result, target):
        diagnostics = hand_change_diagnostics(losses, command, target.form)
    elif target.last_text is None and target.before and not result.request.kept:
        # The record of the build is missing, so nobody knows what prejoin wrote: keys that differ may be by hand.
        diagnostics = foreign_keys_diagnostics(
            changes(target.before, result.design),
            changed_fixed_keys(target.text or "", target.form, result.workload),
            command,
        )
    else:
        return
    if diagnostics:
        raise ChangedByHandError(Source(str(target.path), target.text or "", diagnostics))


def changed_fixed_keys(text: str, form: Form, workload: Workload) -> tuple[Diagnostic, ...]:
    """An error for each key that follows from the design, and that somebody changed: of guards, shards and versions."""
    diagnostics = read_design_text(text, workload, form).diagnostics
    return tuple(diagnostic for diagnostic in diagnostics if diagnostic.code == FIXED_KEY.id)


def write_design(result: DesignResult, target: DesignTarget, *, replace: bool = False) -> bool:
    """Writes a design to its file; False if the file already had this text.

    Raises a `ChangedByHandError` if changes by hand would be lost, unless `replace` is True.
    """
    if not replace:
        check_changes_by_hand(result, target)
    text = result_text(result, target.form, target.text, target.path.parent)
    if text != target.text:
        write(target.path, text)
    folder = target.path.parent
    write_record(folder, read_record(folder).with_text(target.path.name, text))
    return text != target.text


def result_text(result: DesignResult, form: Form, before: str | None = None, folder: Path | None = None) -> str:
    """The document of a design, with all that people wrote into the text before.

    It names the design that it keeps. One that keeps nothing is made from nothing, and binds no later design.
    """
    request = result.request
    # Only a design that was not bound to keep another one is known to need no more structures than these.
    bound_text = _KEPT_STRUCTURES if request.kept else claim(result.workload, result.solution) or "none is needed"
    fewest = Validation(_FEWEST, str(result.explanation.structures), bound_text)
    validations = validation(result.workload, result.design, result.proof, result.diagnostics, fewest)
    keeps = None if request.kept else ""
    if request.kept_file:
        keeps = os.path.relpath(request.kept_file, folder or Path())
    moves = _moves(request.base, result.design) if request.base else None
    return design_text(
        request.document.file, result.workload, result.design, validations, form, before, folder, keeps, moves
    )


def _moves(in_use: Design, design: Design) -> str:
    """The entities with another key than in the design in use, for the head of the document."""
    keys = []
    for name in moved_entities(in_use, design):
        was = in_use.item(name)
        assert was is not None
        keys.append(f"{name} from {key_text(was.facets[0])}")
    return ", ".join(keys)


def design_text(
    file: str,
    workload: Workload,
    design: Design,
    validations: tuple[Validation, ...],
    form: Form,
    before: str | None = None,
    folder: Path | None = None,
    keeps: str | None = None,
    moves: str | None = None,
) -> str:
    """The document of a design for the access patterns in `file`, with all that people wrote into the text before.

    `keeps` is the path of the design in use that it extends, and `moves` the entities with another key than there; None
    is what the text before says.
    """
    if form != "md":
        if keeps is None:
            keeps = read_design_text(before, Workload(), form).kept.keeps if before else ""
        return design_data(design, form, workload, keeps)
    source = "access-patterns.md" if file in ("", "-") else os.path.relpath(file, folder or Path())
    with report_unwritable(file, "give `--output table-design.yaml`"):
        if before and before.strip():
            return rewrite_document(before, design, workload, source, validations, keeps, moves)
        header = {headings.MOVES: moves} if moves else {}
        return write_document(
            design, workload, Annotations(source=source, keeps=keeps or "", header=header), validations
        )


def validation_again(
    before: str, workload: Workload, design: Design, proof: Proof, diagnostics: tuple[Diagnostic, ...]
) -> tuple[Validation, ...]:
    """The validation of a design that is kept. How few structures it needs is known from its document."""
    structures = str(design.structures)
    former_validations = (
        validation_row
        for validation_row in parse_document(before).kept.validation
        if (validation_row.check, validation_row.result) == (_FEWEST, structures)
    )
    return validation(
        workload,
        design,
        proof,
        diagnostics,
        next(former_validations, Validation(_FEWEST, structures, _KEPT_STRUCTURES)),
    )


def validation(
    workload: Workload, design: Design, proof: Proof | None, diagnostics: tuple[Diagnostic, ...], fewest: Validation
) -> tuple[Validation, ...]:
    """The results of checks and proof, for the document. They are the same for every run."""
    return tuple(_validation(workload, design, proof, diagnostics, fewest))


def _validation(
    workload: Workload, design: Design, proof: Proof | None, diagnostics: tuple[Diagnostic, ...], fewest: Validation
) -> Iterator[Validation]:
    operations = design.operations
    unserved_ids = [operation.pattern for operation in operations if not operation.served]
    served_text = f"{len(operations) - len(unserved_ids)} of {len(operations)}"
    yield Validation(
        "Access patterns served", served_text, f"not served: {', '.join(unserved_ids)}" if unserved_ids else ""
    )
    if proof is None:
        yield Validation("Proven by running", "not run", "`--no-proof`")
    else:
        how = "each answer compared with the data itself, each write with the table it should leave"
        result = f"{proof.proven} of {len(proof.in_scope)}"
        unproven = ", ".join(answer.pattern for answer in proof.failed)
        detail = f"on the embedded engine; {how}" + (f"; not proven: {unproven}" if unproven else "")
        yield Validation("Proven by running", result, detail)
        for answer in proof.in_scope:
            if not answer.right:
                yield Validation("Not proven", answer.pattern, answer.wrong or f"it could not be run: {answer.problem}")
        if proof.findings:
            yield Validation("Table after the proof", "not as it should be", "; ".join(proof.findings))
    yield fewest
    other_diagnostics = [diagnostic for diagnostic in diagnostics if diagnostic.code not in _CODES_WITH_ROWS]
    yield Validation(
        "Checks",
        tally(other_diagnostics) or "nothing to say",
        "`prejoin check` tells each" if other_diagnostics else "",
    )
    table_fit = fit(workload)
    yield Validation("Single table", table_fit.verdict.value, "; ".join(table_fit.speaks_against))


def changes(before: Design, after: Design) -> list[str]:
    """The differences between the settings and keys of two designs, a sentence each."""
    return [*_changed_settings(before, after), *_changes(before, after)]


def moved_entities(old: Design, new: Design) -> tuple[str, ...]:
    """The entities that have another type and another key in the table than before."""
    pairs = [(item, new.item(item.entity)) for item in old.items if not item.copy]
    return tuple(was.entity for was, now in pairs if now and now.tag != was.tag and now.facets[0] != was.facets[0])


def _projection_text(projection: Projection) -> str:
    return f"the keys, {', '.join(projection.attributes)}" if projection.attributes else projection.kind


_SETTINGS = {
    "table": "the name of the table",
    "type_attribute": "the type attribute",
    "separator": "the separator",
    "raw_keys": "raw keys",
    "ttl_attribute": "the TTL attribute",
    "billing": "the billing mode",
}


def _changed_settings(before: Design, after: Design) -> Iterator[str]:
    for field, title in _SETTINGS.items():
        old, new = _setting_text(getattr(before, field)), _setting_text(getattr(after, field))
        if old != new:
            yield f"{title} is {new}, was {old}"


def _setting_text(value: str | bool) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"`{value}`" if value else "none"


def _changes(before: Design, after: Design) -> Iterator[str]:
    old = {slot.name: slot for slot in before.slots}
    new = {slot.name: slot for slot in after.slots}
    yield from (f"`{name}` is new" for name in new if name not in old)
    yield from (f"`{name}` is gone" for name in old if name not in new)
    for name in new:
        if name in old and (old[name].pk, old[name].sk) != (new[name].pk, new[name].sk):
            yield f"`{name}` has other key attributes"
        elif name in old and old[name].projection != new[name].projection:
            now, earlier = _projection_text(new[name].projection), _projection_text(old[name].projection)
            yield f"`{name}` holds {now} instead of {earlier}"
    for item in after.items:
        was = before.item(item.entity, item.copy)
        if was is None:
            yield f"{titled(item)} is new, at {key_text(item.facets[0])}"
            continue
        if was.tag != item.tag:
            yield f"{titled(item)} has the type `{item.tag}`, was `{was.tag}`"
        for facet in item.facets:
            former_facet = was.facet(facet.slot)
            if former_facet != facet:
                place = "the table" if facet.slot == TABLE else f"`{facet.slot}`"
                yield f"{titled(item)} in {place} is at {key_text(facet)}" + (
                    f", was {key_text(former_facet)}" if former_facet else ""
                )
        slots_left = [former.slot for former in was.facets if item.facet(former.slot) is None]
        yield from (f"{titled(item)} is not in `{slot}` any more" for slot in slots_left)
    yield from (
        f"{titled(item_before)} is gone"
        for item_before in before.items
        if after.item(item_before.entity, item_before.copy) is None
    )
    for word, design_with, design_without in (("new", after, before), ("gone", before, after)):
        for guard in design_with.guards:
            if guard not in design_without.guards:
                yield f"the item that makes {guard.entity}'s {' and '.join(guard.attributes)} unique is {word}"
        yield from (
            f"the object store of {store.name} is {word}"
            for store in design_with.stores
            if store not in design_without.stores
        )
    for name in dict.fromkeys(sharded_counter.entity for sharded_counter in (*before.counters, *after.counters)):
        counters = after.counter(name), before.counter(name)
        if counters[0] != counters[1]:
            texts = [
                f"{' and '.join(counter.attributes)} in {counter.shards} shards" if counter else "none"
                for counter in counters
            ]
            yield f"the sharded counter of {name} is {texts[0]}, was {texts[1]}"


def titled(item: Item) -> str:
    return f"{item.entity} (copy {item.copy})" if item.copy else item.entity


def key_text(facet: Facet) -> str:
    """A key as it is shown: `` `USER#{userId} / ORDER#{orderId}` ``."""
    sort = f" / {' '.join(facet.sk)}" if facet.sk else ""
    return f"`{' '.join(facet.pk)}{sort}`"
