"""A design as `--format json` gives it: all that is known, for scripts and agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from prejoin.cli.design_answers import DesignAnswers, OtherDesign, Why, Without
from prejoin.design.explain import Alternative, Explanation
from prejoin.design.solver.conflicts import Statement
from prejoin.pipeline.design import Made
from prejoin.proof.answer import Answer
from prejoin.workload.grammar.statements import write_pin


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked about a design, instead of having it written."""

    explain: bool = False
    why: tuple[str, ...] = ()
    alternatives: bool = False
    drop: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.explain or self.why or self.alternatives or self.drop)


def result(made: Made) -> dict[str, Any]:
    solution, bill = made.solution, made.bill
    return {
        "document": made.wanted.document.file,
        "decided": [write_pin(pin) for pin in made.wanted.pins],
        "score": {
            "unserved": len(made.unserved),
            "structures": made.explanation.structures,
            "indexes": len(made.design.indexes),
            "copies": len(made.design.copies),
            "dollars": float(bill.total),
        },
        "exact": solution.exact and made.wanted.kept is None,
        "search": {"ended": solution.ended, "candidates": solution.chosen.candidates},
        "bound": {"structures": solution.chosen.least},
        "reproducible": not made.cut_short,
        "seconds": round(made.seconds, 3),
        "design": msgspec.to_builtins(made.design, str_keys=True),
        "bill": {
            "total": float(bill.total),
            "requests": float(bill.requests),
            "storage": float(bill.kept),
            "provisioned": float(bill.provisioned),
            "patterns": [
                {"pattern": one.pattern, "rate": one.rate, "read": one.units.read, "write": one.units.write,
                 "dollars": float(one.dollars)}
                for one in bill.patterns
            ],
            "kept": [
                {"item": one.item, "slot": one.slot, "entries": one.entries, "size": one.size,
                 "dollars": float(one.dollars)}
                for one in bill.storage
            ],
        },
        "explanation": msgspec.to_builtins(made.explanation, str_keys=True),
        "unserved": [
            {"pattern": one.pattern, "problem": one.problem, "remedy": one.remedy} for one in made.unserved
        ],
        "conflicts": conflict_sets(made.conflicts),
        "fit": {
            "verdict": made.fit.verdict.value,
            "for": list(made.fit.speaks_for),
            "against": list(made.fit.speaks_against),
            "elsewhere": [{"pattern": one.pattern, "why": one.why, "use": one.use} for one in made.fit.elsewhere],
        },
        "proof": proof(made),
        "growth": msgspec.to_builtins(made.growth, str_keys=True) if made.growth is not None else None,
    }  # fmt: skip


def answers(made: Made, why: tuple[Why, ...], dropped: tuple[Without, ...], asked: Questions) -> DesignAnswers:
    """The answers to questions about a design, and nothing else."""
    return DesignAnswers(
        made.wanted.document.file,
        tuple(write_pin(pin) for pin in made.wanted.pins),
        why or UNSET,
        _other_designs(made.explanation) if asked.alternatives else UNSET,
        dropped or UNSET,
        msgspec.to_builtins(made.explanation, str_keys=True) if asked.explain else UNSET,
    )


def _other_designs(explanation: Explanation) -> tuple[OtherDesign, ...]:
    return tuple(
        OtherDesign(about, one.text, one.structures, one.dollars, one.unserved)
        for about, one in alternatives_of(explanation)
    )


def alternatives_of(explanation: Explanation) -> list[tuple[str, Alternative]]:
    """Other designs, with what each is about: the table, a copy or an entity."""
    found = [("the table", one) for one in explanation.alternatives]
    found += [(f"{c.entity}/{c.copy}", one) for c in explanation.copies for one in c.alternatives]
    return found + [(e.entity, one) for e in explanation.entities for one in e.alternatives]


def conflict_sets(sets: tuple[tuple[Statement, ...], ...]) -> list[list[dict[str, str]]]:
    return [[{"kind": one.kind, "name": one.name, "text": str(one)} for one in statements] for statements in sets]


def proof(made: Made) -> dict[str, Any] | None:
    found = made.proof
    if found is None:
        return None
    return {
        "right": found.right,
        "items": found.items,
        "findings": list(found.findings),
        "patterns": [_answer(answer) for answer in found.answers],
    }


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "pattern": answer.pattern,
        "right": answer.right,
        "cases": answer.cases,
        "pages": answer.pages,
        "refused": list(answer.provoked),
        "items": answer.items,
        "units": answer.units,
        "predicted": answer.predicted,
        "wrong": answer.wrong,
        "problem": answer.problem,
        "outside": answer.outside,
    }
