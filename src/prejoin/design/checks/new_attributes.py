"""Checks attributes that are new or gone since the design was written, and unused defaults."""

from __future__ import annotations

from prejoin.design import codes
from prejoin.design.checks.report import At, Report
from prejoin.design.layout.growth import NewAttribute, new_attributes_of
from prejoin.design.model import Design
from prejoin.diagnostics import Diagnostic
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.model import Workload


def check_additions(report: Report) -> None:
    for new_attribute in new_attributes_of(report.design, report.workload):
        _report_new(report, new_attribute)
    _report_unknown_attributes(report)
    _report_unused_defaults(report)


def new_attributes(kept_names: Design, workload: Workload, design: Design, at: At) -> list[Diagnostic]:
    """The diagnostics about attributes that a design in use does not know, if another design replaces it."""
    report = Report(kept_names, workload, at)
    for new_attribute in new_attributes_of(kept_names, workload, design):
        _report_new(report, new_attribute)
    return report.diagnostics


def _report_new(report: Report, new_attribute: NewAttribute) -> None:
    entity, attribute = new_attribute.entity, new_attribute.attribute
    name = f"{entity}.{attribute.name}"
    if not new_attribute.readable:
        line = write_attribute(attribute).partition(")")[0]
        report.say(
            codes.NEW_ATTRIBUTE,
            f"{name} is new since the design was written: items that were written before lack it, and cannot be read",
            f"give it a default, `` {line}, default=…) ``, or mark it `optional`; or write it into every item before "
            f"the new code reads them",
            entity,
        )
    elif new_attribute.keyed and attribute.default is not None:
        report.say(
            codes.NOT_BACKFILLED,
            f"{name} is new and in the key of {name_list(list(new_attribute.keyed))}: items that were written before "
            "have its default when they are read, and are not in the index",
            "write them again, or run `prejoin audit --repair` with the new schema",
            entity,
        )


def _report_unknown_attributes(report: Report) -> None:
    for item in report.design.items:
        entity = report.workload.entity(item.entity)
        for name in item.known if entity else ():
            if entity and entity.attribute(name) is None:
                report.say(
                    codes.UNKNOWN_ATTRIBUTE,
                    f"the design lists `{name}` under Attributes of {entity.name}, and it is no attribute of it in the "
                    "access patterns",
                    f"add it to {entity.name} in the access patterns; or delete it here, as the next design does",
                    entity.name,
                )


def _report_unused_defaults(report: Report) -> None:
    for entity in report.workload.entities:
        base = report.base(entity.name)
        if base is None:
            continue
        for attribute in entity.attributes:
            if attribute.default is not None and attribute.name in base.form.attributes:
                report.say(
                    codes.UNUSED_DEFAULT,
                    f"{entity.name}.{attribute.name} is in the table's key `{base.text}`, so every item has it: its "
                    "default is never used",
                    "take the default away",
                    entity.name,
                )
