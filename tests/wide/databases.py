"""Starts relational databases from Debian packages for a test, on a free port with a new data folder."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa


def free_port() -> int:
    """A port below the range that the system gives to clients. Others may look for one at the same time."""
    for port in random.sample(range(21_000, 32_000), 1_000):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


def _wait(url: str) -> None:
    engine = sa.create_engine(url)
    for _ in range(300):
        try:
            engine.connect().close()
            break
        except sa.exc.OperationalError:
            time.sleep(0.1)
    else:
        pytest.fail("the server does not start")
    engine.dispose()


class Postgres:
    """A PostgreSQL with pg_stat_statements and logical decoding. `url` is that of its superuser."""

    def __init__(self) -> None:
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if Path("/usr/lib/postgresql").exists() else []
        if not programs:
            pytest.fail("PostgreSQL is not installed: the wide tier is run by scripts/wide")
        self._programs = programs[-1]
        self.folder, port = Path(tempfile.mkdtemp(prefix="prejoin-pg-")), free_port()
        self._as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        if self._as_user:
            shutil.chown(self.folder, "postgres")
        self._data = str(self.folder / "data")
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", "app", "-E", "UTF8", "--locale=C.UTF-8")
        self._settings = f"-p {port} -k {self.folder} -c shared_preload_libraries=pg_stat_statements -c fsync=off"
        self._settings += " -c listen_addresses=127.0.0.1 -c timezone=America/New_York -c wal_level=logical"
        self.url = f"postgresql+psycopg://app@127.0.0.1:{port}/postgres"

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self._as_user, self._programs / program, *arguments]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder)

    def start(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-o", self._settings, "-l", str(self.folder / "log"), "-w", "start")

    def kill(self) -> None:
        """Kills all of its processes, like a crash."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "stop")


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    server = Postgres()
    server.start()
    try:
        yield server
    finally:
        server.kill()
        shutil.rmtree(server.folder, ignore_errors=True)


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL."""
    with postgres_server() as server:
        yield server.url


class MariaDB:
    """A MariaDB with the performance schema and a binary log. `url` is that of a user with a password."""

    def __init__(self) -> None:
        found = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
        if found is None:
            pytest.fail("MariaDB is not installed: the wide tier is run by scripts/wide")
        self.folder, port = Path(tempfile.mkdtemp(prefix="prejoin-my-")), free_port()
        user = f"--user={'root' if os.getuid() == 0 else os.environ.get('USER', 'mysql')}"
        data = f"--datadir={self.folder / 'data'}"
        install = ["mariadb-install-db", "--no-defaults", data, "--auth-root-authentication-method=normal", user]
        subprocess.run([*install, "--skip-test-db"], check=True, capture_output=True)
        options = [data, f"--port={port}", f"--socket={self.folder / 'socket'}", user, "--bind-address=127.0.0.1"]
        options += ["--performance-schema=ON", "--performance-schema-instrument=statement/%=ON", "--skip-name-resolve"]
        options += ["--performance-schema-consumer-statements-digest=ON", "--innodb-flush-log-at-trx-commit=1"]
        options += ["--log-bin=binlog", "--server-id=1", "--binlog-format=ROW", "--sync-binlog=1"]
        options += ["--binlog-row-metadata=FULL"]
        self._command = [found, "--no-defaults", *options]
        self._root = f"mysql+pymysql://root@127.0.0.1:{port}/mysql"
        self.url = f"mysql+pymysql://app:s3cret@127.0.0.1:{port}/shop"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "log").open("a") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        _wait(self._root)

    def create(self) -> None:
        engine = sa.create_engine(self._root)
        with engine.connect() as db:
            db.exec_driver_sql("CREATE DATABASE shop CHARACTER SET utf8mb4")
            db.exec_driver_sql("CREATE USER app@'%%' IDENTIFIED BY 's3cret'")
            db.exec_driver_sql("GRANT ALL ON *.* TO app@'%%'")
        engine.dispose()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(60)


@contextmanager
def mariadb_server() -> Iterator[MariaDB]:
    server = MariaDB()
    server.start()
    try:
        server.create()
        yield server
    finally:
        server.kill()
        shutil.rmtree(server.folder, ignore_errors=True)


@contextmanager
def mariadb() -> Iterator[str]:
    """The URL of a MariaDB."""
    with mariadb_server() as server:
        yield server.url
