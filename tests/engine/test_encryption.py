"""What a table tells of the key it is encrypted with."""

from __future__ import annotations

from typing import Any

import pytest

from prejoin.testing import create_table

from .conftest import Ask, refusal


def told(answer: dict[str, Any]) -> Any:
    (description,) = answer.values()
    return description.get("SSEDescription")


def test_aws_owned_encryption_key_is_not_described(ask: Ask) -> None:
    assert told(ask("CreateTable", **create_table("plain"))) is None
    assert told(ask("CreateTable", **create_table("off"), SSESpecification={"Enabled": False})) is None
    assert told(ask("DescribeTable", TableName="off")) is None


@pytest.mark.parametrize(
    ("key", "arn"),
    [
        ("1234abcd", "arn:aws:kms:local:000000000000:key/1234abcd"),
        ("alias/shop", "arn:aws:kms:local:000000000000:alias/shop"),
        ("arn:aws:kms:eu-west-1:111122223333:key/1234abcd", "arn:aws:kms:eu-west-1:111122223333:key/1234abcd"),
    ],
)
def test_account_encryption_key_is_described_by_arn(ask: Ask, key: str, arn: str) -> None:
    wish = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": key}
    created = told(ask("CreateTable", **create_table("shop"), SSESpecification=wish))
    assert created == {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": arn}
    assert told(ask("DescribeTable", TableName="shop")) == created


def test_a_table_keeps_its_key_until_it_is_changed(ask: Ask) -> None:
    created = told(ask("CreateTable", **create_table("shop"), SSESpecification={"Enabled": True}))
    assert told(ask("UpdateTable", TableName="shop", DeletionProtectionEnabled=True)) == created
    changing = told(ask("UpdateTable", TableName="shop", SSESpecification={"Enabled": False}))
    assert changing == {**created, "Status": "UPDATING"}
    assert told(ask("DescribeTable", TableName="shop")) is None
    assert told(ask("UpdateTable", TableName="shop", SSESpecification={"Enabled": True})) == changing
    assert told(ask("DescribeTable", TableName="shop")) == created


def test_invalid_encryption_type_is_refused(ask: Ask) -> None:
    error = refusal(ask, "CreateTable", **create_table("shop"), SSESpecification={"Enabled": True, "SSEType": "ROT13"})
    assert "Value 'ROT13' at 'sSESpecification.sSEType'" in error.message
    assert error.message.endswith("Member must satisfy enum value set: [AES256, KMS]")
