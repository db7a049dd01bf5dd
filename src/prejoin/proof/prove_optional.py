"""Optional inputs of writes: calls with all but some of them, with None, and with nothing at all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

from prejoin.cases.case import WriteStep
from prejoin.constructs.registry import maintained
from prejoin.proof.write_proof import WriteProof
from prejoin.render.python.method import InputValue
from prejoin.workload.lookup import changes
from prejoin.workload.model import Write
from prejoin.workload.optional_inputs import is_optional, optional_changes, source_of


@dataclass(frozen=True, slots=True)
class _Selection:
    """The optional inputs that a call gives, and those that are None."""

    present_names: Collection[str]
    removed_names: Collection[str]

    @property
    def text(self) -> str:
        parts = [f"`{name}`" for name in sorted(self.present_names)]
        parts += [f"`{name}` None" for name in sorted(self.removed_names)]
        return f"of the optional inputs {', '.join(parts) or 'none'} given"

    def is_nothing(self, steps: Collection[WriteStep]) -> bool:
        """Whether the call has nothing to do, and is refused."""
        return not self.present_names and not self.removed_names and all(_is_empty(step) for step in steps)


def prove_optional(proof: WriteProof) -> tuple[int, str]:
    """Calls a write with one of its optional inputs at a time, and with None; gives the calls, and what was wrong."""
    params = [param for param in proof.method.params if param.default]
    inputs = {param.name: param.meaning.input for param in params if isinstance(param.meaning, InputValue)}
    count = 0
    for selection in _selections(proof, set(inputs.values())):
        wrong = _prove_selection(proof, selection, inputs)
        if wrong:
            return count, f"{selection.text}{wrong}"
        count += 1
    return count, ""


def _selections(proof: WriteProof, inputs: Collection[str]) -> Iterator[_Selection]:
    """Each optional input alone, all but one that is None, and none."""
    if not inputs:
        return
    removable: dict[str, bool] = {}
    for _, entity, change in optional_changes(proof.sample.workload, proof.write):
        attribute, source = entity.attribute(change.attribute), source_of(change)
        if attribute is not None and source is not None and source in inputs:
            # An input may be the value of several attributes: None removes all of them, so all have to be optional.
            removable[source] = removable.get(source, True) and attribute.optional
    for name, is_removable in removable.items():
        yield _Selection({name}, ())
        if is_removable:
            yield _Selection((), {name})
            yield _Selection(removable.keys() - {name}, {name})
    yield _Selection((), ())


def _prove_selection(proof: WriteProof, selection: _Selection, inputs: dict[str, str]) -> str:
    """What is wrong with a call that gives only some inputs; empty if nothing is."""
    case = proof.case()
    proof.expected_table.prepare(case)
    steps = [_with_some(proof.write, step, selection) for step in case.steps]
    arguments = proof.arguments(case)
    _leave_out(arguments, selection, inputs)
    # A call with nothing to do is refused by the method itself, before a request is sent.
    if not selection.is_nothing(steps):
        proof.run(case, arguments)
        wrong = proof.difference_after(steps)
        return f": {wrong}" if wrong else ""
    try:
        proof.run(case, arguments)
    except ValueError as error:
        wrong = f"requests were sent, and then {error}" if proof.sample.calls else proof.expected_table.difference()
        return f": {wrong}" if wrong else ""
    return ", and it was not refused"


def _leave_out(arguments: MutableMapping[str, Any], selection: _Selection, inputs: dict[str, str]) -> None:
    """Removes the arguments that a call does not give, and sets others to None. `inputs` are those of parameters."""
    for param, name in inputs.items():
        if name in selection.removed_names:
            arguments[param] = None
        elif name not in selection.present_names:
            arguments.pop(param, None)


def _with_some(write: Write, step: WriteStep, selection: _Selection) -> WriteStep:
    """A step in which only some of the optional changes are done. A value of None removes its attribute."""
    if not step.action.updates or step.after is None:
        return step
    before = step.before or {}
    after, sets = dict(step.after), dict(step.changed.sets)
    for change in changes(write, step.action, step.entity):
        name, source = change.attribute, source_of(change)
        if not is_optional(write, change) or source in selection.present_names or name not in sets:
            continue
        del sets[name]
        after.pop(name, None)
        if source in selection.removed_names:
            sets[name] = None
        elif name in before:
            after[name] = before[name]
    return replace(step, after=after, changed=replace(step.changed, sets=sets))


def _is_empty(step: WriteStep) -> bool:
    """Whether nothing is left of an update, apart from what the client writes by itself."""
    return step.action.updates and step.changed.names <= maintained(step.entity)
