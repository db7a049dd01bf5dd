"""`prejoin serve`: the embedded engine on a port of this machine, until it is stopped."""

from __future__ import annotations

import errno
import sqlite3
import sys
from typing import Literal

import click

from prejoin.cli.command import command
from prejoin.cli.outcome import CommandError, Line, Outcome
from prejoin.cli.output import say, show
from prejoin.cli.status import Status
from prejoin.engine import Embedded
from prejoin.engine.http import Guard, KeyPair, Server
from prejoin.engine.http.guard import is_loopback
from prejoin.pipeline import codes


@command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 is any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--db", type=click.Path(dir_okay=False), help="The file to keep tables in; in memory if not said.")
@click.option(
    "--durability",
    type=click.Choice(["normal", "full"]),
    help="What a file survives: the death of the process (the default), or loss of power too.",
)
@click.option("--access-key", metavar="ID", help="Verify signatures: the key that clients sign with.")
@click.option("--secret-key", metavar="SECRET", envvar="PREJOIN_SECRET_KEY", help="Its secret; or PREJOIN_SECRET_KEY.")
@click.option("--allow-host", metavar="NAME", multiple=True, help="A name clients reach it by, besides localhost.")
@click.option("--allow-origin", metavar="ORIGIN", multiple=True, help="A web page's origin that may send requests.")
def serve(
    port: int,
    host: str,
    db: str | None,
    durability: Literal["normal", "full"] | None,
    access_key: str | None,
    secret_key: str | None,
    allow_host: tuple[str, ...],
    allow_origin: tuple[str, ...],
) -> Outcome:
    """Be a DynamoDB on a port of this machine, for every SDK and the AWS CLI. Stops with ^C or SIGTERM.

    It is reached from this machine only, unless --host says otherwise.
    """
    if db is not None and db in ("", ":memory:"):
        raise click.UsageError("`--db` takes a file; without it tables are kept in memory")
    if durability and not db:
        raise click.UsageError("`--durability` is about a file: say which with `--db`")
    if bool(access_key) != bool(secret_key):
        raise click.UsageError("Signatures need a pair: `--access-key`, and `--secret-key` or PREJOIN_SECRET_KEY")
    keys = KeyPair(access_key, secret_key) if access_key and secret_key else None
    guard = Guard(frozenset(name.lower() for name in (*allow_host, host)), frozenset(allow_origin))
    with _open(db, durability) as engine:
        server = Server(engine, host=host, port=port, keys=keys, guard=guard, in_memory=db is None)
        url = _listen(server, host, port)
        server.run(lambda url: _tell(url, host, db, keys))
    say("stopped" if db is None else f"stopped; all is in {db}")
    return Outcome(result={"url": url, "db": db})


def _open(db: str | None, durability: Literal["normal", "full"] | None) -> Embedded:
    try:
        return Embedded(db, durability=durability)
    except (sqlite3.Error, ValueError, OSError) as problem:
        fix = "name another file with `--db`, or leave it out to keep tables in memory"
        raise CommandError(codes.CANNOT_WRITE, str(problem), fix, Status.FAILED, file=db or "") from None


def _listen(server: Server, host: str, port: int) -> str:
    try:
        return server.listen()
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            message = f"port {port} of {host} is in use"
            fix = f"stop what listens there, or take another: `--port {port + 1 if port < 65535 else 0}`, or 0 for any"
        else:
            reason = (problem.strerror or str(problem)).partition(" (while")[0]  # asyncio repeats the address
            message = f"cannot listen on port {port} of {host}: {reason}"
            fix = "give an address of this machine as `--host`, and a port that you may use as `--port`"
        raise CommandError(codes.CANNOT_LISTEN, message, fix, Status.FAILED) from None


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
        who = "whoever holds the secret key and" if keys else "whoever"
        exposed = f"{host} is not loopback: {who} can reach this port reads and changes all tables, over plain HTTP"
        fix = "" if keys else "; `--access-key` asks for signatures"
        lines += [(), (("exposed: ", "bold yellow"), exposed + fix)]
    show(lines, sys.stderr)
