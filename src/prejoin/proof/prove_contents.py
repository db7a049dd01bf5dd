"""Large contents: stored in parts beside their items, read back whole and in part, and compared."""

from __future__ import annotations

from typing import Any

from prejoin.patterns.large.content import read_large
from prejoin.proof.sample_table import REFUSALS, SampleTable, StoredContent


def prove_contents(sample: SampleTable) -> str:
    """Read the stored contents with both clients, and return the first difference; empty if there is none."""
    for content in sample.contents:
        name = f"{content.entity}.{content.attribute}"
        end = len(content.data)
        for start, asynchronous in ((0, False), (0, True), (end - end // 3, False), (end // 3, True)):
            try:
                data_read = _read(sample, content, start, asynchronous=asynchronous)
            except REFUSALS as error:
                return f"the content of {name} cannot be read: {error}"
            if data_read != content.data[start:]:
                return f"the content of {name} is read as {len(data_read)} other bytes than were stored"
    return ""


def _read(sample: SampleTable, content: StoredContent, start: int, *, asynchronous: bool) -> bytes:
    cls, field = sample.package.classes[content.entity], sample.package.fields[content.entity][content.attribute]
    if not asynchronous:
        return read_large(sample.client, sample.client.get(cls, consistent=True, **content.key), field, start)

    async def read() -> Any:
        record = await sample.async_client.get(cls, consistent=True, **content.key)
        return await read_large(sample.async_client, record, field, start)

    return bytes(sample.result_of(read()))
