"""Checks attributes that follow others: the client finds their source, and all items that repeat it."""

from __future__ import annotations

from prejoin.design import codes
from prejoin.design.checks.key_answers import planned
from prejoin.design.checks.report import Report
from prejoin.keys import Lookup
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.follow_links import follow_links


def check_follows(r: Report) -> None:
    for one in follow_links(r.workload):
        name, source, base = one.entity.name, one.source.name, r.base(one.source.name)
        if base is None or r.base(name) is None:
            continue  # an entity without a key is reported as such
        what = f"{name}.{next(iter(one.attributes))} follows {source}"
        if lacking := [a for a in base.form.attributes if a not in one.by]:
            message = f"{what}, whose key `{base.text}` has {name_list(lacking)}, which {name} does not hold"
            fix = f"make the key of {source} from its id alone, or leave `follows` out"
            r.say(codes.SOURCE_NOT_FOUND, message, fix, name)
        elif planned([key.form for key in r.keys], Lookup.of(name, equal=one.by.values())) is None:
            message = f"{what}, and no key finds each {name} by {name_list(list(one.by.values()))}"
            fix = f"serve a read that finds them, with all attributes: `{name}` by the reference, `Collection`"
            r.say(codes.SOURCE_NOT_FOUND, message, fix, name)
