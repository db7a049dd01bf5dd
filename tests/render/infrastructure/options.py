"""Options for tests of renderers: the defaults, and some that together set everything."""

from __future__ import annotations

from prejoin.design.model import Billing
from prejoin.render.infrastructure.options import Encryption, Infrastructure, Role, Scaling, Stream, TableClass

KEY = "arn:aws:kms:eu-central-1:123456789012:key/0d990263-018e-4e65-a703-eff731de951e"
ALL = {
    "plain": Infrastructure(),
    "provisioned": Infrastructure(
        billing=Billing.PROVISIONED,
        reads=Scaling(10, 400, 60),
        writes=Scaling(2, 50),
        encryption=Encryption.CUSTOMER,
        stream=Stream.NEW_AND_OLD_IMAGES,
        tags={"team": "orders", "cost center": "7:1"},
        roles=(Role("front desk", ("AP-001",)), Role("everything")),
    ),
    "bare": Infrastructure(
        most_reads=500,
        most_writes=100,
        table_class=TableClass.INFREQUENT_ACCESS,
        point_in_time_recovery=False,
        deletion_protection=False,
        encryption=Encryption.AWS_OWNED,
    ),
    "key of others": Infrastructure(encryption=Encryption.CUSTOMER, key_arn=KEY, most_reads=7),
}
