"""Judges whether a single table fits an application, and what suits the other patterns: `fit(workload)`."""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from prejoin.design import codes
from prejoin.design.checks.report import Report
from prejoin.design.cost.contents import contents
from prejoin.diagnostics import Code
from prejoin.workload.model import (
    Combine,
    ContentPlace,
    Context,
    Experience,
    Op,
    OutOfScope,
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
    elsewhere = tuple(found for read in workload.reads for found in _service_hint(read, workload))
    against = _against(context, workload)
    outside = {d.pin.pattern for d in workload.decisions if isinstance(d.pin, OutOfScope)}
    left = [one for one in elsewhere if one.pattern not in outside and one.code is not codes.JOINS]
    joins = sum(one.code is codes.JOINS for one in elsewhere)
    if len({one.pattern for one in left}) * 2 > len(workload.reads) > 0:
        against += (f"{len({one.pattern for one in left})} of {len(workload.reads)} reads are not answered by keys",)
    if joins * 2 > len(workload.reads) > 0:
        against += (f"{joins} of {len(workload.reads)} reads join entities",)
    verdict = FitVerdict.DOUBT if len(against) > 1 else FitVerdict.CARE if against or left else FitVerdict.FITS
    return TableFit(verdict, _for(context, workload), against, elsewhere)


def _for(context: Context, workload: Workload) -> tuple[str, ...]:
    found = []
    together = [r for r in workload.reads if len(r.entities) > 1 and r.combine is Combine.COLLECTION]
    if together:
        many = f"{len(together)} reads want" if len(together) > 1 else "one read wants"
        found.append(f"{many} several entities at once")
    if context.patterns is Stability.STABLE:
        found.append("the access patterns are known and stable")
    if any(w.atomic and len(w.actions) > 1 for w in workload.writes):
        found.append("several entities are written together, in transactions")
    if context.teams == 1:
        found.append("one team owns all of it")
    return tuple(found)


def _against(context: Context, workload: Workload) -> tuple[str, ...]:
    found = []
    if context.teams and context.teams > 1:
        owners = {e.owner for e in workload.entities if e.owner}
        whose = f" ({', '.join(sorted(owners))})" if len(owners) > 1 else ""
        found.append(
            f"{context.teams} teams own it{whose}: a table for each is deployed, scaled and restored without the others"
        )
    if context.ad_hoc:
        found.append(
            "questions come up that nobody has written down: a relational database or OpenSearch answers those"
        )
    if context.analytics is not None and context.analytics >= MOST_ANALYTICS:
        found.append(
            f"{context.analytics:g}% of the questions are analytical: they belong in a warehouse, or in Athena over S3"
        )
    if context.patterns is Stability.UNKNOWN:
        found.append("the access patterns are not known yet, and keys are made for patterns")
    if context.stage is Stage.PROTOTYPE and context.patterns is not Stability.STABLE:
        found.append("it is a prototype: keys that are wrong tomorrow cost a migration")
    if context.graphql:
        found.append("GraphQL resolvers ask for one entity at a time, so reading several at once is seldom used")
    if context.experience is Experience.NONE:
        found.append("nobody in the team has done it before: plan time for it, and use the checks")
    simple = [r for r in workload.reads if len(r.entities) == 1 and r.result is Result.ONE]
    if len(workload.entities) > 1 and workload.reads and len(simple) == len(workload.reads):
        found.append("every read gets one item by its id: a table for each entity is simpler")
    return tuple(found)


def _service_hint(read: Read, workload: Workload) -> list[ServiceHint]:
    found = []
    text = f"{read.name} {read.description}"
    contains = [i.attribute for i in read.inputs if i.op is Op.CONTAINS and not i.filter]
    if contains or _SEARCH.search(text):
        what = f"`{contains[0]}` may be anywhere in the text" if contains else "it is a search for words"
        found.append(ServiceHint(read.id, codes.SEARCH, what, "OpenSearch, fed by the table's stream"))
    counted = read.result is Result.COUNT and not any(i.op is Op.EQ and not i.filter for i in read.inputs)
    if _REPORT.search(text) or (counted and not _kept(workload, read)):
        what = "it counts all items" if counted else "it is a figure over many items"
        use = "a counter that the writes maintain" if counted else "an export to S3 with Athena, or a warehouse"
        found.append(ServiceHint(read.id, codes.ANALYTICS, what, use))
    optional = [i.attribute for i in read.inputs if i.optional or i.filter]
    if len(optional) > MOST_OPTIONAL:
        what = f"{len(optional)} conditions are optional"
        found.append(ServiceHint(read.id, codes.BY_ANYTHING, what, "OpenSearch or a relational database"))
    if read.combine is Combine.JOIN:
        what = f"it follows {read.entities[0]} to {' and '.join(read.entities[1:])}"
        use = "attributes copied onto the first, or a second request"
        found.append(ServiceHint(read.id, codes.JOINS, what, use))
    return found


def _kept(workload: Workload, read: Read) -> bool:
    """Whether some write maintains a counter for a count."""
    return any(
        action.updates and any(change.op.value in ("+=", "-=") for change in action.changes)
        for write in workload.writes
        if any(a.entity in read.entities for a in write.actions)
        for action in write.actions
    )


def check_fit(r: Report) -> None:
    found = fit(r.workload)
    if found.verdict is FitVerdict.DOUBT:
        r.say(codes.MAY_NOT_FIT, "; ".join(found.speaks_against), "weigh it before you build on it")
    known = {read.id for read in r.reads}
    for one in found.elsewhere:
        if one.pattern in known:
            r.say(one.code, f"{one.pattern}: {one.why}", f"use {one.use}", one.pattern)
    decided = [d.pin for d in r.workload.decisions]
    for large in contents(r.workload, r.design):
        weighed = large.stored or ContentPlace(large.entity, large.attribute, store=False) in decided
        if not weighed and large.parts > large.objects + _WORTH:
            amounts = f"in parts, for ${large.parts:,.2f} a month; in S3 it would be ${large.objects:,.2f}"
            fix = f"weigh it against a second service: `{large.name} in a store` under Decisions"
            r.say(codes.LARGE_OBJECTS, f"{large.name} is kept {amounts}", fix, large.entity)
