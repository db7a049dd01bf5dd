"""Optional inputs of writes: calls with all but some of them, with None, and with nothing at all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from prejoin.cases.case import WriteStep
from prejoin.cases.write_cases import build_case
from prejoin.constructs.registry import maintained
from prejoin.design.model import Operation
from prejoin.proof.arguments import write_arguments
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.sample_table import SampleTable
from prejoin.render.python.method import InputValue, Method
from prejoin.workload.lookup import changes
from prejoin.workload.model import Write
from prejoin.workload.optional_inputs import is_optional, optional_changes, source_of


def prove_optional(
    sample: SampleTable, expected_table: ExpectedTable, write: Write, operation: Operation, method: Method
) -> tuple[int, str]:
    """Calls a write with one of its optional inputs at a time, and with None; gives the calls, and what was wrong."""
    inputs = {param.meaning.input for param in method.params if param.default and isinstance(param.meaning, InputValue)}
    count = 0
    for present_names, removed_names in _selections(sample, write, inputs):
        case = build_case(sample, write, operation)
        expected_table.prepare(case)
        steps = [_with_some(write, step, present_names, removed_names) for step in case.steps]
        arguments = write_arguments(method, case, sample.package.record)
        for param in method.params:
            if isinstance(param.meaning, InputValue) and param.meaning.input in inputs:
                if param.meaning.input in removed_names:
                    arguments[param.name] = None
                elif param.meaning.input not in present_names:
                    arguments.pop(param.name, None)
        text = _call_text(present_names, removed_names)
        sample.calls.clear()
        if not present_names and not removed_names and all(_is_empty(step) for step in steps):
            try:
                sample.run(method, arguments, case.tenant)
            except ValueError as error:
                if sample.calls:
                    return count, f"{text}: requests were sent, and then {error}"
            else:
                return count, f"{text}, and it was not refused"
        else:
            sample.run(method, arguments, case.tenant)
            for step in steps:
                expected_table.apply(step)
        if wrong := expected_table.difference():
            return count, f"{text}: {wrong}"
        count += 1
    return count, ""


def _selections(sample: SampleTable, write: Write, inputs: Collection[str]) -> Iterator[tuple[set[str], set[str]]]:
    """The optional inputs that a call gives, and those that are None: each alone, and none."""
    if not inputs:
        return
    removable: dict[str, bool] = {}
    for _, entity, change in optional_changes(sample.workload, write):
        attribute, source = entity.attribute(change.attribute), source_of(change)
        if attribute is not None and source is not None and source in inputs:
            removable[source] = removable.get(source, True) and attribute.optional
    for name, is_removable in removable.items():
        yield {name}, set()
        if is_removable:
            yield set(), {name}
            yield removable.keys() - {name}, {name}
    yield set(), set()


def _with_some(
    write: Write, step: WriteStep, present_names: Collection[str], removed_names: Collection[str]
) -> WriteStep:
    """A step in which only some of the optional changes are done. A value of None removes its attribute."""
    if not step.action.updates or step.after is None:
        return step
    before = step.before or {}
    after, sets = dict(step.after), dict(step.changed.sets)
    for change in changes(write, step.action, step.entity):
        name, source = change.attribute, source_of(change)
        if not is_optional(write, change) or source in present_names or name not in sets:
            continue
        del sets[name]
        after.pop(name, None)
        if source in removed_names:
            sets[name] = None
        elif name in before:
            after[name] = before[name]
    return replace(step, after=after, changed=replace(step.changed, sets=sets))


def _is_empty(step: WriteStep) -> bool:
    """Whether nothing is left of an update, apart from what the client writes by itself."""
    return step.action.updates and step.changed.names <= maintained(step.entity)


def _call_text(present_names: Collection[str], removed_names: Collection[str]) -> str:
    parts: Sequence[Any] = [
        *(f"`{name}`" for name in sorted(present_names)),
        *(f"`{name}` None" for name in sorted(removed_names)),
    ]
    return f"of the optional inputs {', '.join(parts) or 'none'} given"
