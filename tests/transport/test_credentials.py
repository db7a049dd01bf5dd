"""Credentials: their sources, their renewal, and that they are never shown."""

from __future__ import annotations

import pickle
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from pathlib import Path

import pytest

from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import AWS, Credentials, CredentialsMissing, Endpoint, OutcomeUnknown
from prejoin.transport.credentials import CredentialCache, CredentialChain, local_credentials

from .conftest import KEYS, Connect, Send, Serve
from .scripted import OK, fails, item, resets, signed_at, signed_by

READ = ("GetItem", item(Key={}))


def in_seconds(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


class Given:
    """A source that returns one set after the other and repeats the last; it raises exceptions among them."""

    def __init__(self, *given: Credentials | Exception) -> None:
        self._given = list(given)
        self.calls = 0

    def __call__(self) -> Credentials:
        self.calls += 1
        found = self._given.pop(0) if len(self._given) > 1 else self._given[0]
        if isinstance(found, Exception):
            raise found
        return found


FIRST, SECOND = Credentials("AKIDFIRST", "1"), Credentials("AKIDSECOND", "2")


class TestTheChain:
    def test_the_environment_comes_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
        monkeypatch.setitem(sys.modules, "botocore.session", None)
        assert CredentialChain()() == Credentials("AKID", "secret", "token")

    def test_then_comes_what_botocore_finds(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        file = tmp_path / "credentials"
        file.write_text("[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = secret\n")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
        monkeypatch.setenv("AWS_PROFILE", "work")
        assert CredentialChain()() == Credentials("AKIDWORK", "secret")

    def test_what_botocore_refreshes_is_renewed_before_it_expires(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        program = tmp_path / "issue.py"
        end = in_seconds(3600).replace(microsecond=0)
        program.write_text(
            "import json\nprint(json.dumps({'Version': 1, 'AccessKeyId': 'AKIDPROCESS', 'SecretAccessKey': 'secret',"
            f" 'SessionToken': 'token', 'Expiration': '{end.isoformat()}'}}))\n"
        )
        file = tmp_path / "config"
        file.write_text(f"[default]\ncredential_process = {sys.executable} {program}\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(file))
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
        assert CredentialChain()() == Credentials("AKIDPROCESS", "secret", "token", end)

    def test_without_any_the_error_says_what_to_set(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        with pytest.raises(CredentialsMissing, match="AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
            CredentialChain()()

    def test_without_botocore_the_error_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "botocore.session", None)
        monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
        with pytest.raises(CredentialsMissing, match="install the `aws` extra"):
            CredentialChain()()

    def test_half_of_a_pair_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
        with pytest.raises(CredentialsMissing, match="AWS_SECRET_ACCESS_KEY is not"):
            CredentialChain()()

    def test_a_server_on_this_machine_takes_any(self) -> None:
        assert local_credentials() == Credentials("local", "local")

    def test_they_are_looked_for_when_first_needed_and_not_before(self, serve: Serve) -> None:
        source = Given(CredentialsMissing("not there"))
        with Endpoint(serve().url, credentials=source) as endpoint:
            assert source.calls == 0
            with pytest.raises(CredentialsMissing, match="not there"):
                endpoint.send(*READ)


class TestSecrecy:
    SECRET = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI", "token-of-the-session")

    def test_neither_repr_nor_text_has_the_secret(self) -> None:
        for text in (
            repr(self.SECRET),
            str(self.SECRET),
            f"{self.SECRET}",
            repr([self.SECRET]),
            repr(AWS("eu-west-1")),
        ):
            assert "wJalrXUtnFEMI" not in text
            assert "token-of" not in text

    def test_an_error_has_neither(self, serve: Serve, connect: Connect, send: Send) -> None:
        server = serve(resets())
        with pytest.raises(OutcomeUnknown) as caught:
            send(connect(server.url, credentials=self.SECRET), "CreateTable", b"{}")
        shown = f"{caught.value!r} {caught.value} {caught.value.__dict__} {pickle.dumps(caught.value)!r}"
        assert "wJalrXUtnFEMI" not in shown
        assert "token-of" not in shown

    @pytest.mark.parametrize("secret", ["with\nnewline", "trailing ", "bell\x07", "ünicode", ""])
    def test_what_would_break_a_header_is_refused_without_being_shown(self, secret: str) -> None:
        with pytest.raises(ValueError, match="secret key") as caught:
            Credentials("AKID", secret)
        assert not secret.strip() or secret not in str(caught.value)


class TestRenewal:
    def test_what_does_not_expire_is_asked_for_once(self) -> None:
        source = Given(FIRST)
        ring = CredentialCache(source)
        assert ring.current(time.time()) is None
        ring.renew()
        assert ring.current(time.time() + 1e9) is FIRST
        assert source.calls == 1

    def test_what_expires_is_renewed_before(self) -> None:
        soon = Credentials("AKIDSOON", "1", "t", in_seconds(1000))
        ring = CredentialCache(Given(soon, SECOND))
        assert ring.renew() is soon
        assert ring.current(time.time() + 690) is soon
        assert ring.current(time.time() + 710) is None

    def test_where_renewal_fails_the_old_ones_are_used_while_they_last(self) -> None:
        soon = Credentials("AKIDSOON", "1", "t", in_seconds(60))
        source = Given(soon, OSError("no network"))
        ring = CredentialCache(source)
        ring.renew()
        now = time.time()
        assert ring.current(now) is soon
        assert ring.current(now + 31) is None
        ring._due = now
        assert ring.renew() is soon
        assert ring.current(now + 1) is soon
        assert source.calls == 2

    def test_where_renewal_fails_and_they_are_over_it_is_an_error(self) -> None:
        ring = CredentialCache(Given(Credentials("AKIDPAST", "1", "t", in_seconds(-1)), OSError("no network")))
        ring.renew()
        with pytest.raises(OSError, match="no network"):
            ring.renew()

    def test_many_threads_ask_the_source_once(self) -> None:
        source = Given(FIRST)
        ring = CredentialCache(source)
        threads = [threading.Thread(target=ring.renew) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert source.calls == 1

    def test_a_source_that_gives_something_else_is_told_so(self, serve: Serve, connect: Connect, send: Send) -> None:
        endpoint = connect(serve().url, credentials=lambda: ("AKID", "secret"))
        with pytest.raises(CredentialsMissing, match="gave tuple, not Credentials"):
            send(endpoint, *READ)


@pytest.mark.parametrize("code", ["ExpiredTokenException", "UnrecognizedClientException"])
class TestRefusedCredentials:
    def test_others_are_asked_for_once_and_used(self, serve: Serve, connect: Connect, send: Send, code: str) -> None:
        server = serve(fails(code))
        source = Given(FIRST, SECOND)
        endpoint = connect(server.url, credentials=source)
        # Not even a conditional write was applied.
        assert send(endpoint, "PutItem", item(ConditionExpression="x")) == OK
        assert send(endpoint, *READ) == OK
        assert [signed_by(request) for request in server.requests] == ["AKIDFIRST", "AKIDSECOND", "AKIDSECOND"]
        assert source.calls == 2

    def test_where_there_are_no_others_the_error_stays(
        self, serve: Serve, connect: Connect, send: Send, code: str
    ) -> None:
        server = serve(fails(code), fails(code))
        with pytest.raises(DynamoDBError, match=code):
            send(connect(server.url, credentials=KEYS), *READ)
        assert len(server.requests) == 1

    def test_where_the_others_are_refused_too_the_error_stays(
        self, serve: Serve, connect: Connect, send: Send, code: str
    ) -> None:
        server = serve(fails(code), fails(code), fails(code))
        with pytest.raises(DynamoDBError, match=code):
            send(connect(server.url, credentials=Given(FIRST, SECOND)), *READ)
        assert len(server.requests) == 2


class TestClocks:
    def test_a_clock_that_is_wrong_is_corrected_once_and_for_all(
        self, serve: Serve, connect: Connect, send: Send
    ) -> None:
        there = time.time() + 7200
        server = serve(fails("InvalidSignatureException", Date=formatdate(there, usegmt=True)))
        endpoint = connect(server.url)
        assert send(endpoint, *READ) == OK
        assert send(endpoint, *READ) == OK
        assert len(server.requests) == 3
        first, second, third = (
            datetime.strptime(signed_at(request), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
            for request in server.requests
        )
        assert abs(first - time.time()) < 60
        assert abs(second - there) < 60
        assert abs(third - there) < 60

    @pytest.mark.parametrize("date", [None, "yesterday", ""], ids=["now", "no date", "nothing"])
    def test_a_signature_that_is_wrong_at_the_right_time_stays_wrong(
        self, serve: Serve, connect: Connect, send: Send, date: str | None
    ) -> None:
        date = formatdate(usegmt=True) if date is None else date
        server = serve(fails("InvalidSignatureException", Date=date))
        with pytest.raises(DynamoDBError, match="InvalidSignatureException"):
            send(connect(server.url), *READ)
        assert len(server.requests) == 1

    def test_a_server_with_two_times_is_not_followed_for_ever(self, serve: Serve, connect: Connect, send: Send) -> None:
        dates = [formatdate(time.time() + 7200 * n, usegmt=True) for n in (1, 2, 3)]
        server = serve(*(fails("RequestTimeTooSkewed", Date=date) for date in dates))
        with pytest.raises(DynamoDBError):
            send(connect(server.url), *READ)
        assert len(server.requests) == 2
