"""Checks of a workload: names, types, decisions, completeness, and things people forget."""

from __future__ import annotations

from prejoin.diagnostics import Diagnostic, in_order
from prejoin.workload.checks.agreement import check_agreement
from prejoin.workload.checks.completeness import check_completeness
from prejoin.workload.checks.constructs import check_constructs, check_flags
from prejoin.workload.checks.contradictions import check_contradictions
from prejoin.workload.checks.decisions import check_decisions
from prejoin.workload.checks.former_names import check_former_names
from prejoin.workload.checks.names import check_names
from prejoin.workload.checks.omissions import check_forgotten
from prejoin.workload.checks.optional_inputs import check_optional_inputs
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.checks.stored_names import check_stored_names
from prejoin.workload.checks.tenants import check_tenants
from prejoin.workload.checks.types import check_types
from prejoin.workload.checks.versions import check_versions
from prejoin.workload.checks.write_inputs import check_write_inputs
from prejoin.workload.checks.write_items import check_write_items
from prejoin.workload.checks.write_values import check_write_values
from prejoin.workload.model import Workload
from prejoin.workload.read_result import Places


def check(workload: Workload, places: Places | None = None) -> tuple[Diagnostic, ...]:
    """All diagnostics about a workload, in the order of their places."""
    reporter = Reporter(workload, places or Places())
    about_parts = (
        check_names,
        check_former_names,
        check_tenants,
        check_types,
        check_flags,
        check_constructs,
        check_versions,
        check_decisions,
    )
    about_the_whole = (
        check_write_inputs,
        check_write_items,
        check_agreement,
        check_write_values,
        check_contradictions,
        check_optional_inputs,
        check_stored_names,
        check_completeness,
        check_forgotten,
    )
    for check_part in (*about_parts, *about_the_whole):
        check_part(reporter)
    return in_order(reporter.diagnostics)
