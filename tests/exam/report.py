"""Runs the exams of generated writes and prints a table, with a line for each row that goes wrong.

python -m tests.exam.report [conditions|combined|lists|changes|references|own-inputs|new-values …] [--tenancy 0] [--prove]
    [--match text] [--short]
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory

from tests.conftest import SHARED
from tests.exam import changes, conditions, lists, new_values, own_inputs, references
from tests.exam.documents import TENANCIES, Tenancy
from tests.exam.harness import Plan, RowResult, examine

EXAMS: dict[str, Callable[[Sequence[Tenancy]], list[Plan]]] = {
    "conditions": conditions.plans,
    "combined": conditions.combined_plans,
    "lists": lists.plans,
    "changes": changes.plans,
    "references": references.plans,
    "own-inputs": own_inputs.plans,
    "new-values": new_values.plans,
}
VERDICTS = ("right", "wrong", "cannot be built")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("exams", nargs="*", help="by default all of them")
    parser.add_argument("--tenancy", type=int, choices=range(len(TENANCIES)), help="only this kind of tenancy")
    parser.add_argument("--prove", action="store_true", help="also run the proof of each document")
    parser.add_argument("--match", default="", help="only documents with this text in their name")
    parser.add_argument("--short", action="store_true", help="no lines of rows")
    options = parser.parse_args()
    tenancies = TENANCIES if options.tenancy is None else TENANCIES[options.tenancy : options.tenancy + 1]
    with TemporaryDirectory() as folder:
        os.environ[SHARED] = folder
        for name in options.exams or EXAMS:
            results: list[RowResult] = []
            for plan in EXAMS[name](tenancies):
                if options.match in plan.name:
                    results += examine(plan.make(), options.prove)
            _print(name, results, options.short)


def _print(name: str, results: list[RowResult], short: bool) -> None:
    counts: dict[str, Counter[str]] = {}
    for result in results:
        count = counts.setdefault(result.exam.tenancy.name, Counter())
        count[result.verdict] += 1
        count["cases"] += result.cases
    print(f"{'exam':12} {'tenancy':20} " + " ".join(f"{verdict:>16}" for verdict in (*VERDICTS, "cases")))
    for tenancy, count in counts.items():
        print(f"{name:12} {tenancy:20} " + " ".join(f"{count[verdict]:16}" for verdict in (*VERDICTS, "cases")))
    if short:
        return
    for result in results:
        if result.verdict == "right":
            continue
        for text in result.texts:
            print(f"{result.verdict}: {result.exam.tenancy.name} / {result.exam.name} | {result.row} => {text}")


if __name__ == "__main__":
    main()
