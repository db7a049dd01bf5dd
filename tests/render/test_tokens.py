"""Generated writes with a token: a repeated transaction is applied once."""

from __future__ import annotations

from tests.render.python.driving import designed, driven
from tests.solutions import solve

from prejoin.render.python.method import Method, Option
from prejoin.render.python.package import repository_methods
from prejoin.workload.files import read_text

DOCUMENT = """
# Wallets

## Entities

### Wallet

- **Attributes**:
  - `walletId` (string, natural)
  - `coins` (integer, mutable)
  - `seenAt` (datetime, mutable)

### Voucher

- **Attributes**:
  - `token` (string, natural)
  - `walletId` (string, immutable, → Wallet)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Wallet | Wallet | walletId | Single |

### Writes

| ID | Entity | Name | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Wallet | open | walletId, coins | create Wallet | No | - |
| AP-021 | Voucher, Wallet | redeem | token, walletId | create Voucher; update Wallet (coins += 1) | Yes | - |
| AP-022 | Voucher, Wallet | look | token, walletId | delete Voucher; update Wallet (seenAt = now) | Yes | - |
| AP-023 | Wallet | pay | from, to | update Wallet by from (coins -= 1); update Wallet by to (coins += 1) | Yes | - |
"""


def tokens(method: Method) -> list[str]:
    return [param.name for param in method.params if param.meaning == Option.TOKEN]


def test_a_transaction_with_a_token_is_done_once() -> None:
    with driven(*designed("blog")) as driver:
        sample = driver.sample
        post = next(item for item in sample.items["Post"] if item["status"] == "PUBLISHED")
        comment = driver.record("Comment", postId=post["postId"])
        methods = sample.package.methods.values()
        method = next(m for m in methods if tokens(m) and "Comment" in m.params[0].annotation)
        for _ in range(3):
            getattr(driver.repository, method.name)(comment, token="once")
        assert driver.get("Post", post_id=post["postId"]).comment_count == post["commentCount"] + 1


def test_object_of_a_token_is_another_parameter() -> None:
    """The method takes the object of an entity `Token` and the token of the transaction."""
    text = DOCUMENT.replace("Voucher", "Token").replace("`token` (", "`code` (").replace("| token,", "| code,")
    workload = read_text(text, "md").workload
    method = repository_methods(workload, solve(workload).design)["AP-021"]
    names = [param.name for param in method.params]
    assert names == ["token", "request_token"]
    assert tokens(method) == ["request_token"]


def test_write_that_depends_on_the_time_has_no_token() -> None:
    workload = read_text(DOCUMENT, "md").workload
    methods = repository_methods(workload, solve(workload).design)
    found = {id_: tokens(method) for id_, method in methods.items()}
    assert found == {"AP-001": [], "AP-020": [], "AP-021": ["request_token"], "AP-022": [], "AP-023": ["token"]}
