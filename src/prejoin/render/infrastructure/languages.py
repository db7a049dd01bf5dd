"""The languages of infrastructure, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from prejoin.design.model import Design
from prejoin.workload.model import Workload

from .cdk_python import render_cdk_python
from .cdk_typescript import render_cdk_typescript
from .cloudformation import render_cloudformation
from .options import Infrastructure
from .sst import render_sst
from .terraform import render_terraform

Rendering = Callable[[Workload, Design, Infrastructure], Mapping[PurePosixPath, str]]

LANGUAGES: Mapping[str, Rendering] = {
    "cloudformation": render_cloudformation,
    "terraform": render_terraform,
    "cdk-python": render_cdk_python,
    "cdk-typescript": render_cdk_typescript,
    "sst": render_sst,
}
"""SAM uses CloudFormation's template, OpenTofu uses Terraform's module."""
