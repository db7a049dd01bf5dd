"""Infrastructure in the hands of the tools that deploy it: cfn-lint, CDK in both languages, TypeScript, Terraform's parser.

CDK's own template has to say what ours says: the same table, the same policies.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.design.test_stores import stored
from tests.render.infrastructure.documents import DOCUMENTS, SHOP, designed, named, read_template, resolved
from tests.render.infrastructure.hcl import read
from tests.render.infrastructure.options import ALL
from tests.render.infrastructure.test_cloudformation import ordered, tasks

from prejoin.design.model import Design
from prejoin.render.infrastructure.cdk_python import render_cdk_python
from prejoin.render.infrastructure.cdk_typescript import render_cdk_typescript
from prejoin.render.infrastructure.cloudformation import render_cloudformation
from prejoin.render.infrastructure.options import Infrastructure
from prejoin.render.infrastructure.sst import render_sst
from prejoin.render.infrastructure.terraform import render_terraform
from prejoin.workload.model import Workload

from .conftest import tool

pytestmark = pytest.mark.wide

HERE = Path(__file__).parent / "infrastructure"
BLOG = next(path for path in DOCUMENTS if named(path) == "blog")
OTHERS = ("Blog", "Tasks", "Hard", "Stored", "StoredBare", "StoredProvisioned")
Case = tuple[Workload, Design, Infrastructure]


def cases() -> dict[str, Case]:
    """Designs and options that between them have everything that is written."""
    found = {name.title().replace(" ", ""): (*designed(SHOP), options) for name, options in ALL.items()}
    return found | {
        "Blog": (*designed(BLOG), ALL["plain"]),
        "Tasks": (*tasks(), ALL["plain"]),
        "Hard": (*ordered(), ALL["plain"]),
        "Stored": (*stored(), ALL["plain"]),
        "StoredBare": (*stored(), ALL["bare"]),
        "StoredProvisioned": (*stored(), ALL["provisioned"]),
    }


def run(*command: str | Path, where: Path) -> str:
    ran = subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_cfn_lint_finds_nothing(tmp_path: Path) -> None:
    every = {named(path): (*designed(path), ALL["plain"]) for path in DOCUMENTS} | cases()
    for name, (workload, design, options) in every.items():
        (text,) = render_cloudformation(workload, design, options).values()
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    lint = tool("infrastructure/bin/cfn-lint")
    assert run(lint, *sorted(tmp_path.glob("*.yaml")), where=tmp_path) == ""


@pytest.fixture(scope="module")
def synthesized(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """CDK's templates of the constructs in Python, by case."""
    folder = tmp_path_factory.mktemp("python")
    lines = ["import importlib", "import aws_cdk as cdk", "app = cdk.App(outdir='out')"]
    for name, (workload, design, options) in cases().items():
        ((_, text),) = render_cdk_python(workload, design, options).items()
        module = f"m_{name.lower()}"
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
        lines.append(f"stack = cdk.Stack(app, {name!r}, synthesizer=cdk.LegacyStackSynthesizer())")
        lines.append(f"importlib.import_module({module!r}).{_class(text, 'class ', '(')}(stack, 'T')")
    (folder / "app.py").write_text("\n".join([*lines, "app.synth()", ""]), encoding="utf-8")
    run(tool("infrastructure/bin/python").absolute(), "app.py", where=folder)
    return {name: json.loads((folder / "out" / f"{name}.template.json").read_text()) for name in cases()}


@pytest.mark.parametrize("name", [*(name.title().replace(" ", "") for name in ALL), *OTHERS])
def test_cdk_makes_the_table_and_the_policies_of_our_template(name: str, synthesized: dict[str, Any]) -> None:
    workload, design, options = cases()[name]
    (text,) = render_cloudformation(workload, design, options).values()
    ours, theirs = read_template(text)["Resources"], synthesized[name]["Resources"]
    assert _buckets(theirs, design.table) == _buckets(ours, design.table)
    for member, value in _table(ours, design.table).items():
        assert _table(theirs, design.table)[member] == value, member
    assert _table(theirs, design.table).keys() == _table(ours, design.table).keys()
    assert _policies(theirs, design.table) == _policies(ours, design.table)
    # With CDK, the function that reads a stream brings its mapping along.
    assert sorted(_kinds(theirs)) == sorted(one for one in _kinds(ours) if one != "AWS::Lambda::EventSourceMapping")


def test_cdk_in_typescript_is_cdk_in_python(tmp_path: Path, synthesized: dict[str, Any]) -> None:
    folder = tool("infrastructure-js/node_modules").parent.absolute()
    lines = ['import * as cdk from "aws-cdk-lib";']
    made = [f'const app = new cdk.App({{ outdir: "{tmp_path}" }});']
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    for name, (workload, design, options) in cases().items():
        ((_, text),) = render_cdk_typescript(workload, design, options).items()
        (source / f"m{name}.ts").write_text(text, encoding="utf-8")
        lines.append(f'import {{ {_class(text, "export class ", " ")} as C{name} }} from "./m{name}";')
        made.append(
            f'new C{name}(new cdk.Stack(app, "{name}", {{ synthesizer: new cdk.LegacyStackSynthesizer() }}), "T");'
        )
    (source / "app.ts").write_text("\n".join([*lines, *made, "app.synth();", ""]), encoding="utf-8")
    _compiled(folder, "--outDir", "source", "--types", "node", "source/app.ts")
    run("node", "source/app.js", where=folder)
    for name, template in synthesized.items():
        assert json.loads((tmp_path / f"{name}.template.json").read_text()) == template


def test_the_module_of_sst_compiles(tmp_path: Path) -> None:
    folder = tool("infrastructure-js/node_modules").parent.absolute()
    files = [HERE / "sst.d.ts"]
    for name, (workload, design, options) in cases().items():
        (text,) = render_sst(workload, design, options).values()
        files.append(tmp_path / f"{name}.ts")
        files[-1].write_text(text, encoding="utf-8")
    _compiled(folder, "--noEmit", "--typeRoots", tmp_path, *files)


def test_terraforms_parser_agrees_with_ours(tmp_path: Path) -> None:
    folder = tool("infrastructure-js/node_modules").parent.absolute()
    for name, (workload, design, options) in cases().items():
        files = render_terraform(workload, design, options)
        (tmp_path / f"{name}.tf").write_text("\n".join(files.values()), encoding="utf-8")
    script = folder / "parse.mjs"
    script.write_text(
        'import { readFileSync } from "node:fs";\n'
        'import { parse } from "@cdktf/hcl2json";\n'
        'const found = {};\nfor (const path of process.argv.slice(2)) found[path] = await parse(path, readFileSync(path, "utf-8"));\n'
        "console.log(JSON.stringify(found));\n",
        encoding="utf-8",
    )
    found = json.loads(run("node", script, *sorted(tmp_path.glob("*.tf")), where=folder))
    assert len(found) == len(cases())
    for path, parsed in found.items():
        ours = read(Path(path).read_text(encoding="utf-8"))
        assert {f"resource.{kind}.{name}" for kind, named_ in parsed["resource"].items() for name in named_} | {
            f"output.{name}" for name in parsed["output"]
        } == {key for key in ours if key.startswith(("resource.", "output."))}
        (theirs,) = parsed["resource"]["aws_dynamodb_table"]["table"]
        (table,) = ours["resource.aws_dynamodb_table.table"]
        assert _plain(table) == _plain(theirs)


def test_terraform_is_formatted_as_by_terraform_fmt(tmp_path: Path) -> None:
    terraform = shutil.which("terraform") or shutil.which("tofu")
    if terraform is None:
        pytest.skip("neither terraform nor tofu is installed, and no registry that CI reaches has them")
    for name, (workload, design, options) in cases().items():
        for path, text in render_terraform(workload, design, options).items():
            file = tmp_path / name / path.name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    assert run(terraform, "fmt", "-check", "-diff", "-recursive", where=tmp_path) == ""


def _compiled(folder: Path, *arguments: str | Path) -> None:
    options = ["--strict", "--noUnusedLocals", "--skipLibCheck", "--target", "es2022", "--module", "commonjs"]
    run("node", "node_modules/typescript/bin/tsc", *options, *arguments, where=folder)


def _class(text: str, before: str, after: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(before)).removeprefix(before).partition(after)[0]


def _kinds(resources: dict[str, Any]) -> Iterator[str]:
    yield from (one["Type"] for one in resources.values())


def _table(resources: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one for one in resources.values() if one["Type"] == "AWS::DynamoDB::Table")
    table: dict[str, Any] = _resolved(found, resources, name)
    properties: dict[str, Any] = {
        "kept": [table["DeletionPolicy"], table["UpdateReplacePolicy"]],
        **table["Properties"],
    }
    properties["AttributeDefinitions"].sort(key=lambda one: one["AttributeName"])
    # The account's key for DynamoDB is KMS's in any case, and to be provisioned is the default.
    properties.get("SSESpecification", {}).setdefault("SSEType", "KMS")
    properties.setdefault("BillingMode", "PROVISIONED")
    return properties


def _buckets(resources: dict[str, Any], table: str) -> list[Any]:
    found = [one for one in resources.values() if one["Type"] == "AWS::S3::Bucket"]
    for rule in (rule for one in found for rule in one["Properties"]["LifecycleConfiguration"]["Rules"]):
        rule.pop("Id", None)  # CDK gives rules none
    return [
        {name: part for name, part in _resolved(one, resources, table).items() if name != "Metadata"} for one in found
    ]


def _policies(resources: dict[str, Any], table: str) -> list[Any]:
    found = [one["Properties"] for one in resources.values() if one["Type"] == "AWS::IAM::ManagedPolicy"]
    policies = [_resolved(one, resources, table) for one in found]
    for one in policies:
        one.pop("Path", None)
        for statement in one["PolicyDocument"]["Statement"]:
            for member in ("Action", "Resource"):
                # CDK says one of a kind without a list.
                statement[member] = (
                    sorted(statement[member]) if isinstance(statement[member], list) else [statement[member]]
                )
    return sorted(policies, key=lambda one: str(one["Description"]))


def _resolved(part: Any, resources: dict[str, Any], table: str) -> Any:
    """A part of CDK's template, or of ours, with what its functions give."""
    match part:
        case {"Fn::GetAtt": [str(name), "Arn"]}:
            own = {"AWS::KMS::Key": "TableKey.Arn", "AWS::S3::Bucket": "Bucket.Arn"}
            return own.get(resources[name]["Type"]) or resolved({"Fn::GetAtt": "Table.Arn"}, table)
        case {"Fn::GetAtt": [str(), "StreamArn"]}:
            return "Table.StreamArn"
        case {"Fn::Join": [str(between), list(parts)]}:
            return between.join(_resolved(one, resources, table) for one in parts)
        case {"Ref": _} | {"Fn::GetAtt": _} | {"Fn::Sub": _}:
            return resolved(part, table)
        case dict():
            return {name: _resolved(value, resources, table) for name, value in part.items()}
        case list():
            return [_resolved(one, resources, table) for one in part]
    return part


def _plain(part: Any) -> Any:
    """Values of two parsers alike: expressions are told apart by one, and written `${…}` by the other, escapes too."""
    match part:
        case dict():
            return {name: _plain(value) for name, value in part.items()}
        case list():
            return [_plain(one) for one in part]
        case str():
            return part.replace("$${", "${").removeprefix("<").removesuffix(">").removeprefix("${").removesuffix("}")
    return part
