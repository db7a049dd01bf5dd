"""Writes: each method is called, sync and async, then with its conditions broken, and the whole table compared."""

from __future__ import annotations

from prejoin.proof.arguments import refer_to_checked, tenant_of_steps, write_arguments
from prejoin.proof.expected_table import State
from prejoin.proof.expected_units import write_units
from prejoin.proof.result import Answer
from prejoin.proof.sample_table import REFUSALS, Bench, BrokenMethodError
from prejoin.proof.violations import keep, provoke, supply
from prejoin.proof.write_cases import Case, NothingFitsError, steps_of
from prejoin.table import Call, TooMany
from prejoin.workload.model import Verb, Write

_CASES = 2
_ATTEMPTS = 6


def run_write(bench: Bench, write: Write, state: State | None = None) -> Answer:
    """Proves one write: the table holds what it should, and each broken condition is refused."""
    operation = bench.design.operation(write.id)
    if write.id in bench.outside:
        return Answer(write.id, write.description, problem=bench.outside[write.id], outside=True)
    if operation is None or not operation.served:
        problem, remedy = (operation.problem, operation.remedy) if operation else ("it is not in the design", "")
        return Answer(write.id, write.description, problem=problem, remedy=remedy)
    if all(a.verb is Verb.EXPIRE for a in write.actions):
        return Answer(write.id, write.description, predicted=0.0)  # DynamoDB deletes expired items: nothing is sent
    method = bench.package.methods[write.id]
    state = state or State(bench)
    calls: tuple[Call, ...] = ()
    units: float | None = None
    given = {}
    count = 0
    try:
        for turn in range(_ATTEMPTS):
            case = Case(bench, write, operation, turn)
            steps = refer_to_checked(case, steps_of(case, replacing=count > 0))
            supply(bench, state, case)
            there = dict(state.items)
            arguments = write_arguments(method, case, steps, bench.package.record)
            try:
                with bench.watched() as seen:
                    bench.run(
                        method,
                        arguments,
                        tenant_of_steps(case, steps),
                        asynchronous=count > 0 and bench.package.async_repository is not None,
                    )
            except TooMany:
                if turn == _ATTEMPTS - 1 or not case.found_first:
                    raise
                continue  # several items fit what the caller knows, and it refuses to choose
            for step in steps:
                keep(bench, state, step)
            expected = write_units(case, steps, seen, state, there)
            if not count:
                calls, given, units = tuple(seen), case.given | case.lists, expected
            count += 1
            used = sum(call.units for call in seen)
            wrong = state.difference()
            if not wrong and expected is not None and expected != used:
                wrong = f"it used {used:g} units, and {expected:g} were predicted"
            if wrong:
                return Answer(write.id, write.description, tuple(seen), len(steps), case.given, count, wrong=wrong)
            if count == _CASES:
                break
        provoked, wrong = provoke(bench, state, Case(bench, write, operation, _CASES), method)
    except (NothingFitsError, LookupError, *REFUSALS) as problem:
        return Answer(write.id, write.description, calls, given=given, cases=count, problem=str(problem))
    except BrokenMethodError as error:
        return Answer(write.id, write.description, calls, given=given, cases=count + 1, wrong=str(error))
    written = sum(call.items for call in calls if call.operation not in ("GetItem", "Query"))
    wrong = wrong or state.difference()
    return Answer(
        write.id, write.description, calls, written, given, count, provoked=provoked, predicted=units, wrong=wrong
    )
