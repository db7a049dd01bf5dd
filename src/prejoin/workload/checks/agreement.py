"""Asks whether references of two items of one write have to agree, where the document leaves it open."""

from __future__ import annotations

from prejoin.workload import codes
from prejoin.workload.agreement import SiblingReference, sibling_references
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.lookup import touched_entities
from prejoin.workload.model import Write
from prejoin.workload.read_result import Path


def check_agreement(r: Reporter) -> None:
    for kind, writes in (("writes", r.workload.writes), ("deletes", r.workload.deletes)):
        for index, write in enumerate(writes):
            _sibling_references(r, (kind, index), write)


def _sibling_references(r: Reporter, path: Path, write: Write) -> None:
    inputs = write.input_names
    entities = touched_entities(r.workload, write)
    asked_questions: set[frozenset[str]] = set()
    for reference in sibling_references(r.workload, write):
        name = reference.attribute.name
        question = frozenset({reference.entity.name, reference.other.name, name})
        # `check_write_items` asks about items whose common reference is to a third item of the write.
        is_asked_elsewhere = reference.is_other_new and name in inputs and reference.held in entities
        if question in asked_questions or is_asked_elsewhere:
            continue
        asked_questions.add(question)
        other = f"new `{reference.other.name}`" if reference.is_other_new else f"`{reference.other.name}`"
        message = (
            f"`{reference.entity.name}.{name}` need not be the `{name}` of the {other}: "
            f"nothing says whether both are of one `{reference.held.name}`"
        )
        r.say(codes.WHOSE, (*path, "checks"), message, _fix(reference, is_input=name in inputs), name)


def _fix(reference: SiblingReference, is_input: bool) -> str:
    name = reference.attribute.name
    condition = f"`{reference.entity.name}.{name} = {name}`"
    if not reference.is_other_new:
        condition += f" and `{reference.other.name}.{name} = {name}`"
    fix = f"add {condition} to the conditions" + ("" if is_input else f" and `{name}` to the inputs")
    if reference.attribute.optional:
        return f"{fix}, if they have to be; if not, give one of the two references another name"
    return f"{fix}, if they have to be; if not, add `{reference.entity.name}.{name} exists`"
