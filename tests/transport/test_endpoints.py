"""Endpoints: AWS's host names, compared with botocore, environment variables, and invalid addresses."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import botocore.session
import pytest
from botocore.config import Config

from prejoin.transport import AWS, Endpoint, NotConfigured
from prejoin.transport.connection.proxy import from_environment, read_proxy
from prejoin.transport.endpoints import endpoint_host
from prejoin.transport.url import read_url

PARTITIONS = ("aws", "aws-cn", "aws-us-gov", "aws-iso", "aws-iso-b")


@pytest.mark.everyday(1)
@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams"])
@pytest.mark.parametrize(("fips", "dual_stack"), [(False, False), (True, False), (False, True), (True, True)])
def test_each_region_has_the_name_that_botocore_gives_it(fips: bool, dual_stack: bool, service: str) -> None:
    session = botocore.session.Session()
    regions = {one for partition in PARTITIONS for one in session.get_available_regions("dynamodb", partition)}
    assert len(regions) > 20
    for region in regions - {"local"}:
        client = session.create_client(
            service,
            region,
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(use_fips_endpoint=fips, use_dualstack_endpoint=dual_stack),
        )
        resolved = client._resolve_endpoint_ruleset(
            client.meta.service_model.operation_model("GetItem" if service == "dynamodb" else "GetRecords"),
            {"TableName": "shop"} if service == "dynamodb" else {},
            {"client_region": region},
        )
        streams = service == "dynamodbstreams"
        assert resolved[0] == f"https://{endpoint_host(region, fips=fips, dual_stack=dual_stack, streams=streams)}"


def where(place: AWS | Endpoint) -> str:
    return str(place._open().url)


class TestAWS:
    def test_the_region_is_the_one_given(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_REGION", "us-west-2")
        assert where(AWS("eu-west-1")) == "https://dynamodb.eu-west-1.amazonaws.com"

    def test_else_it_is_the_environments(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
        assert where(AWS()) == "https://dynamodb.us-east-2.amazonaws.com"
        monkeypatch.setenv("AWS_REGION", "us-west-2")
        assert where(AWS()) == "https://dynamodb.us-west-2.amazonaws.com"

    def test_else_it_is_the_profiles(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "config").write_text("[profile work]\nregion = eu-north-1\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
        monkeypatch.setenv("AWS_PROFILE", "work")
        assert where(AWS()) == "https://dynamodb.eu-north-1.amazonaws.com"

    def test_without_one_the_error_says_how_to_give_it(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        place = AWS()  # lazy: a module may make one before its environment is set
        with pytest.raises(NotConfigured, match="set AWS_REGION"):
            place.send("ListTables", b"{}")

    def test_what_is_no_region_does_not_become_a_host(self) -> None:
        with pytest.raises(NotConfigured, match="not a region"):
            AWS("evil.example/")

    @pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"])
    def test_another_endpoint_can_be_set(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.setenv(name, "http://localhost:8000")
        assert where(AWS("eu-west-1")) == "http://localhost:8000"
        monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
        assert where(AWS("eu-west-1")) == "https://dynamodb.eu-west-1.amazonaws.com"

    def test_validated_and_dual_stack_endpoints_can_be_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", "true")
        assert where(AWS("us-east-1")) == "https://dynamodb-fips.us-east-1.amazonaws.com"
        monkeypatch.setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
        assert where(AWS("us-east-1")) == "https://dynamodb-fips.us-east-1.api.aws"


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("127.0.0.1:8000", "not an address"),
        ("ftp://host", "http:// or https://"),
        ("http://user:secret@host", "has a user in it"),
        ("http://host/?query=1", "not an address"),
        ("http://host:99999", "no port"),
        ("http://host\r\nEvil: yes", "not an address"),
    ],
)
def test_invalid_endpoint_address_raises_readable_error(url: str, wrong: str) -> None:
    with pytest.raises(NotConfigured, match=wrong) as caught:
        Endpoint(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"connect_timeout": -1}, {"pool": 0}])
def test_invalid_settings_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        AWS("eu-west-1", **options)  # type: ignore[arg-type]


def test_invalid_operation_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no operation"), Endpoint("http://127.0.0.1:1") as endpoint:
        endpoint.send("GetItem\r\nEvil: yes", b"{}")


class TestProxies:
    @pytest.mark.parametrize(
        ("url", "environ", "proxy"),
        [
            ("https://aws.example", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
            ("https://aws.example", {"https_proxy": "p:1", "HTTPS_PROXY": "http://q:1"}, "http://p:1"),
            ("https://aws.example", {"HTTP_PROXY": "http://p:1"}, None),
            ("http://aws.example", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
            ("http://aws.example", {"HTTP_PROXY": "http://p:1", "REQUEST_METHOD": "GET"}, None),
            ("https://aws.example", {"ALL_PROXY": "http://p:1"}, "http://p:1"),
            ("http://127.0.0.1:8000", {"HTTP_PROXY": "http://p:1"}, None),
            ("http://localhost:8000", {"ALL_PROXY": "http://p:1"}, None),
        ],
    )
    def test_the_environment_names_it(self, url: str, environ: dict[str, str], proxy: str | None) -> None:
        found = from_environment(read_url(url), environ)
        assert (str(found) if found else None) == proxy

    @pytest.mark.parametrize(
        ("host", "excepted", "goes_direct"),
        [
            ("db.internal", "internal", True),
            ("db.internal", ".internal", True),
            ("db.internal", "*.internal", True),
            ("dbinternal", "internal", False),
            ("internal", "internal", True),
            ("db.internal", "other, db.internal", True),
            ("db.internal", "db.internal:443", True),
            ("db.internal", "db.internal:8443", False),
            ("10.1.2.3", "10.0.0.0/8", True),
            ("11.1.2.3", "10.0.0.0/8", False),
            ("db.internal", "10.0.0.0/8", False),
            ("anything.example", "*", True),
            ("anything.example", "", False),
        ],
    )
    def test_no_proxy_excepts_hosts(self, host: str, excepted: str, goes_direct: bool) -> None:
        found = from_environment(read_url(f"https://{host}"), {"HTTPS_PROXY": "http://p:1", "NO_PROXY": excepted})
        assert (found is None) is goes_direct

    def test_a_proxy_by_tls_or_socks_is_refused_without_its_password(self) -> None:
        for text in ("https://me:secret@proxy:1", "socks5://me:secret@proxy:1"):
            with pytest.raises(ValueError, match=r"http://") as caught:
                read_proxy(text)
            assert "secret" not in str(caught.value)
        assert "secret" not in repr(read_proxy("http://me:secret@proxy:1"))


HEAVY = (
    "asyncio",
    "ssl",
    "botocore",
    "urllib.request",
    "urllib.parse",
    "http.client",
    "email",
    "logging",
    "socket",
    "hashlib",
)


def loaded_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    return set(out.split())


def test_importing_and_making_a_transport_loads_nothing_heavy() -> None:
    code = "from prejoin.transport import AWS, Endpoint\nAWS()\nEndpoint('http://127.0.0.1:8000')"
    assert all(map(find_spec, HEAVY))
    assert loaded_after(code).isdisjoint(HEAVY)


def test_a_request_over_plain_http_loads_neither_tls_nor_asyncio() -> None:
    code = (
        "from prejoin.transport import AWS, Endpoint, Retries\n"
        "try: Endpoint('http://127.0.0.1:1', retries=Retries(attempts=1)).send('GetItem', b'{}')\n"
        "except Exception as error: assert type(error).__name__ == 'ConnectionFailed', error"
    )
    assert loaded_after(code).isdisjoint(
        {"asyncio", "ssl", "botocore", "urllib.request", "http.client", "email", "logging"}
    )
