"""Argo CD, Flux and pipelines that run packwise, or apply what it rendered. Source: spec/gitops.md.

They are told by what their files say, wherever these stand: an Application that names the plugin, a Flux Kustomization
of a folder that `packwise render --layout gitops` writes, and commands, hooks or components called packwise.
"""

from __future__ import annotations

import posixpath
import re

from krmfn.hints import TYPE_CHECKING
from packwise.commands.doctor.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.value import Value

__all__ = ["PIPELINE_FILES", "PIPELINE_FOLDER", "delivery_clients", "pipeline_clients"]

PIPELINE_FILES = (".gitlab-ci.yml", ".pre-commit-config.yaml")
"""Names of files at the top of a repository by which pipelines run packwise."""
PIPELINE_FOLDER = ".github/workflows"

_COMMAND = re.compile(r"(?:^|[\s'\"/;&|(])(packwise\s+(?:check|comment|diff|fleet|place|render|report)\b[^\n]*)")
_PLUGIN = "packwise"
_FOLDERS = ("topologies", "workloads")
"""Folders that a render for GitOps tools writes."""


def delivery_clients(documents: Mapping[str, tuple[Mapping[str, Value], ...]]) -> list[Client]:
    """Argo CD and Flux, one for each file whose objects leave a folder to packwise."""
    clients: list[Client] = []
    for path, values in documents.items():
        command = f"kubectl apply -f {path}"
        if any(_is_of(value, "argoproj.io") and _names_plugin(value) for value in values):
            clients.append(Client("argocd", path, "plugin", command))
        if any(_is_of(value, "kustomize.toolkit.fluxcd.io") and _applies_render(value) for value in values):
            clients.append(Client("flux", path, "deployer", command))
    return clients


def pipeline_clients(pipelines: Mapping[str, Value]) -> list[Client]:
    """The pipelines and hooks of these files that run packwise, each with the first command that does."""
    clients: list[Client] = []
    for path, value in pipelines.items():
        name, commands = _pipeline(path, value)
        clients += [Client(name, path, "check", command) for command in list(commands)[:1]]
    return clients


def _pipeline(path: str, value: Value) -> tuple[str, Iterator[str]]:
    name = posixpath.basename(path)
    if name == ".pre-commit-config.yaml":
        hooks = [text for key, text in _texts(value) if key == "id" and text.startswith("packwise")]
        return "pre-commit", iter([f"pre-commit run {hook} --all-files" for hook in hooks])
    return ("gitlab" if name == ".gitlab-ci.yml" else "github"), _commands(value)


def _commands(value: Value) -> Iterator[str]:
    for key, text in _texts(value):
        match = _COMMAND.search(text)
        if match is not None:
            yield match[1].strip()
        elif key in ("uses", "component") and _names_packwise(text):
            yield text


def _names_packwise(address: str) -> bool:
    """Whether an action or a component is packwise's: `OWNER/packwise@COMMIT`, `HOST/GROUP/packwise/check@main`."""
    return any("packwise" in part.split("/")[1:] for part in address.split("@")[:-1])


def _texts(value: Value, key: str = "") -> Iterator[tuple[str, str]]:
    """Each text in a value, with the key that it stands below."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _texts(each, str(name))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, key)


def _is_of(value: Mapping[str, Value], group: str) -> bool:
    return str(value.get("apiVersion")).partition("/")[0] == group


def _names_plugin(value: Value) -> bool:
    """Whether a source, also of an ApplicationSet's template, names packwise's plugin."""
    if isinstance(value, dict):
        plugin = value.get("plugin")
        name = plugin.get("name") if isinstance(plugin, dict) else None
        # Of an older plugin, the version stands in the name.
        if isinstance(name, str) and re.fullmatch(rf"{_PLUGIN}(-.*)?", name):
            return True
        return any(_names_plugin(each) for each in value.values())
    return isinstance(value, list) and any(_names_plugin(each) for each in value)


def _applies_render(value: Mapping[str, Value]) -> bool:
    spec = value.get("spec")
    path = spec.get("path") if isinstance(spec, dict) else None
    return isinstance(path, str) and posixpath.basename(path.rstrip("/")) in _FOLDERS
