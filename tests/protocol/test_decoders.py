"""Decoders that several threads make at once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

RACE = """
import os, threading, time
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

def decode():
    print(json_decoder(list[Item]).decode(b'[{"first": 1, "inner": {"number": 2}, "last": 3}]'), flush=True)

one = threading.Thread(target=json_decoder, args=(Item,))
one.start()
begun.wait()
"""
DECODE = """
decode()
one.join()
"""
FORK = """
child = os.fork()
if not child:
    decode()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
one.join()
"""


def run(script: str) -> tuple[int, str, str]:
    """Run a script in a process of its own, which a segmentation fault may end."""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    return ran.returncode, ran.stdout, ran.stderr


def test_decoder_waits_for_a_struct_that_another_thread_completes() -> None:
    assert run(RACE + DECODE) == (0, "[Item(first=1, inner=Inner(number=2), last=3)]\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_waits_for_a_struct_that_another_thread_completes() -> None:
    assert run(RACE + FORK) == (0, "[Item(first=1, inner=Inner(number=2), last=3)]\n", "")
