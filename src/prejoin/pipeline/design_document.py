"""The table-design document as `prejoin design` writes it, and what changes from the one that is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prejoin.cli.outcome import CommandError
from prejoin.cli.status import Status
from prejoin.cli.text.messages import tally
from prejoin.design.checks import fit
from prejoin.design.document.annotations import Kept, Validation
from prejoin.design.document.read_document import parse_document
from prejoin.design.document.write_document import rewrite_document, write_document
from prejoin.design.explain.claims import established
from prejoin.design.files import read_design_text, write_design
from prejoin.design.model import TABLE, Design, Facet, Item
from prejoin.diagnostics import Diagnostic
from prejoin.pipeline import codes
from prejoin.pipeline.design import Made
from prejoin.pipeline.document_file import form_for, write, written_for
from prejoin.proof.answer import Proof
from prejoin.workload.files import Form
from prejoin.workload.model import Status as DocumentStatus
from prejoin.workload.model import Workload

_FEWEST = "Indexes and copies"
_KEPT = "what was there is kept"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a design is to be written, and the one that is there."""

    path: Path
    form: Form
    text: str | None = None
    before: Design | None = None
    approved: bool = False


def target(path: Path) -> Target:
    """Looks at what is there. Refuses where that is something else than a design."""
    form = form_for(path)
    if not path.exists():
        return Target(path, form)
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        message = f"{path} is there, and cannot be read: {getattr(problem, 'strerror', None) or 'it is not UTF-8'}"
        raise CommandError(
            codes.WOULD_OVERWRITE, message, "move it away, or give `--output FILE`", Status.REFUSED, str(path)
        ) from None
    reading = parse_document(text) if form == "md" else read_design_text(text, Workload(), form)
    if not reading.design.items and text.strip():
        message = f"{path} is there already, and is not a table design"
        raise CommandError(
            codes.WOULD_OVERWRITE, message, "move it away, or give `--output FILE`", Status.REFUSED, str(path)
        )
    return Target(path, form, text, reading.design, reading.kept.status is DocumentStatus.APPROVED)


@dataclass(frozen=True, slots=True)
class Page:
    """What the document of a design is written from."""

    file: str
    """The access patterns that it is for."""
    workload: Workload
    design: Design
    validation: tuple[Validation, ...]


def document_text(made: Made, form: Form, before: str | None = None, folder: Path | None = None) -> str:
    """The design as a text; what people wrote into the document that is there stays in it."""
    return page_text(Page(made.wanted.document.file, made.workload, made.design, validated(made)), form, before, folder)


def page_text(page: Page, form: Form, before: str | None = None, folder: Path | None = None) -> str:
    design, workload, file = page.design, page.workload, page.file
    if form != "md":
        return write_design(design, form, workload)
    source = "access-patterns.md" if file == "-" else os.path.relpath(file, folder or Path())
    with written_for(file, "give `--output table-design.yaml`"):
        if before and before.strip():
            return rewrite_document(before, design, workload, source, page.validation)
        return write_document(design, workload, Kept(source=source), page.validation)


def save(made: Made, where: Target) -> str:
    """Writes the design; what was done, in a sentence."""
    text = document_text(made, where.form, where.text, where.path.parent)
    if text == where.text:
        return f"{where.path} is as it was"
    write(where.path, text)
    return f"wrote {where.path}"


def validated(made: Made) -> tuple[Validation, ...]:
    """What was checked and proven, for the document. It says the same whenever it is run."""
    detail = established(made.workload, made.solution) or "none is needed"
    fewest = Validation(_FEWEST, str(made.explanation.structures), _KEPT if made.wanted.kept else detail)
    return validation(made.workload, made.design, made.proof, made.diagnostics, fewest)


def validated_again(
    before: str, workload: Workload, design: Design, proof: Proof, said: tuple[Diagnostic, ...]
) -> tuple[Validation, ...]:
    """The same of the design that is there: how many indexes it takes was found out when it was made."""
    structures = str(len(design.indexes) + len(design.copies))
    then = (v for v in parse_document(before).kept.validation if (v.check, v.result) == (_FEWEST, structures))
    return validation(workload, design, proof, said, next(then, Validation(_FEWEST, structures, _KEPT)))


def validation(
    workload: Workload, design: Design, proof: Proof | None, said: tuple[Diagnostic, ...], fewest: Validation
) -> tuple[Validation, ...]:
    return tuple(_validation(workload, design, proof, said, fewest))


def _validation(
    workload: Workload, design: Design, proof: Proof | None, said: tuple[Diagnostic, ...], fewest: Validation
) -> Iterator[Validation]:
    operations = design.operations
    lost = [operation.pattern for operation in operations if not operation.served]
    served = f"{len(operations) - len(lost)} of {len(operations)}"
    yield Validation("Access patterns served", served, f"not served: {', '.join(lost)}" if lost else "")
    if proof is None:
        yield Validation("Proven by running", "not run", "`--no-proof`")
    else:
        how = "each answer compared with the data itself, each write with the table it should leave"
        result = f"{proof.proven} of {len(proof.asked)}"
        unproven = ", ".join(answer.pattern for answer in proof.failed)
        detail = f"on the embedded engine; {how}" + (f"; not proven: {unproven}" if unproven else "")
        yield Validation("Proven by running", result, detail)
        if proof.findings:
            yield Validation("Table after the proof", "not as it should be", "; ".join(proof.findings))
    yield fewest
    rest = [d for d in said if d.code not in {codes.UNSERVED.id, codes.UNPROVEN.id}]
    yield Validation("Checks", tally(rest) or "nothing to say", "`prejoin check` tells each" if rest else "")
    found = fit(workload)
    yield Validation("Single table", found.verdict.value, "; ".join(found.speaks_against))


def changes(before: Design, after: Design) -> list[str]:
    """What differs in the keys of two designs, a sentence each; nothing where they are the same."""
    return list(_changes(before, after))


def _changes(before: Design, after: Design) -> Iterator[str]:
    old = {slot.name: slot for slot in before.slots}
    new = {slot.name: slot for slot in after.slots}
    yield from (f"`{name}` is new" for name in new if name not in old)
    yield from (f"`{name}` is gone" for name in old if name not in new)
    for name in new:
        if name in old and (old[name].pk, old[name].sk) != (new[name].pk, new[name].sk):
            yield f"`{name}` has other key attributes"
        elif name in old and old[name].projection != new[name].projection:
            yield f"`{name}` holds {new[name].projection.kind} instead of {old[name].projection.kind}"
    for item in after.items:
        was = before.item(item.entity, item.copy)
        if was is None:
            yield f"{titled(item)} is new, at {keyed(item.facets[0])}"
            continue
        for facet in item.facets:
            then = was.facet(facet.slot)
            if then != facet:
                place = "the table" if facet.slot == TABLE else f"`{facet.slot}`"
                yield f"{titled(item)} in {place} is at {keyed(facet)}" + (f", was {keyed(then)}" if then else "")
        gone = [f.slot for f in was.facets if item.facet(f.slot) is None]
        yield from (f"{titled(item)} is not in `{slot}` any more" for slot in gone)
    yield from (f"{titled(i)} is gone" for i in before.items if after.item(i.entity, i.copy) is None)
    for word, ones, others in (("new", after, before), ("gone", before, after)):
        for guard in ones.guards:
            if guard not in others.guards:
                yield f"the item that makes {guard.entity}'s {' and '.join(guard.attributes)} unique is {word}"


def titled(item: Item) -> str:
    return f"{item.entity} (copy {item.copy})" if item.copy else item.entity


def keyed(facet: Facet) -> str:
    """A key as people write it."""
    sort = f" / {' '.join(facet.sk)}" if facet.sk else ""
    return f"`{' '.join(facet.pk)}{sort}`"
