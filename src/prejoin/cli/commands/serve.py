"""`prejoin serve`: the embedded engine as a local server."""

from __future__ import annotations

import errno
import os
import socket
import sqlite3
import sys
from typing import Literal

import click

from prejoin.cli.command import command
from prejoin.cli.outcome import Line, Outcome
from prejoin.cli.output import say, show
from prejoin.engine import Embedded, OpenError
from prejoin.engine.http import KeyPair, OriginPolicy, Server
from prejoin.engine.http.origin_policy import is_loopback
from prejoin.engine.regions import Regions
from prejoin.engine.weather.conditions import Conditions, read_conditions
from prejoin.pipeline import codes
from prejoin.pipeline.errors import PipelineError


@command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 is any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--db", type=click.Path(dir_okay=False), help="The file for the tables (default: in memory).")
@click.option(
    "--durability",
    type=click.Choice(["normal", "full"]),
    help="What a file survives: the end of the process (normal, the default), or a loss of power, too (full).",
)
@click.option("--access-key", metavar="ID", help="Verify signatures: the access key of the clients.")
@click.option("--secret-key", metavar="SECRET", envvar="PREJOIN_SECRET_KEY", help="Its secret; or PREJOIN_SECRET_KEY.")
@click.option(
    "--stream-shard-records",
    metavar="N",
    type=click.IntRange(1),
    help="Close a shard of a stream after N records, to test consumers (default: never).",
)
@click.option(
    "--regions", is_flag=True, help="Keep tables apart by the region and account of the caller's credentials."
)
@click.option(
    "--weather", metavar="JSON", help='Bad days for clients, such as {"index_lag": 2}; see the guide about weather.'
)
@click.option(
    "--snapshot",
    type=click.Path(exists=True, dir_okay=False),
    help="Start with the tables of this file, in memory. It is not changed.",
)
@click.option(
    "--buckets",
    type=click.Path(exists=True, file_okay=False),
    help="A folder in place of S3, for exports and imports. Its folders are buckets.",
)
@click.option(
    "--newer-messages",
    is_flag=True,
    help="Put `1 validation error detected: ` before errors of PutItem, UpdateItem and DeleteItem, as AWS does lately.",
)
@click.option("--allow-host", metavar="NAME", multiple=True, help="A host name of the server, besides localhost.")
@click.option("--allow-origin", metavar="ORIGIN", multiple=True, help="The origin of a web page that may use it.")
def serve(
    port: int,
    host: str,
    db: str | None,
    durability: Literal["normal", "full"] | None,
    access_key: str | None,
    secret_key: str | None,
    stream_shard_records: int | None,
    regions: bool,
    weather: str | None,
    snapshot: str | None,
    buckets: str | None,
    newer_messages: bool,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
) -> Outcome:
    """Run a local DynamoDB server, for every SDK and the AWS CLI. Stops with ^C or SIGTERM.

    Only this machine can reach it, unless --host is given.
    """
    _require_fitting_place(db, durability, snapshot, regions)
    if bool(access_key) != bool(secret_key):
        raise click.UsageError("Signatures need a pair: `--access-key`, and `--secret-key` or PREJOIN_SECRET_KEY")
    keys = KeyPair(access_key, secret_key) if access_key and secret_key else None
    policy = OriginPolicy(frozenset(name.lower() for name in (*allow_host, host)), frozenset(allow_origin))
    conditions, shard_records = _conditions(weather), stream_shard_records or 0

    def make() -> Embedded:
        engine = _open(db, durability, shard_records, buckets, newer_messages)
        engine.weather_front().replace_all(conditions)
        return engine

    with make() as engine:
        if snapshot is not None:
            _restore(engine, snapshot)
        separate_regions = Regions(engine, make=make) if regions else None
        server = Server(
            engine, host=host, port=port, keys=keys, policy=policy, in_memory=db is None, regions=separate_regions
        )
        url = _listen(server, host, port)
        server.run(lambda url: _tell(url, host, db, keys))
    say("stopped" if db is None else f"stopped; the tables are in {db}")
    return Outcome(result={"url": url, "db": db})


def _require_fitting_place(db: str | None, durability: str | None, snapshot: str | None, regions: bool) -> None:
    """Refuses options for tables in a file without one, and those for tables in memory with a file."""
    if db is not None and db in ("", ":memory:"):
        raise click.UsageError("`--db` takes a file; without it, tables are in memory")
    if durability and not db:
        raise click.UsageError("`--durability` is about a file: give one with `--db`")
    if snapshot is not None and db is not None:
        raise click.UsageError("`--snapshot` is for tables in memory; to go on in a file, copy it for `--db`")
    if regions and db:
        raise click.UsageError("`--regions` is for tables in memory: leave out `--db`")


def _conditions(weather: str | None) -> list[Conditions]:
    try:
        return [] if weather is None else read_conditions(weather)
    except ValueError as problem:
        raise click.UsageError(f"`--weather`: {problem}") from None


def _open(
    db: str | None,
    durability: Literal["normal", "full"] | None,
    shard_records: int,
    buckets: str | None,
    newer_messages: bool,
) -> Embedded:
    try:
        return Embedded(
            db,
            durability=durability,
            stream_shard_records=shard_records,
            buckets=buckets,
            newer_messages=newer_messages,
        )
    except (sqlite3.Error, ValueError, OSError) as problem:
        fix = "name another file with `--db`, or leave it out to keep tables in memory"
        raise PipelineError(codes.CANNOT_WRITE, str(problem), fix, db or "") from None


def _restore(engine: Embedded, snapshot: str) -> None:
    try:
        engine.restore(snapshot)
    except OpenError as problem:
        fix = "give a file that `Embedded.save` or `prejoin serve --db` has written"
        raise PipelineError(codes.FLAG, f"`--snapshot`: {problem}", fix, snapshot) from None


def _listen(server: Server, host: str, port: int) -> str:
    try:
        return server.listen()
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            message = f"port {port} of {host} is in use"
            fix = f"stop the other server, or use another port: `--port {port + 1 if port < 65535 else 0}`; 0 is any"
        else:
            reason = _reason(problem)
            message = f"cannot listen on port {port} of {host}: {reason}"
            fix = "give an address of this machine as `--host`, and a port that you may use as `--port`"
        raise PipelineError(codes.CANNOT_LISTEN, message, fix) from None


def _reason(problem: OSError) -> str:
    """The reason without the address, which asyncio repeats. Errors of name resolution have numbers of their own."""
    if problem.errno is None or isinstance(problem, socket.gaierror):
        return problem.strerror or str(problem)
    return os.strerror(problem.errno)


def _tell(url: str, host: str, db: str | None, keys: KeyPair | None) -> None:
    key, secret = (keys.access_key, "…") if keys else ("local", "local")
    lines: list[Line] = [
        ("prejoin serves DynamoDB at ", (url, "bold"), f", tables in {db or 'memory'}. ^C stops it."),
        (),
        ("For the AWS CLI, boto3 and the other SDKs, in another terminal:",),
        (),
        (f"  export AWS_ENDPOINT_URL_DYNAMODB={url}",),
        (f"  export AWS_ACCESS_KEY_ID={key} AWS_SECRET_ACCESS_KEY={secret} AWS_DEFAULT_REGION=us-east-1",),
        ("  aws dynamodb list-tables",),
    ]
    if not is_loopback(host):
        readers = "anyone who has the secret key and" if keys else "anyone who"
        warning = (
            f"{host} is not loopback: {readers} can reach this port can read and change all tables, over plain HTTP"
        )
        fix = "" if keys else "; `--access-key` requires signatures"
        lines += [(), (("exposed: ", "bold yellow"), warning + fix)]
    show(lines, sys.stderr)
