"""CDK: a construct that compiles, is formatted, and matches the CloudFormation template.

The wide tier compares the template that CDK itself makes of it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from prejoin.render.infrastructure.cdk_python import render_cdk_python
from prejoin.render.infrastructure.cdk_typescript import render_cdk_typescript
from prejoin.render.infrastructure.policies import policies_of
from prejoin.render.infrastructure.sst import render_sst

from .documents import DOCUMENTS, SHOP, designed, named
from .options import ALL
from .test_cloudformation import ordered, table_of, tasks, template

CASES = [*((path, "plain") for path in DOCUMENTS), *((SHOP, name) for name in ALL)]


def constants(tree: ast.AST) -> list[object]:
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]


@pytest.mark.parametrize(("path", "name"), CASES, ids=lambda one: named(one) if isinstance(one, Path) else one)
def test_the_python_names_every_index_key_and_condition(path: Path, name: str) -> None:
    workload, design = designed(path)
    ((file, text),) = render_cdk_python(workload, design, ALL[name]).items()
    texts = constants(ast.parse(text, str(file)))
    table = table_of(template(workload, design, ALL[name]), design.table)
    for index in table.get("GlobalSecondaryIndexes", ()):
        assert index["IndexName"] in texts
        assert set(index["Projection"].get("NonKeyAttributes", ())) <= set(map(str, texts))
    for one in table["AttributeDefinitions"]:
        assert one["AttributeName"] in texts
    for policy in policies_of(workload, design, ALL[name]):
        for statement in policy.statements:
            keys = statement.condition.get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys", [])
            assert {statement.sid, *keys} <= set(map(str, texts))


@pytest.mark.slow
def test_python_is_formatted_as_by_ruff(tmp_path: Path) -> None:
    for number, (path, name) in enumerate(CASES):
        workload, design = designed(path)
        (text,) = render_cdk_python(workload, design, ALL[name]).values()
        (tmp_path / f"m{number}.py").write_text(text)
    workload, design = designed(SHOP)
    ((file, text),) = render_cdk_python(workload, replace(design, table="x" * 255)).items()
    assert len(file.name) < 100
    (tmp_path / file.name).write_text(text)
    ruff = Path(sys.executable).with_name("ruff")
    for command in (["format", "--isolated", "--diff"], ["check", "--isolated", "--select", "E4,E7,E9,F,I,W,UP,B"]):
        done = subprocess.run([ruff, *command, "--no-cache", tmp_path], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_both_languages_say_the_same_words() -> None:
    for path, name in CASES:
        workload, design = designed(path)
        (python,) = render_cdk_python(workload, design, ALL[name]).values()
        (typescript,) = render_cdk_typescript(workload, design, ALL[name]).values()
        for text in constants(ast.parse(python).body[-1]):
            if not isinstance(text, str) or "\n" in text or text.startswith("The table"):
                continue
            if text.startswith("/"):  # a part of an ARN
                assert text in typescript, text
            else:
                assert f'"{text}"' in typescript or f"{text}:" in typescript, text


def test_names_of_any_kind_are_texts_in_every_language() -> None:
    workload, design = ordered()
    hard = design.slots[2].pk[0].name
    assert hard == 'te"am ${ö}'
    ((path, python),) = render_cdk_python(workload, design).items()
    assert hard in constants(ast.parse(python))
    assert str(path) == "cdk/the12_tasks_table.py"
    assert "self.table.add_local_secondary_index(" in python
    (typescript,) = render_cdk_typescript(workload, design).values()
    assert r'name: "te\"am ${ö}"' in typescript
    (sst,) = render_sst(workload, design).values()
    assert r'"te\"am ${ö}": "string"' in sst
    assert '"by.rank-1": { rangeKey: "rank" }' in sst


def test_files_and_classes_are_named_after_the_table() -> None:
    workload, design = designed(SHOP)
    assert [str(path) for path in render_cdk_python(workload, design)] == ["cdk/shop_table.py"]
    ((path, text),) = render_cdk_typescript(workload, design).items()
    assert str(path) == "cdk/shop-table.ts"
    assert "export class ShopTable extends Construct {" in text


def test_keys_of_several_attributes_are_lists_of_keys() -> None:
    workload, design = tasks()
    (python,) = render_cdk_python(workload, design).values()
    (typescript,) = render_cdk_typescript(workload, design).values()
    (sst,) = render_sst(workload, design).values()
    assert "partition_keys=[" in python
    assert "partitionKeys: [" in typescript
    assert 'hashKey: ["team", "state"]' in sst
    assert 'ttl: "gone"' in sst


@pytest.mark.parametrize(("path", "name"), CASES, ids=lambda one: named(one) if isinstance(one, Path) else one)
def test_the_component_of_sst_has_every_key_index_and_policy(path: Path, name: str) -> None:
    workload, design = designed(path)
    (text,) = render_sst(workload, design, ALL[name]).values()
    table = table_of(template(workload, design, ALL[name]), design.table)
    fields = text[text.index("fields: {") : text.index("primaryIndex")]
    for one in table["AttributeDefinitions"]:
        assert f'{one["AttributeName"]}: "string"' in fields or f'"{one["AttributeName"]}": "string"' in fields
    for index in table.get("GlobalSecondaryIndexes", ()):
        assert f'hashKey: "{index["KeySchema"][0]["AttributeName"]}"' in text
    for policy in policies_of(workload, design, ALL[name]):
        assert f"{policy.name[0].lower()}{policy.name[1:]}Policy = new aws.iam.Policy(" in text
        for statement in policy.statements:
            assert f'Sid: "{statement.sid}"' in text


def test_units_of_indexes_are_put_into_each_where_the_component_cannot() -> None:
    workload, design = designed(SHOP)
    (plain,) = render_sst(workload, design).values()
    (provisioned,) = render_sst(workload, design, ALL["provisioned"]).values()
    assert "adjust" not in plain
    assert "const units = { readCapacity: 10, writeCapacity: 2 };" in provisioned
    assert "transform: { table: adjust }" in provisioned
