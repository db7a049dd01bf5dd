"""Checks items that repeat values of others: the client finds their source, and all items that repeat it."""

from __future__ import annotations

from prejoin.constructs.refreshed import refreshed_in
from prejoin.design import codes
from prejoin.design.checks.key_answers import find_plan
from prejoin.design.checks.report import Report
from prejoin.keys import Lookup
from prejoin.workload.checks.reporter import name_list


def check_refreshes(report: Report) -> None:
    for bound in refreshed_in(report.workload):
        name, source, base = bound.entity.name, bound.source.name, report.base(bound.source.name)
        if base is None or report.base(name) is None:
            continue  # an entity without a key is reported as such
        by = list(bound.by.values())
        if lacking := [attribute for attribute in base.form.attributes if attribute not in bound.by]:
            message = f"{bound.label}, whose key `{base.text}` has {name_list(lacking)}, which {name} does not hold"
            fix = f"make the key of {source} from its id alone, or leave `{bound.flag.name}` out"
            report.say(codes.SOURCE_NOT_FOUND, message, fix, name)
        elif find_plan([key.form for key in report.keys], Lookup.of(name, equal=by)) is None:
            message = f"{bound.label}, and no key finds each {name} by {name_list(by)}"
            fix = f"serve a read that finds them, with all attributes: `{name}` by the reference, `Collection`"
            report.say(codes.SOURCE_NOT_FOUND, message, fix, name)
