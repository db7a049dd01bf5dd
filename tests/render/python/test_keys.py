"""Generated key builders return the keys under which the table has the sample items."""

from __future__ import annotations

import importlib
import inspect
import json
from itertools import count
from pathlib import Path

import pytest
from tests.render.python.driving import designed, written

from prejoin import Client
from prejoin.engine import Embedded
from prejoin.render.python import Options, render_python
from prejoin.workload.field_names import identifier

_numbers = count(1)


@pytest.mark.parametrize("name", ["shop", "metrics", "names", "odd", "spread", "league"])
def test_builders_give_the_keys_of_items(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = f"keys_{next(_numbers)}"
    written(render_python(*designed(name), Options(package)), tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    builders = importlib.import_module(f"{package}.keys")
    schema, seed = (importlib.import_module(f"{package}.{module}") for module in ("schema", "seed"))
    with Embedded() as dynamodb:
        client = Client(schema.SCHEMA, "sample", dynamodb)
        client.create_table()
        seed.fill(client)
        for entity in schema.SCHEMA.entities:
            maker = identifier(entity.codec.name)
            builder = getattr(builders, f"{maker}_key")
            sample = getattr(seed, maker, None) or getattr(seed, f"{maker}_")
            key = builder(**{name: getattr(sample(), name) for name in inspect.signature(builder).parameters})
            found = json.loads(dynamodb.send("GetItem", json.dumps({"TableName": "sample", "Key": key}).encode()))
            assert found["Item"][schema.SCHEMA.type_attribute] == {"S": entity.tag}
