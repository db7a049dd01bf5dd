"""What the proof of a write needs: its cases, the calls of its method, and the table that they should lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prejoin.cases.build_model import build_model
from prejoin.cases.case import WriteCase, WriteStep
from prejoin.cases.case_variation import Variation
from prejoin.cases.write_cases import build_case
from prejoin.cases.write_model import WriteModel
from prejoin.design.model import Operation
from prejoin.proof.arguments import write_arguments
from prejoin.proof.expected_table import ExpectedTable
from prejoin.proof.sample_table import SampleTable
from prejoin.render.python.method import Method, Option
from prejoin.table.client.observe import Call
from prejoin.workload.model import Write

USUAL = Variation()
"""The case that nothing varies."""


@dataclass(frozen=True, slots=True)
class WriteProof:
    """A write, its method, and the table on which it is proven."""

    sample: SampleTable
    expected_table: ExpectedTable
    write: Write
    operation: Operation
    method: Method

    @property
    def model(self) -> WriteModel:
        return build_model(self.sample, self.write, self.operation, USUAL)

    @property
    def can_repeat(self) -> bool:
        """Whether the method can be called again for items of its lists, with `again=True`."""
        return any(param.meaning == Option.AGAIN for param in self.method.params)

    def case(self, variation: Variation = USUAL) -> WriteCase:
        """A case of the write. It raises `NothingFitsError` if there is none."""
        return build_case(self.sample, self.write, self.operation, variation)

    def arguments(self, case: WriteCase) -> dict[str, Any]:
        return write_arguments(self.method, case, self.sample.package.record)

    def run(self, case: WriteCase, arguments: Mapping[str, Any], *, asynchronous: bool = False) -> list[Call]:
        """Calls the method, and returns what it has sent. After an error that is in `sample.calls`."""
        with self.sample.watched() as calls:
            self.sample.run(self.method, arguments, case.tenant, asynchronous=asynchronous)
        return calls

    def difference_after(self, steps: Iterable[WriteStep]) -> str:
        """How the table differs from what it should hold after some steps; empty if it does not."""
        for step in steps:
            self.expected_table.apply(step)
        return self.expected_table.difference()
