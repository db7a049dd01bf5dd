"""Writes run for real: done twice through the client, then made to fail; after each the whole table is looked at."""

from __future__ import annotations

from prejoin.proof.answer import Answer
from prejoin.proof.bench import REFUSALS, Bench
from prejoin.proof.doing import do
from prejoin.proof.facts import write_units
from prejoin.proof.provoke import provoke, supply
from prejoin.proof.state import State
from prejoin.proof.steps import Case, NothingFitsError, Step, steps_of
from prejoin.table import Call
from prejoin.workload.model import Verb, Write

_CASES = 2


def run_write(bench: Bench, write: Write, state: State | None = None) -> Answer:
    """One write: done, the table compared with what it should hold; and its conditions broken, one by one."""
    operation = bench.design.operation(write.id)
    if write.id in bench.outside:
        return Answer(write.id, write.description, problem=bench.outside[write.id], outside=True)
    if operation is None or not operation.served:
        problem, remedy = (operation.problem, operation.remedy) if operation else ("it is not in the design", "")
        return Answer(write.id, write.description, problem=problem, remedy=remedy)
    if all(a.verb is Verb.EXPIRE for a in write.actions):
        return Answer(write.id, write.description, predicted=0.0)  # DynamoDB's own doing: nothing is sent
    state = state or State(bench)
    calls: tuple[Call, ...] = ()
    units: float | None = None
    given = {}
    count = 0
    try:
        for turn in range(_CASES):
            case = Case(bench, write, operation, turn)
            steps = steps_of(case, replacing=turn > 0)
            supply(bench, state, case)
            there = dict(state.items)
            with bench.watched() as seen:
                do(case, steps)
            for step in steps:
                _keep(bench, state, step)
            expected = write_units(case, steps, seen, state, there)
            if not turn:
                calls, given, units = tuple(seen), case.given | case.lists, expected
            count += 1
            used = sum(call.units for call in seen)
            wrong = state.difference()
            if not wrong and expected is not None and expected != used:
                wrong = f"it used {used:g} units, and {expected:g} were predicted"
            if wrong:
                return Answer(write.id, write.description, tuple(seen), len(steps), case.given, count, wrong=wrong)
        provoked, wrong = provoke(bench, state, Case(bench, write, operation, _CASES))
    except (NothingFitsError, LookupError, *REFUSALS) as problem:
        return Answer(write.id, write.description, calls, given=given, cases=count, problem=str(problem))
    written = sum(call.items for call in calls if call.operation not in ("GetItem", "Query"))
    wrong = wrong or state.difference()
    return Answer(
        write.id, write.description, calls, written, given, count, provoked=provoked, predicted=units, wrong=wrong
    )


def _keep(bench: Bench, state: State, step: Step) -> None:
    items = bench.maker.made[step.entity.name]
    if step.before is not None:
        items[:] = [i for i in items if i is not step.before]
    if step.after is not None:
        items.append(step.after)
        bench.maker.reserve(step.entity, step.after)
    state.replace(step.entity.name, step.before, step.after)
