"""The names and texts of the tests of a write: `unless_event_state_is_open`, `a_missing_seat`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import assert_never

from prejoin.cases.case_variation import Break, Variation
from prejoin.cases.slots import Slot
from prejoin.cases.write_model import WriteModel
from prejoin.render.python.layout import WIDTH
from prejoin.render.python.method import ArgumentMismatch, InputValue, Method
from prejoin.workload.conditions import leaves, operator_of, values_of
from prejoin.workload.field_names import free, snake
from prejoin.workload.model import Absence, AllOf, AnyOf, Comparison, Leaf, Negation, Op, Presence, Test, Value

_ROOM = WIDTH - len("def () -> None:")
"""The most characters of a test's name, so that its `def` is one line."""


def accepted_name(model: WriteModel, variation: Variation) -> tuple[str, str]:
    """The end of the name, and the text, of a test in which one part of a condition decides that it is true."""
    leaf, check = variation.decisive, variation.check
    assert leaf is not None
    assert check is not None
    words = _condition_words(leaf, subject_of(model, model.slot(variation.place)))
    truth = "holds" if variation.decisive_truth else "does not hold"
    text = f"`{model.text(check)}` is true because `{model.text(leaf)}` {truth}"
    return "_".join(["if", *([] if variation.decisive_truth else ["not"]), *words]), text


def passed_over_name(model: WriteModel, variation: Variation) -> tuple[str, str]:
    """The end of the name, and the text, of a test of an item that is passed over: `passes_over_a_missing_task`."""
    slot = model.slot(variation.place)
    subject = subject_of(model, slot)
    if variation.kind is Break.ITEM:
        return f"passes_over_a_missing_{subject}", f"goes on if there is no {slot.entity.name}"
    names = variation.names
    text = f"goes on if the {slot.entity.name} has another {' and '.join(names)}"
    return f"passes_over_a_{subject}_with_another_{_and_words(names)}", text


def refusal_name(model: WriteModel, variation: Variation, method: Method) -> tuple[str, str]:
    """The end of the name, and the text, of a refusal: `unless_event_state_is_open`, `a_missing_seat`."""
    check = variation.check
    if check is not None and variation.place[0] < 0:
        return f"unless_{'_'.join(_condition_words(check))}", f"refused unless `{model.text(check)}`"
    slot = model.slot(variation.place)
    subject, entity = subject_of(model, slot), slot.entity.name
    if subject != snake(entity):
        entity = f"{entity} of `{slot.action.by[0]}`"
    match variation.kind:
        case Break.CONDITION:
            assert check is not None
            return _condition_name(model, variation, check, subject)
        case Break.ATTRIBUTE:
            assert check is not None
            return _absence_name(model, variation, check, subject, entity)
        case Break.ITEM if slot.is_stored:
            return f"a_missing_{subject}", f"refused if there is no {entity}"
        case Break.ITEM:
            return f"an_existing_{subject}", f"refused if the {entity} exists"
        case Break.UNIQUE:
            return _uniqueness_name(model, variation, entity)
        case Break.AGREEMENT:
            mismatch = mismatch_of(method, variation)
            assert mismatch is not None  # it is one of the refusals
            return f"a_{subject}_with_another_{snake(mismatch.attribute)}", f"refused if {mismatch.message}"
        case Break.AMOUNT:
            (name,) = variation.names
            words = str(variation.value).replace("-", "minus_")
            return f"{snake(name)}_of_{words}", f"refused if {name} is {variation.value}"
        case Break.NOTHING | Break.LINK | Break.VALUE | Break.RESULT:
            raise AssertionError(f"{variation.kind} has no test")
        case _:
            assert_never(variation.kind)


def _uniqueness_name(model: WriteModel, variation: Variation, entity: str) -> tuple[str, str]:
    """The end of the name, and the text, of a test in which another item has the unique values."""
    tenant = model.sample.workload.tenant
    values = [name for name in variation.names if tenant is None or name != tenant.attribute]
    return f"a_taken_{_and_words(values)}", f"refused if another {entity} has the same {' and '.join(values)}"


def _absence_name(model: WriteModel, variation: Variation, check: Test, subject: str, entity: str) -> tuple[str, str]:
    """The end of the name, and the text, of a test in which attributes of a condition are absent."""
    attributes = variation.names or tuple(leaf.attribute for leaf in leaves(check))
    text = f"refused unless `{model.text(check)}`: the {entity} has no {' and '.join(attributes)}"
    return f"a_{subject}_without_{_and_words(attributes)}", text


def _and_words(attributes: Sequence[str]) -> str:
    return "_and_".join(map(snake, attributes))


def _condition_name(model: WriteModel, variation: Variation, check: Test, subject: str) -> tuple[str, str]:
    """The end of the name, and the text, of a test in which a condition is false, perhaps by one of its parts."""
    text = f"refused unless `{model.text(check)}`"
    leaf = variation.decisive
    if leaf is None:
        return f"unless_{'_'.join(_condition_words(check, subject))}", text
    word, truth = ("if", "holds") if variation.decisive_truth else ("unless", "does not hold")
    return f"{word}_{'_'.join(_condition_words(leaf, subject))}", f"{text}: `{model.text(leaf)}` {truth}"


def mismatch_of(method: Method, variation: Variation) -> ArgumentMismatch | None:
    """The check of a method that refuses the object of a case."""
    for mismatch in method.mismatches:
        if mismatch.record == variation.place[0] and (mismatch.attribute,) == variation.names:
            return mismatch
    return None


def parameter_of(method: Method, input_name: str) -> str | None:
    """The parameter of an input; None if it is an attribute of an object."""
    return next((param.name for param in method.params if param.meaning == InputValue(input_name)), None)


def subject_of(model: WriteModel, slot: Slot) -> str:
    """How a name calls an item: by its entity, or by the attribute that refers to it, if there are several."""
    positions = {other.place[0] for other in model.slots if other.entity is slot.entity}
    if len(positions) > 1 and len(slot.action.by) == 1:
        return _reference(slot.action.by[0])
    return snake(slot.entity.name)


def _reference(name: str) -> str:
    """`fromAccountId` as a part of a name: `from_account`."""
    return snake(name).removesuffix("_id")


def name_of_test(words: str, used: Collection[str]) -> str:
    """A name that is free, without the last words if there are too many."""
    words = re.sub(r"\W+", "_", words).strip("_")
    name = words if len(words) <= _ROOM else words[:_ROOM].rpartition("_")[0]
    return free(name[: _ROOM - len("_99")], used) if name in used else name


def _condition_words(test: Test, subject: str = "") -> list[str]:
    """A condition as words. Only one without parts says whose attribute it is: the others are long."""
    match test:
        case Presence() | Absence() | Comparison():
            return _leaf_words(test, subject)
        case AnyOf():
            return _with_word([_condition_words(part) for part in test.parts], "or")
        case AllOf():
            return _with_word([_condition_words(part) for part in test.parts], "and")
        case Negation():
            return ["not", *_condition_words(test.part)]
        case _:
            assert_never(test)


def _with_word(parts: Sequence[Sequence[str]], word: str) -> list[str]:
    """The words of several conditions with a word between them."""
    words = [*parts[0]]
    for part in parts[1:]:
        words += [word, *part]
    return words


def _leaf_words(leaf: Leaf, subject: str) -> list[str]:
    owner = _reference(leaf.by) if leaf.by else subject or (snake(leaf.entity) if not leaf.attribute else "")
    words = [part for part in (owner, snake(leaf.attribute)) if part]
    words.append(_operator_words(operator_of(leaf)))
    values = [_value_word(value) for value in values_of(leaf)]
    return [*words, "_and_".join(values)] if values else words


def _value_word(value: Value) -> str:
    if value.now is not None:
        return "now"
    return snake(value.attribute or value.param or value.const or "nothing")


def _operator_words(op: Op) -> str:
    match op:
        case Op.EQ:
            return "is"
        case Op.NE:
            return "is_not"
        case Op.LT:
            return "is_below"
        case Op.LE:
            return "is_at_most"
        case Op.GT:
            return "is_above"
        case Op.GE:
            return "is_at_least"
        case Op.BETWEEN:
            return "is_between"
        case Op.BEGINS_WITH:
            return "begins_with"
        case Op.IN:
            return "is_one_of"
        case Op.CONTAINS:
            return "contains"
        case Op.EXISTS:
            return "exists"
        case Op.NOT_EXISTS:
            return "is_absent"
        case _:
            assert_never(op)
