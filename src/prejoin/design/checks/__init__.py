"""Checks of a design, generated or hand-written: `check_design(design, workload)`."""

from __future__ import annotations

from prejoin.design.checks.fit import TableFit, check_fit, fit
from prejoin.design.checks.indexes import check_indexes
from prejoin.design.checks.load import check_load
from prejoin.design.checks.names import check_names
from prejoin.design.checks.new_attributes import check_additions, new_attributes
from prejoin.design.checks.reads import check_prefixes, check_reads
from prejoin.design.checks.refreshes import check_refreshes
from prejoin.design.checks.report import At, Report
from prejoin.design.checks.shared_names import taken_names
from prejoin.design.checks.templates import check_dates, check_keys
from prejoin.design.checks.writes import check_writes
from prejoin.design.model import Design
from prejoin.diagnostics import Diagnostic, in_order
from prejoin.keys.template.separator import SEPARATORS
from prejoin.workload.model import Workload

_CHECKS = (
    check_keys,
    check_dates,
    check_prefixes,
    check_reads,
    check_writes,
    check_refreshes,
    check_load,
    check_indexes,
    check_names,
    check_additions,
    check_fit,
)


def check_design(design: Design, workload: Workload, at: At | None = None) -> tuple[Diagnostic, ...]:
    """All diagnostics about a design for a workload.

    The operations in the design are its author's intention and are compared with the patterns. `at` returns the place
    in the design's document for an entity (in a slot), an index or a pattern.
    """
    if len(design.separator) != 1 or design.separator not in SEPARATORS:
        return ()  # no template can be read, and reading the design reports it
    report = Report(design, workload) if at is None else Report(design, workload, at)
    for check in _CHECKS:
        check(report)
    return in_order(report.diagnostics)


__all__ = ["At", "TableFit", "check_design", "fit", "new_attributes", "taken_names"]
