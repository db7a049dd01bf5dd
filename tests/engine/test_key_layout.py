"""Where items and entries lie: the short way for keys of text gives the same bytes as the general one."""

from __future__ import annotations

from hashlib import md5
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prejoin.engine.store.key_layout import entry_key, item_key, partition_bytes
from prejoin.protocol import key_bytes

texts = st.text(st.sampled_from("\x00\x01 #ab\x7fé\uffff\U0001f600"), max_size=4) | st.sampled_from(
    ["x" * 256, "é" * 600]
)
attributes = st.none() | texts.map(lambda text: {"S": text}) | st.just({"N": "1"})
PARTITION, SORT = (("a", "S"),), (("b", "S"),)


def _is_text(value: dict[str, Any] | None) -> bool:
    return bool(value and value.get("S"))


@given(attributes, attributes)
def test_entry_key_layout(a: dict[str, Any] | None, b: dict[str, Any] | None) -> None:
    item = {name: value for name, value in (("a", a), ("b", b)) if value is not None}
    own = item_key(b"tabl", (("k", "S"),), (("l", "S"),))({"k": {"S": "own"}, "l": {"S": "sort"}})
    assert own is not None
    found = entry_key(b"index", PARTITION, SORT, (("k", "S"), ("l", "S")))(item, own)
    if a is None or b is None or not _is_text(a) or not _is_text(b) or len(b["S"].encode()) > 1024:
        assert found is None
    else:
        tie = md5(b"Outliersownsort").digest()[:4]
        assert found == partition_bytes(b"index", [a]) + key_bytes.terminated(b) + tie + own[8:]


@given(texts, texts)
def test_item_key_layout(a: str, b: str) -> None:
    found = item_key(b"table", PARTITION, SORT)({"a": {"S": a}, "b": {"S": b}})
    if 0 < len(a) <= 256 and 0 < len(b) <= 256:
        assert found == partition_bytes(b"table", [{"S": a}]) + b.encode()
    else:
        assert found is None
