"""KRM functions in Python. A function reads a ResourceList, writes one, and preserves every byte that it does not
change.

`import krmfn` takes almost no time, because each name below loads its module at first use. Import `run` from its module
(`from krmfn.run import run`), and test support from `krmfn.testing`.
"""

from __future__ import annotations

# The module krmfn.hints defines this name too. It is not imported here, because it takes time.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from krmfn.config import ConfigError, load_config
    from krmfn.fieldpath import FieldError, FieldPath, format_path, parse_path
    from krmfn.fields import Fields
    from krmfn.kubeobject import KubeObject, Location, ObjectId, Source
    from krmfn.resourcelist import ResourceList, ResourceListError
    from krmfn.result import (
        ResourceRef,
        Result,
        ResultField,
        ResultFile,
        Severity,
        exit_code,
        sort_results,
    )
    from krmfn.selector import Selector
    from krmfn.value import Scalar, Value
    from krmfn.yamltext import YamlError

__all__ = [
    "ConfigError",
    "FieldError",
    "FieldPath",
    "Fields",
    "KubeObject",
    "Location",
    "ObjectId",
    "ResourceList",
    "ResourceListError",
    "ResourceRef",
    "Result",
    "ResultField",
    "ResultFile",
    "Scalar",
    "Selector",
    "Severity",
    "Source",
    "Value",
    "YamlError",
    "exit_code",
    "format_path",
    "load_config",
    "parse_path",
    "sort_results",
]

NO_MEMORY = "error: not enough memory for an input of this size; split it, or raise the limit"
"""The message if the system has no memory left. It is defined here, because `--help` and `--version` import no other
module of krmfn.
"""

_MODULES = {
    "config": ("ConfigError", "load_config"),
    "fieldpath": ("FieldError", "FieldPath", "format_path", "parse_path"),
    "fields": ("Fields",),
    "kubeobject": ("KubeObject", "Location", "ObjectId", "Source"),
    "resourcelist": ("ResourceList", "ResourceListError"),
    "result": ("ResourceRef", "Result", "ResultField", "ResultFile", "Severity", "exit_code", "sort_results"),
    "selector": ("Selector",),
    "value": ("Scalar", "Value"),
    "yamltext": ("YamlError",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            from importlib import import_module

            value = getattr(import_module(f"krmfn.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f'module "krmfn" has no attribute "{name}"')


def __dir__() -> list[str]:
    return sorted(__all__)
