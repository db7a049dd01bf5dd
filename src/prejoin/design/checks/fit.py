"""Judges whether a single table fits an application, and what suits the other patterns: `fit(workload)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import chain

import msgspec

from prejoin.design import codes
from prejoin.design.checks.report import Report
from prejoin.design.cost.contents import contents
from prejoin.design.phrases import amount
from prejoin.diagnostics import Code
from prejoin.workload.model import (
    Action,
    ChangeOp,
    Combine,
    ContentPlace,
    Context,
    Experience,
    Op,
    Read,
    Result,
    Stability,
    Stage,
    Workload,
)

MOST_OPTIONAL = 3
"""The most optional filters of one list that keys can serve."""
MOST_ANALYTICS = 30
"""Per cent of the queries."""
_WORTH = 1
"""Dollars a month from which it is worth to weigh S3 for large contents."""
_SEARCH = re.compile(
    r"(?i)full.?text|fuzzy|search (?:by|for|in|over) (?:words?|text|keyword)|keyword search|autocomplet"
)
_REPORT = re.compile(
    r"(?i)\b(?:analytic|aggregat|dashboard|statistic|histogram|percentile|business intelligence|\bBI\b|data.?warehouse)"
    r"|\b(?:average|sum|total) (?:of|over|by|per)\b"
    # The first `report` in a line is enough: trying each would take quadratic time.
    r"|^(?>.*?\breport(?:s|ing)?\b).*\b(?:all|month|year|quarter)",
    re.MULTILINE,
)


class FitVerdict(StrEnum):
    FITS = "fits"
    CARE = "fits with care"
    DOUBT = "may not fit"


class ServiceHint(msgspec.Struct, frozen=True):
    """A pattern that keys do not answer well, the reason, and what does."""

    pattern: str
    code: Code
    why: str
    use: str


class TableFit(msgspec.Struct, frozen=True):
    verdict: FitVerdict
    speaks_for: tuple[str, ...] = ()
    speaks_against: tuple[str, ...] = ()
    elsewhere: tuple[ServiceHint, ...] = ()


def fit(workload: Workload) -> TableFit:
    """Whether a single table fits the application of a workload.

    >>> from prejoin.workload.model import Context
    >>> fit(Workload(context=Context(teams=4, ad_hoc=True))).verdict
    <FitVerdict.DOUBT: 'may not fit'>
    """
    context = workload.context or Context()
    hints = tuple(chain.from_iterable(_service_hints(read, workload) for read in workload.reads))
    reasons_against = list(_reasons_against(context, workload))
    out_of_scope = workload.out_of_scope
    serious_hints = [hint for hint in hints if hint.pattern not in out_of_scope and hint.code is not codes.JOINS]
    read_count = len(workload.reads)
    unserved_count = len({hint.pattern for hint in serious_hints})
    if unserved_count * 2 > read_count > 0:
        reasons_against.append(f"{unserved_count} of {read_count} reads are not answered by keys")
    join_count = sum(hint.code is codes.JOINS for hint in hints)
    if join_count * 2 > read_count > 0:
        reasons_against.append(f"{join_count} of {read_count} reads join entities")
    verdict = FitVerdict.FITS
    if len(reasons_against) > 1:
        verdict = FitVerdict.DOUBT
    elif reasons_against or serious_hints:
        verdict = FitVerdict.CARE
    return TableFit(verdict, _reasons_for(context, workload), tuple(reasons_against), hints)


def _reasons_for(context: Context, workload: Workload) -> tuple[str, ...]:
    reasons = []
    collection_count = sum(len(read.entities) > 1 and read.combine is Combine.COLLECTION for read in workload.reads)
    if collection_count:
        subject = f"{collection_count} reads want" if collection_count > 1 else "one read wants"
        reasons.append(f"{subject} several entities at once")
    if context.patterns is Stability.STABLE:
        reasons.append("the access patterns are known and stable")
    if any(write.atomic and len(write.actions) > 1 for write in workload.writes):
        reasons.append("several entities are written together, in transactions")
    if context.teams == 1:
        reasons.append("one team owns all of it")
    return tuple(reasons)


def _reasons_against(context: Context, workload: Workload) -> Iterator[str]:
    yield from _reasons_of_team(context, workload)
    if context.ad_hoc:
        yield "questions come up that nobody has written down: a relational database or OpenSearch answers those"
    if context.analytics is not None and context.analytics >= MOST_ANALYTICS:
        share = f"{context.analytics:g}% of the questions"
        yield f"{share} are analytical: they belong in a warehouse, or in Athena over S3"
    if context.patterns is Stability.UNKNOWN:
        yield "the access patterns are not known yet, and keys are made for patterns"
    if context.stage is Stage.PROTOTYPE and context.patterns is not Stability.STABLE:
        yield "it is a prototype: keys that are wrong tomorrow cost a migration"
    if context.graphql:
        yield "GraphQL resolvers ask for one entity at a time, so reading several at once is seldom used"
    if context.experience is Experience.NONE:
        yield "nobody in the team has done it before: plan time for it, and use the checks"
    if len(workload.entities) > 1 and workload.reads and all(map(_is_simple, workload.reads)):
        yield "every read gets one item by its id: a table for each entity is simpler"


def _reasons_of_team(context: Context, workload: Workload) -> Iterator[str]:
    if not context.teams or context.teams <= 1:
        return
    owners = sorted({entity.owner for entity in workload.entities if entity.owner})
    owner_text = f" ({', '.join(owners)})" if len(owners) > 1 else ""
    subject = f"{context.teams} teams own it{owner_text}"
    yield f"{subject}: a table for each is deployed, scaled and restored without the others"


def _is_simple(read: Read) -> bool:
    return len(read.entities) == 1 and read.result is Result.ONE


def _service_hints(read: Read, workload: Workload) -> Iterator[ServiceHint]:
    """The services that answer a read better than keys do."""
    yield from _search_hint(read)
    yield from _analytics_hint(read, workload)
    optional_count = sum(input_.optional or input_.filter for input_ in read.inputs)
    if optional_count > MOST_OPTIONAL:
        reason = f"{optional_count} conditions are optional"
        yield ServiceHint(read.id, codes.BY_ANYTHING, reason, "OpenSearch or a relational database")
    if read.combine is Combine.JOIN:
        reason = f"it follows {read.entities[0]} to {' and '.join(read.entities[1:])}"
        use = "attributes copied onto the first, or a second request"
        yield ServiceHint(read.id, codes.JOINS, reason, use)


def _words(read: Read) -> str:
    return f"{read.name} {read.description}"


def _search_hint(read: Read) -> Iterator[ServiceHint]:
    searches = [input_ for input_ in read.inputs if input_.op is Op.CONTAINS and not input_.filter]
    if searches or _SEARCH.search(_words(read)):
        reason = f"`{searches[0].attribute}` may be anywhere in the text" if searches else "it is a search for words"
        yield ServiceHint(read.id, codes.SEARCH, reason, "OpenSearch, fed by the table's stream")


def _analytics_hint(read: Read, workload: Workload) -> Iterator[ServiceHint]:
    equalities = [input_ for input_ in read.inputs if input_.op is Op.EQ and not input_.filter]
    counts_all = read.result is Result.COUNT and not equalities
    is_report = _REPORT.search(_words(read)) is not None
    if not is_report and (not counts_all or _is_counter_maintained(workload, read)):
        return
    reason = "it counts all items" if counts_all else "it is a figure over many items"
    use = "a counter that the writes maintain" if counts_all else "an export to S3 with Athena, or a warehouse"
    yield ServiceHint(read.id, codes.ANALYTICS, reason, use)


def _is_counter_maintained(workload: Workload, read: Read) -> bool:
    """Whether some write maintains a counter for a count."""
    for write in workload.writes:
        if any(action.entity in read.entities for action in write.actions) and any(map(_adds, write.actions)):
            return True
    return False


def _adds(action: Action) -> bool:
    return action.updates and any(change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT) for change in action.changes)


def check_fit(report: Report) -> None:
    table_fit = fit(report.workload)
    if table_fit.verdict is FitVerdict.DOUBT:
        report.say(codes.MAY_NOT_FIT, "; ".join(table_fit.speaks_against), "weigh it before you build on it")
    read_ids = {read.id for read in report.reads}
    for hint in table_fit.elsewhere:
        if hint.pattern in read_ids:
            report.say(hint.code, f"{hint.pattern}: {hint.why}", f"use {hint.use}", hint.pattern)
    pins = [decision.pin for decision in report.workload.decisions]
    for content in contents(report.workload, report.design):
        is_weighed = content.stored or ContentPlace(content.entity, content.attribute, store=False) in pins
        if not is_weighed and content.parts > content.objects + _WORTH:
            amounts = f"in parts, for ${content.parts:,.2f} a month; in S3 it would be ${content.objects:,.2f}"
            fix = f"weigh it against a second service: `{content.name} in a store` under Decisions"
            report.say(codes.LARGE_OBJECTS, f"{content.name} is kept {amounts}", fix, content.entity)
        if content.left:
            growth = f"{amount(content.left_gb)} GB more each month"
            message = f"nothing deletes the contents of `{content.name}` when their version is dropped: {growth}"
            fix = f"remove the history of {content.entity}, or give `{content.attribute}` an entity of its own"
            report.say(codes.CONTENTS_STAY, message, fix, content.entity)
