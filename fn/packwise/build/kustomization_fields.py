"""The fields of kustomizations and of kustomize's own plugins, and the shape of each.

kustomize ignores the case of a field's name, by the folding of Unicode: `Resources`, `reſources`. A fleet accepts only
the spelling here. kustomize then reads only the fields that packwise checked.

Source: kustomize v5.8.2 with api v0.21.2: types.Kustomization and its parts, internal/builtins, internal/target.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import Enum, auto

from krmfn.hints import TYPE_CHECKING
from packwise.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import TypeAlias


PLUGINS = ("transformers", "validators", "generators")
"""Lists of a kustomization with entries that configure plugins and functions."""

BUILTIN = "builtin"
"""The apiVersion of kustomize's own plugins."""

HELM_PLUGIN = "HelmChartInflationGenerator"


class LeafShape(Enum):
    """The shape of a single value. FILE, FOLDER, BASE, MERGE, DATA and PLUGIN can name files or folders."""

    TEXT = auto()
    FLAG = auto()
    NUMBER = auto()
    FILE = auto()
    FOLDER = auto()
    BASE = auto()
    """A file of objects, or the folder of a kustomization."""
    MERGE = auto()
    """A file with a patch, or an inline patch with several lines."""
    DATA = auto()
    """A file with bytes that become data, alone or after its key and "="."""
    PLUGIN = auto()
    """A file or folder with configurations of plugins, or an inline configuration with several lines."""
    HELM = auto()
    """A field that needs Helm, whatever its value is."""


@dataclass(frozen=True, slots=True)
class ListShape:
    """A list. Each item has the shape `of`."""

    of: Shape


@dataclass(frozen=True, slots=True)
class NamedShape:
    """A mapping with keys of the user's choice. Each value has the shape `of`."""

    of: Shape


@dataclass(frozen=True, slots=True)
class FieldsShape:
    """A mapping with these keys and no others."""

    by_name: Mapping[str, Shape]


Shape: TypeAlias = "LeafShape | ListShape | NamedShape | FieldsShape"

TEXT, FLAG, NUMBER, FILE = LeafShape.TEXT, LeafShape.FLAG, LeafShape.NUMBER, LeafShape.FILE
_TEXTS = ListShape(TEXT)
_BY_NAME = NamedShape(TEXT)


def _texts(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, TEXT)


_GVK = _texts("group", "version", "kind")
_ID = _GVK | _texts("name", "namespace")
_METADATA = FieldsShape({**_texts("name", "namespace"), "labels": _BY_NAME, "annotations": _BY_NAME})
_TYPE = _texts("apiVersion", "kind") | {"metadata": _METADATA}
_SELECTOR = FieldsShape(_ID | _texts("annotationSelector", "labelSelector"))
_FIELD_SPECS = ListShape(FieldsShape({**_GVK, "path": TEXT, "create": FLAG}))
_FIELD_OPTIONS = FieldsShape({**_texts("delimiter", "encoding"), "index": NUMBER, "create": FLAG})
_PATCH_OPTIONS = FieldsShape({"allowNameChange": FLAG, "allowKindChange": FLAG})
_PATCHES = ListShape(FieldsShape({"path": FILE, "patch": TEXT, "target": _SELECTOR, "options": _PATCH_OPTIONS}))
_TARGETS = ListShape(
    FieldsShape({"select": _SELECTOR, "reject": ListShape(_SELECTOR), "fieldPaths": _TEXTS, "options": _FIELD_OPTIONS})
)
_SOURCE = FieldsShape({**_ID, "fieldPath": TEXT, "options": _FIELD_OPTIONS})
_REPLACEMENTS = ListShape(FieldsShape({"path": FILE, "source": _SOURCE, "targets": _TARGETS, "sourceValue": TEXT}))
_GENERATOR_OPTIONS = FieldsShape(
    {"labels": _BY_NAME, "annotations": _BY_NAME, "disableNameSuffixHash": FLAG, "immutable": FLAG}
)
_MAKER: dict[str, Shape] = {
    **_texts("name", "namespace", "behavior"),
    "literals": _TEXTS,
    "files": ListShape(LeafShape.DATA),
    "envs": ListShape(LeafShape.DATA),
    "env": LeafShape.DATA,
    "options": _GENERATOR_OPTIONS,
}
_IMAGE = FieldsShape(_texts("name", "newName", "newTag", "tagSuffix", "digest"))
_REPLICA = FieldsShape({"name": TEXT, "count": NUMBER})
_LABELS = FieldsShape(
    {
        "pairs": _BY_NAME,
        "includeSelectors": FLAG,
        "includeTemplates": FLAG,
        "includeVolumeClaimTemplates": FLAG,
        "fields": _FIELD_SPECS,
    }
)
_VAR = FieldsShape(
    {
        "name": TEXT,
        "objref": FieldsShape({**_ID, "apiVersion": TEXT}),
        # kustomize's own documentation uses the second spelling.
        "fieldref": FieldsShape(_texts("fieldPath", "fieldpath")),
    }
)
_SORT = FieldsShape({"order": TEXT, "legacySortOptions": FieldsShape({"orderFirst": _TEXTS, "orderLast": _TEXTS})})

KUSTOMIZATION = FieldsShape(
    {
        **_TYPE,
        **_texts("namePrefix", "nameSuffix", "namespace"),
        "openapi": FieldsShape({"path": FILE, "version": TEXT}),
        "commonLabels": _BY_NAME,
        "labels": ListShape(_LABELS),
        "commonAnnotations": _BY_NAME,
        "patchesStrategicMerge": ListShape(LeafShape.MERGE),
        "patchesJson6902": _PATCHES,
        "patches": _PATCHES,
        "images": ListShape(_IMAGE),
        "imageTags": ListShape(_IMAGE),
        "replacements": _REPLACEMENTS,
        "replicas": ListShape(_REPLICA),
        "vars": ListShape(_VAR),
        "sortOptions": _SORT,
        "resources": ListShape(LeafShape.BASE),
        "components": ListShape(LeafShape.FOLDER),
        "crds": ListShape(FILE),
        "bases": ListShape(LeafShape.BASE),
        "configMapGenerator": ListShape(FieldsShape(_MAKER)),
        "secretGenerator": ListShape(FieldsShape({**_MAKER, "type": TEXT})),
        "generatorOptions": _GENERATOR_OPTIONS,
        "configurations": ListShape(FILE),
        **dict.fromkeys(PLUGINS, ListShape(LeafShape.PLUGIN)),
        "buildMetadata": _TEXTS,
        **dict.fromkeys(("helmGlobals", "helmCharts", "helmChartInflationGenerator"), LeafShape.HELM),
    }
)
"""The fields of a kustomization: every field of types.Kustomization."""

_TARGETS_OF_VALUES = ListShape(FieldsShape({"selector": _SELECTOR, "fieldPath": TEXT, "filePathPosition": NUMBER}))
_WITH_FIELDS = {"fieldSpecs": _FIELD_SPECS}
_OWN: dict[str, dict[str, Shape]] = {
    "AnnotationsTransformer": {"annotations": _BY_NAME, **_WITH_FIELDS},
    "ConfigMapGenerator": _MAKER,
    "HashTransformer": {},
    "IAMPolicyGenerator": {
        "cloud": TEXT,
        "kubernetesService": FieldsShape(_texts("name", "namespace")),
        "serviceAccount": FieldsShape(_texts("name", "projectId")),
    },
    "ImageTagTransformer": {"imageTag": _IMAGE, **_WITH_FIELDS},
    "LabelTransformer": {"labels": _BY_NAME, **_WITH_FIELDS},
    "NamespaceTransformer": {"unsetOnly": FLAG, "setRoleBindingSubjects": TEXT, **_WITH_FIELDS},
    "PatchJson6902Transformer": {"target": _SELECTOR, "path": FILE, "jsonOp": TEXT},
    "PatchStrategicMergeTransformer": {"paths": ListShape(LeafShape.MERGE), "patches": TEXT},
    "PatchTransformer": {"path": FILE, "patch": TEXT, "target": _SELECTOR, "options": _PATCH_OPTIONS},
    "PrefixSuffixTransformer": {**_texts("prefix", "suffix"), **_WITH_FIELDS},
    "PrefixTransformer": {"prefix": TEXT, **_WITH_FIELDS},
    "ReplacementTransformer": {"replacements": _REPLACEMENTS},
    "ReplicaCountTransformer": {"replica": _REPLICA, **_WITH_FIELDS},
    "SecretGenerator": {**_MAKER, "type": TEXT},
    "SuffixTransformer": {"suffix": TEXT, **_WITH_FIELDS},
    "ValueAddTransformer": {"value": TEXT, "targets": _TARGETS_OF_VALUES, "targetFilePath": FILE},
}
OF_PLUGINS = {kind: FieldsShape(_TYPE | fields) for kind, fields in _OWN.items()}
"""The fields in the configuration of each of kustomize's own plugins except Helm's, by kind."""


def suggest_name(name: str, known: Collection[str]) -> str:
    """Return `; did you mean "x"?` for the known name that differs only in case, else for the nearest one, or ""."""
    same = same_name(name, known)
    return did_you_mean(name, known) if same is None else f'; did you mean "{same}"?'


def same_name(name: str, known: Collection[str]) -> str | None:
    """Return the known name that kustomize matches with `name`, ignoring case, or None."""
    folded = _fold(name)
    return next((each for each in known if _fold(each) == folded), None)


def _fold(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


HELM_CHART = FieldsShape(
    {
        **_texts("name", "version", "repo", "releaseName", "namespace", "nameTemplate", "valuesMerge", "kubeVersion"),
        "valuesFile": FILE,
        "additionalValuesFiles": ListShape(FILE),
        **dict.fromkeys(("includeCRDs", "skipHooks", "skipTests", "debug", "devel"), FLAG),
        "apiVersions": _TEXTS,
    }
)
"""Fields of an entry of helmCharts, except `valuesInline`, which can hold any values."""

HELM_GLOBALS = FieldsShape(_texts("chartHome", "configHome"))
