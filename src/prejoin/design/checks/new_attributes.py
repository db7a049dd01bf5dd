"""Checks attributes that are new since the design was written, and unused defaults."""

from __future__ import annotations

from prejoin.design import codes
from prejoin.design.checks.report import At, Report
from prejoin.design.layout.growth import NewAttribute, new_attributes_of
from prejoin.design.model import Design
from prejoin.diagnostics import Diagnostic
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.model import Workload


def check_additions(r: Report) -> None:
    for one in new_attributes_of(r.design, r.workload):
        _new(r, one)
    _unused_defaults(r)


def new_attributes(kept: Design, workload: Workload, design: Design, at: At) -> list[Diagnostic]:
    """The diagnostics about attributes that a design in use does not know, if another design replaces it."""
    report = Report(kept, workload, at)
    for one in new_attributes_of(kept, workload, design):
        _new(report, one)
    return report.diagnostics


def _new(r: Report, one: NewAttribute) -> None:
    name = f"{one.entity}.{one.attribute.name}"
    if not one.readable:
        line = write_attribute(one.attribute).partition(")")[0]
        r.say(
            codes.NEW_ATTRIBUTE,
            f"{name} is new since the design was written: items that were written before lack it, and cannot be read",
            f"give it a default, `` {line}, default=…) ``, or mark it `optional`; or write it into every item before "
            f"the new code reads them",
            one.entity,
        )
    elif one.keyed and one.attribute.default is not None:
        r.say(
            codes.NOT_BACKFILLED,
            f"{name} is new and in the key of {name_list(list(one.keyed))}: items that were written before have its "
            "default when they are read, and are not in the index",
            "write them again, or run `prejoin audit --repair` with the new schema",
            one.entity,
        )


def _unused_defaults(r: Report) -> None:
    for entity in r.workload.entities:
        base = r.base(entity.name)
        for attribute in entity.attributes if base else ():
            if base and attribute.default is not None and attribute.name in base.form.attributes:
                r.say(
                    codes.UNUSED_DEFAULT,
                    f"{entity.name}.{attribute.name} is in the table's key `{base.text}`, so every item has it: its "
                    "default is never used",
                    "take the default away",
                    entity.name,
                )
