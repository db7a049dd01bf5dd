"""Decoders that several threads make at once."""

from __future__ import annotations

import subprocess
import sys

RACE = """
import threading, time
import msgspec
from prejoin.protocol.decoders import json_decoder

begun = threading.Event()

def slowly():
    begun.set()
    time.sleep(0.5)
    return int

class Inner(msgspec.Struct):
    number: "slowly()"

class Item(msgspec.Struct):
    first: int
    inner: Inner
    last: int

one = threading.Thread(target=json_decoder, args=(Item,))
one.start()
begun.wait()
print(json_decoder(list[Item]).decode(b'[{"first": 1, "inner": {"number": 2}, "last": 3}]'))
one.join()
"""


def test_decoder_waits_for_a_struct_that_another_thread_completes() -> None:
    """In a process of its own: without the lock it ends with a segmentation fault."""
    ran = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "[Item(first=1, inner=Inner(number=2), last=3)]\n", "")
