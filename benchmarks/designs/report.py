"""The results as a table for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import msgspec

from common.tables import amount, table
from designs.exam import Proof, Result
from designs.experts import Answered, Expert
from engine.machine import machine

HEAD = [
    "",
    "entities",
    "patterns",
    "expert's indexes",
    "expert's copies",
    "expert's month",
    "our indexes",
    "our copies",
    "our month",
    "that is",
    "served",
    "a senior would sign",
    "solved in",
]


def as_table(results: Sequence[Result], places: Sequence[str]) -> str:
    head = [*HEAD, *(f"proven, {place}" for place in places)]
    rows = [_row(one, places) for one in results]
    notes = [f"- {one.name}: {note}" for one in results for note in remarks(one)]
    return "\n\n".join(filter(None, [table(head, rows), summary(results, places), "\n".join(notes)]))


def published(results: Sequence[Result], places: Sequence[str], large: str, interlocking: str) -> str:
    """What stands in the README."""
    here = machine()
    return f"""Measured on {here["cores"]} cores, {here["system"]}.

### Published designs

{as_table(results, places)}

### Large workloads, made up

{large}

### Documents with interlocking reads

{interlocking}
"""


def _row(one: Result, places: Sequence[str]) -> list[str]:
    patterns = f"{one.patterns} (+{one.outside})" if one.outside else str(one.patterns)
    expert = [*_kept(one.expert), _money(one.expert_money)] if one.expert else ["-", "-", "-"]
    if one.ours is None:
        left = [one.name, str(one.entities), patterns, *expert, "error"]
        return left + [""] * (len(HEAD) - len(left) + len(places))
    ours = one.ours
    return [
        one.name,
        str(one.entities),
        patterns,
        *expert,
        str(ours.gsis),
        f"{ours.copies}{_guards(ours.guards)}",
        _money(ours.money),
        one.verdict or "-",
        f"{one.served}/{one.patterns}",
        "no: " + ", ".join(sorted({text.split()[0] for text in ours.findings})) if ours.findings else "yes",
        amount(ours.seconds) + ("" if ours.exact else ", not exact"),
        *(_proof(one.proofs[place]) for place in places),
    ]


def _kept(expert: Expert) -> list[str]:
    """Indexes and copies."""
    lsis = f", {expert.lsis} LSI" if expert.lsis else ""
    tables = f", {expert.tables} tables" if expert.tables > 1 else ""
    return [f"{expert.gsis}{lsis}{tables}", f"{expert.copies}{_guards(expert.guards)}"]


def _money(dollars: float | None) -> str:
    return "-" if dollars is None else f"${dollars:,.2f}"


def _guards(count: int) -> str:
    return f", {count} guard{'s' if count > 1 else ''}" if count else ""


def _proof(proof: Proof) -> str:
    return "error" if proof.error else f"{proof.right}/{proof.of}"


def remarks(one: Result) -> list[str]:
    """What the figures do not say."""
    if one.error:
        return [one.error]
    found = []
    if one.verdict == "more":
        found.append("more structures than the expert" + (", who saves by defects" if one.defects else ""))
        found += one.defects
    found += _broken(one)
    found += one.ours.findings if one.ours else ()
    for pattern in one.behind:
        problem = one.problems.get(pattern)
        found.append(f"{pattern} is not served: {problem}" if problem else f"{pattern} {_more(one, pattern)}")
    for pattern, problem in one.problems.items():
        if pattern not in one.behind:
            found.append(f"{pattern} is not served, nor by the expert: {problem}")
    for place, proof in one.proofs.items():
        if proof.error:
            found.append(f"not run, {place}: {proof.error}")
        found += [f"{p}, {place}: {_first(text)}" for p, text in proof.wrong.items() if p not in one.problems]
    return found


def _broken(one: Result) -> list[str]:
    """What must not be: more indexes at equal copies, or a copy where the expert has none and that does not pay."""
    if one.ours is None or one.expert is None:
        return []
    theirs = one.expert.gsis + one.expert.lsis
    found = []
    if one.ours.copies == one.expert.copies and one.ours.gsis > theirs and not one.defects:
        found.append(f"{one.ours.gsis} indexes, and the expert has {theirs}")
    cheaper = one.expert_money is not None and one.ours.money < 0.9 * one.expert_money
    if one.ours.copies and not one.expert.copies and not cheaper:
        found.append("a copy, and the expert has none")
    return found


def _first(text: str) -> str:
    return text.partition("\n")[0]


def _more(one: Result, pattern: str) -> str:
    """What we need beyond what the expert says is enough."""
    mine = one.ours.answered[pattern] if one.ours else Answered()
    theirs = one.expert.answered[pattern] if one.expert else Answered()
    if mine.requests > theirs.requests:
        return f"takes {mine.requests} requests, the expert says {theirs.requests}"
    return "filters, the expert does not"


def summary(results: Sequence[Result], places: Sequence[str]) -> str:
    compared = [one.verdict for one in results if one.verdict]
    solved = [one for one in results if one.ours]
    parts = [
        f"{len(results)} designs",
        f"structures: {compared.count('fewer')} with fewer than the expert, {compared.count('same')} with as many, "
        f"{compared.count('more')} with more",
        f"{sum(not one.ours.findings for one in solved if one.ours)} of {len(solved)} without a finding",
        f"served {sum(one.served for one in solved)} of {sum(one.patterns for one in results)} patterns",
    ]
    for place in places:
        proofs = [one.proofs[place] for one in solved]
        parts.append(f"proven, {place}: {sum(p.right for p in proofs)} of {sum(one.patterns for one in results)}")
    time = sum(one.ours.seconds for one in solved if one.ours)
    proving = sum(p.seconds for one in solved for p in one.proofs.values())
    parts.append(f"solving took {amount(time)}, proving {amount(proving)}")
    return "; ".join(parts) + "."


def as_json(results: Sequence[Result]) -> str:
    rows = [
        {
            **asdict(one),
            "structures": {
                "expert": one.expert.structures if one.expert else None,
                "ours": one.ours.structures if one.ours else None,
            },
            "served": one.served,
            "behind": one.behind,
            "verdict": one.verdict,
            "remarks": remarks(one),
        }
        for one in results
    ]
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode()
