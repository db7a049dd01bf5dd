"""Cases of a read: inputs that find most, others, optional ones left out, the ends of ranges, and unknown ids."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from prejoin.cases.brute_force import BruteForce
from prejoin.cases.items import Values
from prejoin.cases.sample_data import SampleData
from prejoin.types import Kind
from prejoin.workload.model import RANGES, Attribute, Input, Op, Result

Inputs = dict[str, Any]


def read_cases(sample: SampleData, brute_force: BruteForce) -> list[Inputs]:
    """The inputs of each case. The first finds most; of a read of one item, exactly one if possible."""
    return _ReadCases(sample, brute_force).cases()


@dataclass(frozen=True, slots=True)
class _ReadCases:
    sample: SampleData
    brute_force: BruteForce

    @property
    def inputs_of_caller(self) -> list[Input]:
        """The inputs that the document does not give a value."""
        sources = self.brute_force.read.inputs
        return [source for source in sources if not source.values and source.op not in {Op.EXISTS, Op.NOT_EXISTS}]

    def cases(self) -> list[Inputs]:
        ranked_inputs = self._ranked_inputs()
        if not ranked_inputs:
            return [self._inputs_without_result({})]
        _, best = ranked_inputs[0]
        # A read without inputs has one case.
        if not best:
            return [best]
        cases = [best, *self._further_cases(ranked_inputs[1:])]
        cases += self._hidden_item_cases(cases)
        cases += self._range_end_cases(best)
        cases += [_without(best, source) for source in self.brute_force.read.inputs if source.optional]
        never = self._inputs_without_result(best)
        return [*cases, never] if never not in cases else cases

    # --- Inputs that find something ---------------------------------------------------------------------------------

    def _ranked_inputs(self) -> list[tuple[int, Inputs]]:
        """The inputs that find an item of the first entity, with the number of items; the best ones first."""
        candidates: list[Inputs] = []
        for item in self.sample.items.get(self.brute_force.entities[0], []):
            inputs = self._inputs_of_item(item)
            if inputs is not None and inputs not in candidates:
                candidates.append(inputs)
        ranked_inputs = [(len(self.brute_force.answer(self.sample.items, inputs)), inputs) for inputs in candidates]
        match self.brute_force.read.result:
            case Result.ONE:  # a method for one item refuses several
                ranked_inputs.sort(key=lambda pair: (pair[0] != 1, pair[0]))
            case Result.MANY | Result.COUNT | None:
                ranked_inputs.sort(key=lambda pair: -pair[0])
            case _:
                assert_never(self.brute_force.read.result)
        return ranked_inputs

    def _further_cases(self, ranked_inputs: Sequence[tuple[int, Inputs]]) -> list[Inputs]:
        """Two more cases that find something: one with fewer items, and the one with the fewest."""
        nonempty = [inputs for count, inputs in ranked_inputs if count]
        if not nonempty:
            return []
        middle, last = nonempty[len(nonempty) // 2], nonempty[-1]
        return [middle] if middle == last else [middle, last]

    def _hidden_item_cases(self, cases: Collection[Inputs]) -> list[Inputs]:
        """Inputs that would find an item that a construct hides, if it were visible."""
        for entity, item in self.sample.hidden.values():
            inputs = self._inputs_of_item(item) if entity.name == self.brute_force.entities[0] else None
            if inputs is not None and inputs not in cases:
                return [inputs]
        return []

    def _inputs_of_item(self, item: Values) -> Inputs | None:
        """Inputs that find an item; None if it lacks an attribute that is needed."""
        inputs: Inputs = {}
        for source in self.inputs_of_caller:
            attribute_value = self._value_of(source, item)
            if attribute_value is not None:
                name, value = attribute_value
                inputs[source.attribute] = _input_value(source, value, self._present_values(source, name))
            elif not source.optional:
                return None
        return inputs

    def _value_of(self, source: Input, item: Values) -> tuple[str, Any] | None:
        """The attribute that an input is about, with the item's value; with that of another entity if it has none."""
        first = self.brute_force.entities[0]
        names = self.brute_force.bound[source]
        if first in names and item.get(names[first]) is not None:
            return names[first], item[names[first]]
        for entity, name in names.items():
            for other in self.sample.items.get(entity, []) if entity != first else ():
                if other.get(name) is not None:
                    return name, other[name]
        return None

    def _present_values(self, source: Input, name: str) -> list[Any]:
        """The different values in the data of an attribute that an input is about."""
        entity = next(entity for entity, bound_name in self.brute_force.bound[source].items() if bound_name == name)
        values: list[Any] = []
        for item in self.sample.items[entity]:
            if item.get(name) is not None and item[name] not in values:
                values.append(item[name])
        return values

    # --- The ends of ranges -----------------------------------------------------------------------------------------

    def _range_end_cases(self, best: Inputs) -> list[Inputs]:
        """The first case with other ranges: a single value, all values, and the ends."""
        cases: list[Inputs] = []
        for source in self.inputs_of_caller:
            if source.op in RANGES and source.attribute in best:
                cases += [{**_without(best, source), source.attribute: end} for end in self._range_ends(source, best)]
        return cases

    def _range_ends(self, source: Input, best: Inputs) -> Sequence[Any]:
        """The ranges of an input that end at values which the read finds with its other inputs."""
        entity, name = next(iter(self.brute_force.bound[source].items()))
        whole_range = _whole_range(source, sorted(self._present_values(source, name)))
        answer = self.brute_force.answer(self.sample.items, {**best, source.attribute: whole_range})
        values = sorted({item[name] for owner, item in answer if owner == entity and item.get(name) is not None})
        if not values:
            return []
        lowest, highest = values[0], values[-1]
        if source.op is Op.BETWEEN:
            return [(lowest, highest), (lowest, lowest), (highest, highest)]
        if source.op is Op.BEGINS_WITH:
            return [str(highest) or "a", str(lowest)[:1] or "a"]
        return [lowest, highest, values[len(values) // 2]]

    # --- Inputs that find nothing -----------------------------------------------------------------------------------

    def _inputs_without_result(self, best: Inputs) -> Inputs:
        """The first case with ids that do not exist: nothing may be found."""
        inputs = dict(best)
        for source in self.inputs_of_caller:
            names = self.brute_force.bound[source]
            if not names:
                continue
            entity, name = next(iter(names.items()))
            attribute = self.sample.entity(entity).attribute(name)
            if attribute is None:
                continue
            if source.op is not Op.EQ:
                if source.attribute not in inputs and not source.optional:
                    inputs[source.attribute] = _input_value(source, self.sample.generator.value(attribute))
            # All values of a small type may be present, so another input has to be the unknown one.
            elif attribute.type.kind not in (Kind.ENUM, Kind.BOOLEAN) or not inputs:
                inputs[source.attribute] = self._absent_value(source, attribute, self._present_values(source, name))
        return inputs

    def _absent_value(self, source: Input, attribute: Attribute, present_values: Sequence[Any]) -> Any:
        """A value that no item has, if the type has one; in a list, with one that an item has."""
        value = present_values[0] if present_values else None
        for _ in range(20):
            value = self.sample.generator.value(attribute)
            if value not in present_values:
                break
        return [value, *present_values[:1]] if source.many else value


def _without(inputs: Inputs, source: Input) -> Inputs:
    return {name: value for name, value in inputs.items() if name != source.attribute}


def _input_value(source: Input, value: Any, present_values: Sequence[Any] = ()) -> Any:
    """An input that finds an item with a value; of a list or a range, also items with other values of the data."""
    if source.many:
        return [value, *(other for other in present_values if other != value)][:3]
    match source.op:
        case Op.BETWEEN:
            # The item may be hidden: then it is not among the data, and may be below all of them.
            return (min([value, *present_values]), value)
        case Op.BEGINS_WITH:
            return str(value)[:4] or "a"
        case Op.CONTAINS:
            return value[:1] if isinstance(value, str) else min(value, key=str, default="")
        case Op.IN:
            return [value]
        case Op.EQ | Op.NE | Op.LT | Op.LE | Op.GT | Op.GE | Op.EXISTS | Op.NOT_EXISTS:
            return value
        case _:
            assert_never(source.op)


def _whole_range(source: Input, values: Sequence[Any]) -> Any:
    """A range that has all values in it; they are sorted."""
    match source.op:
        case Op.BETWEEN:
            return (values[0], values[-1])
        case Op.BEGINS_WITH:
            return ""
        case Op.GT | Op.GE:
            return values[0]
        case Op.LT | Op.LE | Op.EQ | Op.NE | Op.IN | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return values[-1]
        case _:
            assert_never(source.op)
