"""Consumed units: counted in the responses of any steps, and held to a rate."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from prejoin.protocol.decoders import json_decoder
from prejoin.table.conversation import Parallel, Request, Steps

R = TypeVar("R")

READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})


class Pace:
    """Counts units, and says how long to wait so that no more than `rate` a second are consumed."""

    def __init__(self, rate: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.units = 0.0
        self.rate = rate
        self._clock = clock
        self._lock = threading.Lock()
        self._began = clock()
        self._spent = 0.0

    def add(self, units: float) -> None:
        with self._lock:
            self.units += units
            self._spent += units

    def ahead(self) -> float:
        """Return the seconds to wait until the consumed units fit the rate again; not positive if they do."""
        if self.rate is None:
            return 0.0
        with self._lock:
            seconds = self._spent / self.rate - (self._clock() - self._began)
            if seconds < -1:  # time in which nothing was consumed is not saved up for a burst
                self._began, self._spent, seconds = self._clock(), 0.0, 0.0
        return seconds


class _Capacity(msgspec.Struct):
    CapacityUnits: float = 0.0


class _Metered(msgspec.Struct):
    ConsumedCapacity: list[_Capacity] | _Capacity | None = None


class Meter:
    """The units that steps consume: of reads and of writes."""

    def __init__(self, reads: Pace, writes: Pace) -> None:
        self._paces = dict.fromkeys(READS, reads) | dict.fromkeys(WRITES, writes)
        self._decode = json_decoder(_Metered).decode

    def measure(self, steps: Steps[R]) -> Steps[R]:
        """Return steps that do the same, and whose responses are counted."""
        try:
            step = next(steps)
            while True:
                try:
                    answer = yield self._with_meter(step)
                except Exception as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as stop:
            result: R = stop.value
            return result

    def _with_meter(self, step: Any) -> Any:
        if isinstance(step, Request):
            return self._request(step)
        if isinstance(step, Parallel):
            return Parallel(tuple(map(self.measure, step.conversations)))
        return tuple(map(self._request, step)) if isinstance(step, tuple) else step

    def _request(self, request: Request) -> Request:
        pace = self._paces.get(request.operation)
        if pace is None:
            return request

        def read(body: bytes) -> Any:
            capacities = self._decode(body).ConsumedCapacity
            if isinstance(capacities, list):  # of each table of a batch or transaction
                pace.add(sum(capacity.CapacityUnits for capacity in capacities))
            elif capacities is not None:
                pace.add(capacities.CapacityUnits)
            return request.read(body)

        return replace(request, body={**request.body, "ReturnConsumedCapacity": "TOTAL"}, read=read)
