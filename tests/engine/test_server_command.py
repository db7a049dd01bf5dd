"""`prejoin serve` as a process: what it prints, what it keeps, how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
import pytest
from botocore.exceptions import ClientError
from tests.signals import default_interrupt

from prejoin.cli.run import run
from prejoin.engine import Embedded

from .test_server import Client

_START = "from prejoin.cli import main; main()"


class Process:
    def __init__(self, *arguments: str, folder: Path, **environment: str) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", _START, "serve", "--port", "0", *arguments],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=default_interrupt,
        )
        assert self.popen.stderr is not None
        self.said = self.popen.stderr.readline()
        match = re.search(r"http://\S+?(?=,)", self.said)
        self.url = match.group() if match else ""

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        self.popen.send_signal(number)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        """Its status and all that it said."""
        assert self.popen.stderr is not None
        status = self.popen.wait(20)
        self.said += self.popen.stderr.read()
        return status, self.said


@contextmanager
def serving(*arguments: str, folder: Path, **environment: str) -> Iterator[Process]:
    process = Process(*arguments, folder=folder, **environment)
    try:
        yield process
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.wait()
        for stream in (process.popen.stdout, process.popen.stderr):
            assert stream is not None
            stream.close()


TABLE = {
    "TableName": "shop",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
}


def test_serve_prints_url_and_next_steps(tmp_path: Path) -> None:
    with serving(folder=tmp_path) as process:
        with Client(process.url) as client:
            assert client.ask("ListTables").status == 200
        status, said = process.end()
    assert status == 0
    assert f"export AWS_ENDPOINT_URL_DYNAMODB={process.url}\n" in said
    assert "aws dynamodb list-tables" in said
    assert "tables in memory" in said
    assert "exposed" not in said
    assert said.endswith("stopped\n")


@pytest.mark.everyday(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_file_keeps_what_was_written_and_is_left_whole(tmp_path: Path, number: signal.Signals) -> None:
    with serving("--db", "shop.db", folder=tmp_path) as process, Client(process.url) as client:
        assert client.ask("CreateTable", TABLE).status == 200
        assert process.end(number)[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["shop.db"], "the log was not folded into the file"
    with serving("--db", "shop.db", "--durability", "full", folder=tmp_path) as process, Client(process.url) as client:
        assert client.ask("ListTables").json == {"TableNames": ["shop"]}


def test_serve_started_by_a_background_job_can_be_interrupted(tmp_path: Path) -> None:
    """A shell starts background jobs with SIGINT ignored; these tests have to pass there, too."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with serving(folder=tmp_path) as process:
            assert process.end(signal.SIGINT)[0] == 0
    finally:
        signal.signal(signal.SIGINT, before)


def test_port_in_use_raises_readable_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving("--port", str(port), folder=tmp_path) as process:
            status, said = process.wait()
    assert status == 1
    assert said.startswith(f"prejoin: error PJ010: port {port} of 127.0.0.1 is in use\n")
    assert f"--port {port + 1}" in said


@pytest.mark.slow
def test_foreign_address_raises_readable_error(tmp_path: Path) -> None:
    with serving("--host", "192.0.2.1", folder=tmp_path) as process:
        assert process.wait()[0] == 1
    assert "cannot listen on port 0 of 192.0.2.1" in process.said


def test_serve_leaves_foreign_file_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("not a database" * 100)
    assert run(["serve", "--port", "0", "--db", str(tmp_path / "notes.txt")]) == 1
    assert "notes.txt" in capsys.readouterr().err
    assert (tmp_path / "notes.txt").read_text() == "not a database" * 100


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--durability", "full"), "--db"),
        (("--access-key", "a"), "secret"),
        (("--secret-key", "b"), "--access-key"),
        (("--weather", '{"rain": 1}'), "rain"),
        (("--snapshot", __file__, "--db", "shop.db"), "--db"),
    ],
)
def test_arguments_that_do_not_fit_are_a_usage_error(
    arguments: tuple[str, ...], named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PREJOIN_SECRET_KEY", raising=False)
    assert run(["serve", "--port", "0", *arguments]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.slow
def test_server_with_keys_verifies_signatures(tmp_path: Path) -> None:
    with serving("--access-key", "AKID", folder=tmp_path, PREJOIN_SECRET_KEY="secret") as process:
        here = {"endpoint_url": process.url, "region_name": "eu-west-1", "aws_access_key_id": "AKID"}
        right = boto3.client("dynamodb", aws_secret_access_key="secret", **here)
        assert right.list_tables()["TableNames"] == []
        wrong = boto3.client("dynamodb", aws_secret_access_key="guess", **here)
        with pytest.raises(ClientError, match="InvalidSignatureException"):
            wrong.list_tables()
        right.close()
        wrong.close()
        assert "secret " not in process.end()[1]


def test_a_server_starts_in_bad_weather(tmp_path: Path) -> None:
    weather = '{"errors": {"Scan": {"InternalServerError": 1}}, "faults": 1}'
    with serving("--weather", weather, folder=tmp_path) as process, Client(process.url) as client:
        assert client.ask("CreateTable", TABLE).status == 200
        assert [client.ask("Scan", {"TableName": "shop"}).status for _ in range(2)] == [500, 200]


@pytest.mark.slow
def test_a_server_starts_with_the_tables_of_a_snapshot(tmp_path: Path) -> None:
    with Embedded(tmp_path / "fixture.db") as engine:
        engine.send("CreateTable", json.dumps(TABLE).encode())
    for _ in range(2):
        with serving("--snapshot", "fixture.db", folder=tmp_path) as process, Client(process.url) as client:
            assert client.ask("ListTables").json == {"TableNames": ["shop"]}
            assert client.ask("DeleteTable", {"TableName": "shop"}).status == 200
            assert process.end()[0] == 0
