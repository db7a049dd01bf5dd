"""What a stream with both images adds to a PutItem, by the CPU time of this process. Answers `--streams`.

The PutItem is that of the workload, on its table, which has an index, and on the same table without one. Each case with
and without a stream is measured in turn, so that noise hits both alike. Every put changes its item: one that changes
nothing has no record.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common.figures import figure
from common.tables import amount, table
from prejoin.engine import Embedded

from .workload import CREATE_TABLE, USERS, batches, population, requests

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def report(rounds: int) -> str:
    bodies = [json.dumps(body).encode() for _, body in requests(USERS, large=False)["PutItem"]]
    rows = []
    for where in ("in memory", "on a file"):
        for name, definition in (("one index", CREATE_TABLE), ("no index", _without_indexes(CREATE_TABLE))):
            without, streamed = _seconds(where, definition, bodies, rounds)
            rows.append([f"{where}, {name}", f"{streamed / without - 1:.0%}", amount(without)])
    return table(["PutItem with a stream", "longer by", "without a stream"], rows)


def _without_indexes(definition: dict[str, Any]) -> dict[str, Any]:
    keys = {element["AttributeName"] for element in definition["KeySchema"]}
    attributes = [attribute for attribute in definition["AttributeDefinitions"] if attribute["AttributeName"] in keys]
    kept = {member: content for member, content in definition.items() if member != "GlobalSecondaryIndexes"}
    return {**kept, "AttributeDefinitions": attributes}


def _seconds(where: str, definition: dict[str, Any], bodies: list[bytes], rounds: int) -> tuple[float, float]:
    """The lower quartiles without and with a stream: a busy machine slows down for moments, and never speeds up."""
    with ExitStack() as stack:
        engines = []
        for members in ({}, {"StreamSpecification": STREAM}):
            path = Path(stack.enter_context(TemporaryDirectory())) / "bench.db" if where == "on a file" else None
            engine = stack.enter_context(Embedded(path))
            engine.send("CreateTable", json.dumps({**definition, **members}).encode())
            for body in batches(population(USERS, large=True)):
                engine.send("BatchWriteItem", json.dumps(body).encode())
            engines.append((engine, list[float]()))
        for number in range(rounds):
            for engine, samples in engines[:: -1 if number % 2 else 1]:
                begin = time.process_time()
                for body in bodies:
                    engine.send("PutItem", body)
                samples.append((time.process_time() - begin) / len(bodies))
        without, streamed = (figure(samples).low for _, samples in engines)
        return without, streamed
