"""CDK in TypeScript: a construct with the table of a design and a managed policy for each role."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from prejoin.design.model import Design
from prejoin.workload.model import Workload

from .cdk import Do, Make, Name, Own, Props, Step, class_name, core_names, modules, steps, tagged_members
from .layout import Lines
from .options import Infrastructure
from .stack import NOTICE, Stack, split_words, stack_of
from .typescript import STEP, WIDTH, TypeScriptCall, TypeScriptRaw, call_lines, camel, string_literal

_MEMBER_NAMES = {"enforce_ssl": "enforceSSL"}


def render_cdk_typescript(
    workload: Workload, design: Design, options: Infrastructure | None = None
) -> Mapping[PurePosixPath, str]:
    """Renders a module with one construct, for a stack of yours."""
    stack = stack_of(workload, design, options or Infrastructure())
    name = split_words(class_name(stack), "-")
    return {PurePosixPath("cdk", f"{name}.ts"): _module(stack)}


def _module(stack: Stack) -> str:
    name = class_name(stack)
    members: list[str] = []
    body: Lines = []
    for step in steps(stack):
        if isinstance(step, Make):
            members.append(f"{STEP}readonly {camel(step.member)}: {_type(step)};")
        body += _step(step)
    for member in tagged_members(stack):
        for key, value in stack.tags.items():
            body.append(f"Tags.of(this.{member}).add({string_literal(key)}, {string_literal(value)});")
    about = "The table, and a managed policy for each role that uses it." if stack.every_policy else "The table."
    return "\n".join(
        (
            f"// {NOTICE}",
            f'import {{ {", ".join(core_names(stack))} }} from "aws-cdk-lib";',
            *(f'import * as {module} from "aws-cdk-lib/aws-{module}";' for module in modules(stack)),
            'import { Construct } from "constructs";',
            "",
            f"export interface {name}Props {{",
            f"{STEP}/** {string_literal(stack.table.name)} where it is not said. */",
            f"{STEP}readonly tableName?: string;",
            "}",
            "",
            f"/** {about} */",
            f"export class {name} extends Construct {{",
            *members,
            "",
            f"{STEP}constructor(scope: Construct, id: string, props: {name}Props = {{}}) {{",
            f"{STEP * 2}super(scope, id);",
            f"{STEP * 2}const tableName = props.tableName ?? {string_literal(stack.table.name)};",
            *(f"{STEP * 2}{line}" for line in body),
            f"{STEP}}}",
            "}",
            "",
        )
    )


def _type(step: Make) -> str:
    return "kms.IKey" if step.type == "kms.Key.from_key_arn" else step.type


def _step(step: Step) -> Lines:
    room = WIDTH - len(STEP * 2)
    if isinstance(step, Do):
        return _method_call(step, room)
    assignment = f"this.{camel(step.member)} = "
    if step.type == "kms.Key.from_key_arn":
        arn = string_literal(step.props["key_arn"])
        return [f"{assignment}kms.Key.fromKeyArn(this, {string_literal(step.id)}, {arn});"]
    return call_lines(f"{assignment}new {step.type}(this, {string_literal(step.id)}, ", _object(step.props), room=room)


def _method_call(step: Do, room: int) -> Lines:
    lead = "".join(f"{string_literal(argument)}, " for argument in step.arguments)
    opening = f"this.{camel(step.member)}.{camel(step.method)}({lead}"
    values = _object(step.props.values)
    if not step.next_props:
        return call_lines(opening, values, room=room)
    call = call_lines(opening, values, ")", room)
    (continuation,) = call_lines(f".{camel(step.next_method)}(", _object(step.next_props.values))
    if len(call) == 1 and len(call[0] + continuation) > room:
        call = call_lines(opening, values, ")", 0)
    return [*call[:-1], call[-1] + continuation]


def _object(values: Mapping[str, Any]) -> dict[str, Any]:
    return {_MEMBER_NAMES.get(name) or camel(name): _value(value) for name, value in values.items()}


def _value(value: Any) -> Any:
    """A value in TypeScript."""
    match value:
        case Name():
            return TypeScriptRaw(_path(value.text))
        case Own():
            path = f"this.{_path(value.path)}{'!' if value.value else ''}"
            middle = f"/${{{camel(value.middle)}}}" if value.middle else ""
            return TypeScriptRaw(f"`${{{path}}}{middle}{value.suffix}`" if value.suffix else path)
        case Props(type="iam.PolicyStatement"):
            return TypeScriptCall(f"new {value.type}(", _object(value.values))
        case Props():
            return _object(value.values)
        case list():
            return list(map(_value, value))
    return value


def _path(text: str) -> str:
    """A dotted name of constants, types and variables, each in its own case."""
    return ".".join(part if part[0].isupper() else camel(part) for part in text.split("."))
