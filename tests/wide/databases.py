"""Servers of relational databases from Debian's packages, started for a test on a free port, with data of their own."""

from __future__ import annotations

import os
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
    """A port below the range that the system gives to clients."""
    for port in range(21_000, 32_000):
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


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL with pg_stat_statements: the URL of its superuser."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if Path("/usr/lib/postgresql").exists() else []
    if not programs:
        pytest.fail("PostgreSQL is not installed: the wide tier is run by scripts/wide")
    folder, port = Path(tempfile.mkdtemp(prefix="prejoin-pg-")), free_port()
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")

    def run(program: str, *arguments: str) -> None:
        subprocess.run([*as_user, programs[-1] / program, *arguments], check=True, capture_output=True, cwd=folder)

    run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "app", "-E", "UTF8", "--locale=C.UTF-8")
    settings = f"-p {port} -k {folder} -c shared_preload_libraries=pg_stat_statements -c fsync=off"
    settings += " -c listen_addresses=127.0.0.1 -c timezone=America/New_York"
    run("pg_ctl", "-D", str(folder / "data"), "-o", settings, "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"postgresql+psycopg://app@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def mariadb() -> Iterator[str]:
    """A MariaDB with the performance schema: the URL of its superuser, with a password."""
    server = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
    if server is None:
        pytest.fail("MariaDB is not installed: the wide tier is run by scripts/wide")
    folder, port = Path(tempfile.mkdtemp(prefix="prejoin-my-")), free_port()
    user = f"--user={'root' if os.getuid() == 0 else os.environ.get('USER', 'mysql')}"
    data = f"--datadir={folder / 'data'}"
    install = ["mariadb-install-db", "--no-defaults", data, "--auth-root-authentication-method=normal", user]
    subprocess.run([*install, "--skip-test-db"], check=True, capture_output=True)
    options = [data, f"--port={port}", f"--socket={folder / 'socket'}", user, "--bind-address=127.0.0.1"]
    options += ["--performance-schema=ON", "--performance-schema-instrument=statement/%=ON", "--skip-name-resolve"]
    options += ["--performance-schema-consumer-statements-digest=ON", "--innodb-flush-log-at-trx-commit=0"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([server, "--no-defaults", *options], stdout=log, stderr=log)
    try:
        url = f"mysql+pymysql://root@127.0.0.1:{port}"
        _wait(f"{url}/mysql")
        with sa.create_engine(f"{url}/mysql").connect() as db:
            db.exec_driver_sql("CREATE DATABASE shop CHARACTER SET utf8mb4")
            db.exec_driver_sql("CREATE USER app@'%%' IDENTIFIED BY 's3cret'")
            db.exec_driver_sql("GRANT ALL ON *.* TO app@'%%'")
        yield f"mysql+pymysql://app:s3cret@127.0.0.1:{port}/shop"
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)
