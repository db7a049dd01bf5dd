"""AWS's regions: which one is meant, and the name of its DynamoDB."""

from __future__ import annotations

import re
from collections.abc import Mapping

from prejoin.transport.errors import NotConfigured

_PARTITIONS = (
    # Region, domain, domain of the endpoints that have IPv6 too.
    ("cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    ("eusc-", "amazonaws.eu", "api.amazonwebservices.eu"),
    ("us-iso-", "c2s.ic.gov", "api.aws.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov", "api.aws.scloud"),
    ("eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
    ("us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
    ("", "amazonaws.com", "api.aws"),
)
_REGION = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def host_of(region: str, *, fips: bool = False, dual_stack: bool = False) -> str:
    """The name of a region's DynamoDB.

    >>> host_of("eu-west-1"), host_of("cn-north-1")
    ('dynamodb.eu-west-1.amazonaws.com', 'dynamodb.cn-north-1.amazonaws.com.cn')
    >>> host_of("us-east-1", fips=True, dual_stack=True)
    'dynamodb-fips.us-east-1.api.aws'
    """
    domain, dual = next((domain, dual) for start, domain, dual in _PARTITIONS if region.startswith(start))
    # The government's ordinary endpoints are the ones that are validated.
    service = "dynamodb-fips" if fips and (dual_stack or not region.startswith("us-gov-")) else "dynamodb"
    return f"{service}.{region}.{dual if dual_stack else domain}"


def find_region(environ: Mapping[str, str]) -> str:
    """AWS_REGION, AWS_DEFAULT_REGION, or the profile's where botocore is there to read it."""
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or _from_profile()
    if not region:
        raise NotConfigured(
            "no region: give it, as AWS('eu-west-1'), or set AWS_REGION "
            "(a region in ~/.aws/config is read where the `aws` extra is installed)"
        )
    return checked_region(region)


def checked_region(region: str) -> str:
    """A region becomes part of a host name, so it has to look like one."""
    if not _REGION.fullmatch(region):
        raise NotConfigured(f"{region!r} is not a region, as eu-west-1 is")
    return region


def _from_profile() -> str | None:
    try:
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]
        from botocore.session import Session  # type: ignore[import-untyped]
    except ImportError:
        return None
    try:
        region: str | None = Session().get_config_variable("region")
    except BotoCoreError as error:
        raise NotConfigured(f"no region: {error}", cause=error) from error
    return region
