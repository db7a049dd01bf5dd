"""The result of `prejoin design --format json`: all that is known of a design, or the answers to questions about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from prejoin.cli.text.design_answers import DesignAnswers, OtherDesign, Why, Without
from prejoin.cli.text.frontier import choosable
from prejoin.design.explain import Explanation
from prejoin.design.whatif.comparison import TableComparison
from prejoin.design.whatif.frontier import FrontierPoint
from prejoin.pipeline.design.design_table import ConflictSet, DesignResult, alternatives_of
from prejoin.proof.result import PatternProof
from prejoin.workload.grammar.statements import write_pin


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions about a design, which are answered instead of showing the design."""

    explain: bool = False
    why: tuple[str, ...] = ()
    alternatives: bool = False
    drop: tuple[str, ...] = ()
    frontier: bool = False

    def __bool__(self) -> bool:
        return bool(self.explain or self.why or self.alternatives or self.drop or self.frontier)


def design_json(result: DesignResult) -> dict[str, Any]:
    solution, bill = result.solution, result.bill
    return {
        "document": result.request.document.file,
        "decided": [write_pin(pin) for pin in result.request.pins],
        "score": {
            "unserved": len(result.unserved),
            "structures": result.explanation.structures,
            "indexes": len(result.design.indexes),
            "copies": len(result.design.copies),
            "dollars": float(bill.total),
        },
        "proposal": msgspec.to_builtins(choosable(result, (result.proposal,))[0]) if result.proposal else None,
        "tables": tables_json(result.tables) if result.tables else None,
        "exact": solution.exact and result.request.kept is None,
        "search": {"ended": solution.ended, "candidates": solution.chosen.candidates},
        "bound": {"complexity": float(solution.chosen.least)},
        "reproducible": not result.cut_short,
        "seconds": round(result.seconds, 3),
        "design": msgspec.to_builtins(result.design, str_keys=True),
        "bill": {
            "total": float(bill.total),
            "requests": float(bill.requests),
            "storage": float(bill.kept),
            "provisioned": float(bill.provisioned),
            "patterns": [
                {"pattern": pattern.pattern, "rate": pattern.rate, "read": pattern.units.read,
                 "write": pattern.units.write, "dollars": float(pattern.dollars)}
                for pattern in bill.patterns
            ],
            "background": [
                {"kind": job.kind.value, "about": job.about, "text": job.text, "rate": job.rate,
                 "read": job.units.read, "write": job.units.write, "dollars": float(job.dollars)}
                for job in bill.background
            ],
            "kept": [
                {"item": entry.item, "slot": entry.slot, "entries": entry.entries, "size": entry.size,
                 "dollars": float(entry.dollars)}
                for entry in bill.storage
            ],
        },
        "explanation": msgspec.to_builtins(result.explanation, str_keys=True),
        "unserved": [
            {"pattern": operation.pattern, "problem": operation.problem, "remedy": operation.remedy,
             "units": operation.units.read if operation.units else None}
            for operation in result.unserved
        ],
        "conflicts": conflicts_json(result.conflicts),
        "fit": {
            "verdict": result.fit.verdict.value,
            "for": list(result.fit.speaks_for),
            "against": list(result.fit.speaks_against),
            "elsewhere": [{"pattern": hint.pattern, "why": hint.why, "use": hint.use} for hint in result.fit.elsewhere],
        },
        "proof": _proof(result),
        "growth": msgspec.to_builtins(result.growth, str_keys=True) if result.growth is not None else None,
    }  # fmt: skip


def tables_json(comparison: TableComparison) -> dict[str, Any]:
    """One table against several."""
    return {
        "separate": comparison.separate,
        "text": list(comparison.text),
        "dollars": {"one": comparison.one.dollars, "several": comparison.dollars},
        "tables": [
            {"name": part.name, "entities": part.entities, "needs": part.needs, "indexes": table.indexes,
             "copies": table.copies, "dollars": table.dollars, "unserved": table.unserved}
            for part, table in zip(comparison.split.parts, comparison.several, strict=True)
        ],
        "crossings": [
            {"pattern": crossing.pattern, "loss": crossing.loss, "entities": crossing.entities}
            for crossing in comparison.split.crossings
        ],
    }  # fmt: skip


def answers_json(
    result: DesignResult,
    why: tuple[Why, ...],
    omissions: tuple[Without, ...],
    points: tuple[FrontierPoint, ...],
    questions: Questions,
) -> DesignAnswers:
    """The answers to questions about a design."""
    return DesignAnswers(
        result.request.document.file,
        tuple(write_pin(pin) for pin in result.request.pins),
        why or UNSET,
        _other_designs(result.explanation) if questions.alternatives else UNSET,
        omissions or UNSET,
        msgspec.to_builtins(result.explanation, str_keys=True) if questions.explain else UNSET,
        choosable(result, points) if questions.frontier else UNSET,
    )


def _other_designs(explanation: Explanation) -> tuple[OtherDesign, ...]:
    return tuple(
        OtherDesign(about, design.text, design.structures, design.dollars, design.unserved)
        for about, design in alternatives_of(explanation)
    )


def conflicts_json(sets: tuple[ConflictSet, ...]) -> list[list[dict[str, str]]]:
    return [
        [{"kind": statement.kind, "name": statement.name, "text": str(statement)} for statement in statements]
        for statements in sets
    ]


def _proof(result: DesignResult) -> dict[str, Any] | None:
    proof = result.proof
    if proof is None:
        return None
    return {
        "right": proof.right,
        "items": proof.items,
        "findings": [proof.blocked] if proof.blocked else list(proof.findings),
        "unproven": [{"pattern": pattern, "reason": reason} for pattern, reason in result.unproven.items()],
        "patterns": [_answer(answer) for answer in proof.patterns],
    }


def _answer(answer: PatternProof) -> dict[str, Any]:
    return {
        "pattern": answer.pattern,
        "right": answer.right,
        "cases": answer.cases,
        "pages": answer.pages,
        "refused": list(answer.refused),
        "items": answer.items,
        "units": answer.units,
        "predicted": answer.predicted,
        "wrong": answer.wrong,
        "problem": answer.problem,
        "outside": answer.out_of_scope,
    }
