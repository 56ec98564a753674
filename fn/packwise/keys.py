"""Labels and annotations that no component reads: misspelt keys, wrong places and values without effect.

Components ignore such keys silently. Each row of a table states the reader, the place, the valid values and the
releases of a key. The rows here cover Grove, KAI and Dynamo. To cover another kind of workload, add its parts to
`PARTS` and to the keys that are read there. Other front ends and schedulers define rows of their own, which follow the
same rules. Source: spec/grove.md, spec/grove-releases.md, spec/podgrouper.md#2, spec/dynamo.md#2.4 and #3.9; Grove's
labels.go, KAI's constants.go, Dynamo's consts.go.
"""

from __future__ import annotations

from functools import lru_cache, partial

from krmfn.hints import TYPE_CHECKING, Record
from krmfn.result import Severity
from packwise.findings import Finding, Problem, Rule
from packwise.lenient import mapping
from packwise.objects.index import is_placeholder
from packwise.objects.kinds import DYNAMO_GRAPH, POD_CLIQUE_SET, PODGROUP, QUEUE
from packwise.wording import did_you_mean, letters_apart, list_known, near_miss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.objects.index import Index
    from packwise.revisions.grove import Revision

HOSTNAME = "kubernetes.io/hostname"
"""The node label with the name of the node. It is the narrowest level."""

KAI_QUEUE = "kai.scheduler/queue"
"""The label with the name of KAI's queue."""

_SPELLING = Rule(
    "key-spelling", "The key of a label or annotation is misspelt.", "spec/podgrouper.md#10", Severity.WARNING
)
PLACE = Rule(
    "key-place",
    "A label or annotation is set in a place where no component reads it.",
    "spec/podgrouper.md#2",
    Severity.WARNING,
)
_VALUE = Rule(
    "key-value", "A label or annotation has a value that has no effect.", "spec/dynamo.md#2.4", Severity.WARNING
)
_REFUSED = Rule(
    "key-refused", "A label or annotation of a graph has a value that Dynamo's webhook refuses.", "spec/dynamo.md#2.4"
)
RULES = (_SPELLING, PLACE, _VALUE, _REFUSED)
"""Rules of keys."""

FORMS = {"labels": "a label", "annotations": "an annotation"}
"""The fields of metadata with keys, and the noun for one key in messages."""

_LONGEST = 100
"""The largest number of characters of a key that is compared with known keys."""

_OWN = ("grove.io", "scheduling.grove.io", "kai.scheduler", "runai", "run.ai", "scheduling.run.ai")
"""Domains that only Grove and KAI use. A known name under the wrong one of these domains is a typo."""
_SHORT_DOMAIN = 6
_SHORT_NAME = 8
"""In a name of at most this many letters, only one letter may differ. A shorter name is not completed to a key."""


class Part(Record):
    """A part of the objects of one kind that has labels and annotations."""

    kind: tuple[str, str]
    path: tuple[str, ...]
    """The path of the part. The step `*` matches every entry of a list or a mapping."""

    title: str
    """The part's name in messages and pages."""

    takes_any: bool = False
    """True if other components copy keys to this part. Then no key is in a wrong place here."""

    has_webhook: bool = False
    """True if a webhook checks this part. It then refuses invalid values of keys that are `is_refused`."""

    reported_elsewhere: tuple[str, ...] = ()
    """Prefixes of annotations in this part that another rule reports."""


class Releases(Record):
    """The releases of Grove that read a key. `words` names them in the message "only … reads this key"."""

    words: str
    read: Callable[[Revision], bool]
    otherwise: str = ""
    """The behaviour of all other releases."""


class Key(Record):
    """A key of a label or an annotation. `labels` and `annotations` list the parts in which components read it."""

    name: str
    reader: str
    labels: tuple[Part, ...] = ()
    annotations: tuple[Part, ...] = ()
    values: tuple[str, ...] = ()
    """The values that have an effect. If there are none here, any value has an effect."""

    any_case: bool = False
    """True if components ignore upper and lower case in the value."""

    otherwise: str = ""
    """The effect of any other value."""

    is_refused: bool = False
    """True if a webhook refuses any other value. Not every part has a webhook."""

    releases: Releases | None = None
    """The releases of Grove that read the key, or None for all."""

    annotation_releases: Releases | None = None
    """The releases that read the key as an annotation. All others read only the label. None means all releases."""

    is_written: bool = False
    """True if an operator or KAI writes the key. Its place is then not checked."""

    elsewhere: str = ""
    """The places, in words, where components read the key in workloads that have no part in the table."""

    instead: Mapping[Part, str] = {}
    """For each part in which no component reads the key: advice that names the key to set there."""

    successor: str = ""
    """The key that replaces this one in every release in use."""

    inventions: tuple[str, ...] = ()
    """Keys that look like the reader's own but never existed. Users write them instead of this key."""

    since: int = 0
    """The first minor release of KAI that reads the key in workloads that KAI groups itself. 0 means all known
    releases.
    """

    since_of: Mapping[Part, int] = {}
    """Parts in which KAI reads the key only from a later release than `since`, each with this minor release."""

    only_beside: Mapping[Part, tuple[str, ...]] = {}
    """For some parts, other keys. KAI reads this key in such a part only if one of the others is set too."""


class KeyTable:
    """Known keys of some kinds of objects, the `parts` that hold keys, and the check of their spelling.

    The domain `closed` has only these keys. If `word` is set, a domain with `word` in its first label means the domain
    of the keys. A key without a domain is then not checked. `stem` is the beginning of names, which authors may omit.
    `rule` is the rule of all problems, or None for the usual rules.
    """

    __slots__ = (
        "_closed",
        "_domains",
        "_inventions",
        "_names",
        "_nearest",
        "_of_users",
        "_rule",
        "_stem",
        "_word",
        "keys",
        "parts",
    )

    def __init__(
        self,
        keys: Mapping[str, Key],
        parts: tuple[Part, ...],
        closed: str = "",
        *,
        word: str = "",
        stem: str = "",
        rule: Rule | None = None,
    ) -> None:
        self.keys = keys
        self._closed, self._word, self._stem, self._rule = closed, word, stem, rule
        self.parts = parts
        self._names: dict[str, list[str]] = {}
        for key in keys:
            self._names.setdefault(key.rpartition("/")[0], []).append(key.rpartition("/")[2])
        self._domains = tuple(dict.fromkeys([domain for domain in (*self._names, *_OWN) if domain]))
        # The keys that users write, by their names without the domain.
        users = [key.name for key in keys.values() if not (key.is_written or key.successor)]
        self._of_users = {name.rpartition("/")[2]: name for name in users}
        self._inventions = {name: key.name for key in keys.values() for name in key.inventions}
        self._nearest = lru_cache(maxsize=1024)(self._nearest_of)

    def nearest_key(self, key: str) -> str:
        """Return the known key that `key` misspells, or ""."""
        return "" if len(key) > _LONGEST else self._nearest(key)

    def is_of_closed(self, key: str) -> bool:
        """Return True if the key is in the domain that has only known keys. Return False for a placeholder."""
        return bool(self._closed) and key.startswith(f"{self._closed}/") and not is_placeholder(key)

    def did_you_mean(self, key: str) -> str:
        """Return `; did you mean "x"?` for the most similar name in the closed domain, or ""."""
        names = [name for name, each in self._of_users.items() if each.startswith(f"{self._closed}/")]
        return did_you_mean(key.rpartition("/")[2], names)

    def _nearest_of(self, key: str) -> str:
        if key in self._inventions or is_placeholder(key):
            return self._inventions.get(key, "")
        domain, slash, name = key.rpartition("/")
        if self._word and not slash:
            return ""
        if slash and domain not in self._domains:
            domain = self._near_domain(domain)
            if not domain:
                return ""
        names = self._names.get(domain, [])
        if self._stem and f"{self._stem}{name}" in names:
            return f"{domain}/{self._stem}{name}"
        apart = [(letters_apart(name.casefold(), each.casefold()), each) for each in names]
        best, right = min(apart, default=(3, ""))
        if best <= (2 if len(right) > _SHORT_NAME else 1):
            known = f"{domain}/{right}" if domain else right
            return self.keys[known].successor or known
        is_telling = domain in _OWN or "-" in name
        whole = self._of_users.get(name, "") if is_telling else ""
        return whole or (self._begun_key(name) if domain in _OWN or self._word else "")

    def _near_domain(self, domain: str) -> str:
        """Return the known domain that `domain` misspells, or ""."""
        if self._word and self._word in domain.partition(".")[0]:
            return next(iter(self._names))
        if self._closed and self._closed.partition(".")[0] in domain.replace("-", ".").split("."):
            # `kai.io`, `scheduling.kai.io`: no other project has a domain with that word.
            return self._closed
        near = [
            each for each in self._domains if len(each) > _SHORT_DOMAIN and letters_apart(domain.casefold(), each) < 2
        ]
        return near[0] if near else ""

    def rule_of(self, usual: Rule) -> Rule:
        """Return the rule of the table, or `usual` if it has none."""
        return self._rule or usual

    def _begun_key(self, name: str) -> str:
        """Return the known key with a name that `name` shortens or extends, or ""."""
        cut = [each for each in self._of_users if each.startswith(name) and len(name) >= _SHORT_NAME]
        longer = [each for each in self._of_users if name.startswith(f"{each}-")]
        best = min(cut, key=len, default=max(longer, key=len, default=""))
        return self._of_users.get(best, "")


class KeyPlace(Record):
    """The labels or annotations at `path`. They are the field `form` of the mapping `holder`."""

    part: Part
    path: FieldPath
    form: str
    holder: Mapping[str, Value]

    @property
    def keys(self) -> Mapping[str, Value]:
        """The labels, or the annotations."""
        keys = self.holder[self.form]
        return mapping(keys)

    def has_beside(self, form: str, key: str) -> bool:
        """Return True if the same part has a label or annotation with that key."""
        keys = self.holder.get(form)
        return isinstance(keys, dict) and bool(keys.get(key))


def key_places(value: Value, part: Part) -> Iterator[KeyPlace]:
    """Yield each place of labels or annotations in the part of the object `value`."""
    for path, holder in holders(value, part.path):
        for form in FORMS:
            keys = holder.get(form)
            if isinstance(keys, dict) and keys:
                yield KeyPlace(part, (*path, form), form, holder)


def holders(value: Value, steps: tuple[str, ...]) -> list[tuple[FieldPath, dict[str, Value]]]:
    """Return the mappings at the path `steps`, each with its own path.

    Other rules report values that are not mappings.
    """
    # The usual steps before the first "*" lead to one mapping.
    first = steps.index("*") if "*" in steps else len(steps)
    for step in steps[:first]:
        if not isinstance(value, dict) or step not in value:
            return []
        value = value[step]
    parts: list[tuple[FieldPath, Value]] = [(steps[:first], value)]
    for step in steps[first:]:
        if step == "*":
            parts = [((*path, name), entry) for path, part in parts for name, entry in _entries(part)]
        else:
            parts = [((*path, step), part[step]) for path, part in parts if isinstance(part, dict) and step in part]
    return [(path, part) for path, part in parts if isinstance(part, dict)]


def _entries(value: Value) -> Iterable[tuple[str | int, Value]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def findings_at(
    item: KubeObject, place: KeyPlace, table: KeyTable, releases: Callable[[Key, KeyPlace], str]
) -> Iterator[Finding]:
    """Yield findings about the keys at a place of an object. `releases` returns a message if only other releases read a
    key.
    """
    for rule, problem in key_problems(place, table, releases):
        yield Finding.of(rule, item, problem)


def key_problems(
    place: KeyPlace, table: KeyTable, releases: Callable[[Key, KeyPlace], str]
) -> Iterator[tuple[Rule, Problem]]:
    """Yield the problems of the keys at a place, each with its rule."""
    for name, value in place.keys.items():
        key = table.keys.get(name)
        if key is None:
            right = table.nearest_key(name)
            if right or table.is_of_closed(name):
                near = f'; did you mean "{right}"?' if right else table.did_you_mean(name)
                yield (
                    table.rule_of(_SPELLING),
                    Problem((*place.path, name), f"no known component reads this key{near}", at_key=True),
                )
            continue
        misplaced = _misplacement(key, place) or ("" if is_written(key, place) else releases(key, place))
        if misplaced:
            yield table.rule_of(PLACE), Problem((*place.path, name), misplaced, at_key=True)
        elif isinstance(value, str):
            wrong = _wrong_value(key, value)
            if wrong:
                is_refused = key.is_refused and place.part.has_webhook
                yield table.rule_of(_REFUSED if is_refused else _VALUE), Problem((*place.path, name), wrong)


def stray_key_problems(value: Value, part: Part, table: KeyTable) -> Iterator[tuple[Rule, Problem]]:
    """Yield problems of known keys that are indented one level too little, each with its rule. YAML accepts this
    indentation.
    """
    outer = part.path[:-1]
    if part.path[-1] != "metadata" or any((each.kind, each.path) == (part.kind, outer) for each in table.parts):
        return
    for path, holder in holders(value, part.path):
        for name in holder:
            if name in table.keys:
                form = "labels" if table.keys[name].labels else "annotations"
                message = f"no component reads this key here; indent it, so that it is in `{form}`"
                yield table.rule_of(PLACE), Problem((*path, name), message, at_key=True)
    for path, holder in holders(value, outer):
        for form in FORMS:
            for name in mapping(holder.get(form)):
                if name in table.keys:
                    message = f"no component reads `{form}` here; move it into `metadata`"
                    yield table.rule_of(PLACE), Problem((*path, form, name), message, at_key=True)


def is_written(key: Key, place: KeyPlace) -> bool:
    """Return True if the releases that read the key do not matter at the place."""
    return key.is_written or place.part.takes_any or bool(key.successor)


def _misplacement(key: Key, place: KeyPlace) -> str:
    """Return the message about a key that is not read at its place, or ""."""
    if key.is_written or place.part.takes_any:
        return ""
    if key.successor:
        is_for_both = any(place.has_beside(form, key.successor) for form in FORMS)
        return "" if is_for_both else f"only {key.reader} reads this key; later releases read {key.successor}"
    return "" if is_read_at(key, place) else _other_place(key, place)


def is_read_at(key: Key, place: KeyPlace) -> bool:
    """Return True if components read the key at the place, as a label or as an annotation."""
    others = key.only_beside.get(place.part)
    beside = others is None or any(place.has_beside(place.form, other) for other in others)
    return place.part in parts_of(key, place.form) and beside


def _other_place(key: Key, place: KeyPlace) -> str:
    """Return a message with the right place of a misplaced key. Return "" if another rule reports the key."""
    if place.form == "annotations" and key.name.startswith(place.part.reported_elsewhere):
        return ""
    if place.part in key.instead:
        return f"no component reads this key here: {key.instead[place.part]}"
    other = next(form for form in FORMS if form != place.form)
    if place.part in parts_of(key, other):
        return f"must be {FORMS[other]} here: {key.reader} does not read {FORMS[place.form]} of this name"
    if place.part in key.only_beside:
        others = list_known(key.only_beside[place.part])
        return (
            f"{key.reader} reads this key here only together with one of {others}; set it as "
            f"{describe_places(key, place.part.kind)}"
        )
    return f"{key.reader} does not read this key here; set it as {describe_places(key, place.part.kind)}"


def describe_places(key: Key, kind: tuple[str, str] | None = None) -> str:
    """Return words that name the places where a key is read. If some are parts of `kind`, only these are named."""
    by_form = {form: parts_of(key, form) for form in FORMS}
    own = {form: tuple(part for part in parts if part.kind == kind) for form, parts in by_form.items()}
    if not any(own.values()):
        if key.elsewhere:
            return key.elsewhere
        own = by_form
    places: list[str] = []
    for form, parts in own.items():
        if parts:
            titles = dict.fromkeys([part.title for part in parts])
            places.append(f"{FORMS[form]} of {', '.join(titles)}")
    return ", or ".join(places)


def parts_of(key: Key, form: str) -> tuple[Part, ...]:
    """Return the parts in which a key is read as a label or as an annotation."""
    return key.labels if form == "labels" else key.annotations


def _wrong_value(key: Key, value: str) -> str:
    """Return the message about an invalid value. Return "" if the value is valid or a placeholder."""
    taken = value.casefold() if key.any_case else value
    if not key.values or taken in key.values or is_placeholder(value):
        return ""
    known = [each for each in key.values if each]
    return f'must be one of {list_known(known)}; got "{value}". {key.otherwise}{near_miss(value, known)}'


# The rows of Grove, KAI and Dynamo.

_COMPONENT_TITLE = "components of a DynamoGraphDeployment"

_SET = Part(POD_CLIQUE_SET.key, ("metadata",), "a PodCliqueSet")
_CLIQUE = Part(POD_CLIQUE_SET.key, ("spec", "template", "cliques", "*"), "cliques")
_GROUP = Part(POD_CLIQUE_SET.key, ("spec", "template", "podCliqueScalingGroups", "*"), "scaling groups")
_MOVED = ("grove.io/", "scheduling.grove.io/")
"""Prefixes of a graph's annotations that the rule `dynamo-annotation-lost` reports."""

GRAPH = Part(DYNAMO_GRAPH.key, ("metadata",), "a DynamoGraphDeployment", has_webhook=True, reported_elsewhere=_MOVED)
"""The metadata of a graph. Dynamo's operator reads its own keys there."""
_GRAPH_SET = Part(DYNAMO_GRAPH.key, ("spec",), "the spec of a DynamoGraphDeployment")
_COMPONENT = Part(DYNAMO_GRAPH.key, ("spec", "components", "*", "podTemplate", "metadata"), _COMPONENT_TITLE)
_SERVICE = Part(DYNAMO_GRAPH.key, ("spec", "services", "*"), _COMPONENT_TITLE)
_SERVICE_POD = Part(DYNAMO_GRAPH.key, ("spec", "services", "*", "extraPodMetadata"), _COMPONENT_TITLE)
_QUEUE = Part(QUEUE.key, ("metadata",), "a Queue", takes_any=True)
_PODGROUP = Part(PODGROUP.key, ("metadata",), "a PodGroup", takes_any=True)

PARTS = (
    _SET, _CLIQUE, _GROUP, GRAPH, _GRAPH_SET, _COMPONENT, _SERVICE, _SERVICE_POD, _QUEUE, _PODGROUP,
)  # fmt: skip
"""All parts in which keys are checked."""

_SETS = (_SET, _GRAPH_SET)
"""The parts that become the metadata of a PodCliqueSet."""
_COMPONENTS = (_COMPONENT, _SERVICE, _SERVICE_POD)
_PODS = (_CLIQUE, *_COMPONENTS)
"""The parts that become the metadata of pods."""


_FROM_PODGROUPS = Releases("Grove since v0.1.0-alpha.12-rc2", lambda revision: revision.podgroups_by_operator)
_POD_GROUPER = Releases(
    "KAI's pod-grouper with Grove before v0.1.0-alpha.12-rc2",
    lambda revision: not revision.podgroups_by_operator,
    "Grove makes the PodGroups without it",
)
_AUTO = Releases(
    "Grove up to v0.1.0-alpha.8",
    lambda revision: revision.mnnvl_annotation is not None,
    "grove.io/mnnvl-group replaces it",
)
# MNNVL groups and scheduler backends came in the same release.
_GROUPS = Releases("Grove since v0.1.0-alpha.8", lambda revision: bool(revision.scheduler_backends))

_GROVE, _KAI, _GROUPER, _DYNAMO = "Grove's operator", "KAI", "KAI's pod-grouper", "Dynamo's operator"
_REFUSED_OF_GRAPHS = "Dynamo's webhook refuses other values in a graph"
_OF_A_GRAPH = {GRAPH: "in a DynamoGraphDeployment, set the annotation nvidia.com/kai-scheduler-queue"}

_ROWS = (
    Key(
        KAI_QUEUE, _KAI, labels=(*_SETS, *_PODS, _PODGROUP), annotations=(*_SETS, *_PODS),
        annotation_releases=_FROM_PODGROUPS, instead=_OF_A_GRAPH,
    ),
    Key("runai/queue", "KAI before v0.6", successor=KAI_QUEUE),
    Key("kai.scheduler/node-pool", _KAI, labels=(*_SETS, *_PODS, _QUEUE, _PODGROUP)),
    Key(
        "kai.scheduler/preemptibility", _GROUPER, labels=(*_SETS, *_PODS, GRAPH), releases=_POD_GROUPER,
        values=("preemptible", "non-preemptible", ""), otherwise="KAI ignores other values, or makes no PodGroup",
    ),
    Key("priorityClassName", _GROUPER, labels=(*_SETS, *_PODS, GRAPH), releases=_POD_GROUPER),
    Key("kai.scheduler/topology", _KAI, annotations=(*_SETS, GRAPH)),
    *[
        Key(f"kai.scheduler/{name}", _GROUPER, annotations=(*_SETS, GRAPH), releases=_POD_GROUPER)
        for name in ("topology-required-placement", "topology-preferred-placement")
    ],
    Key(
        "kai.scheduler/skip-podgrouper", _GROUPER, annotations=(*_SETS, *_PODS), values=("true", "false"),
        otherwise='KAI reads only "true"',
    ),
    Key("kai.scheduler/preemption-delay", _GROUPER, annotations=(*_SETS, *_PODS), releases=_POD_GROUPER),
    Key("kai.scheduler/staleness-grace-period", _GROUPER, annotations=(*_SETS, *_PODS), releases=_POD_GROUPER),
    Key("kai.scheduler/batch-min-member", _GROUPER, elsewhere="an annotation of Jobs and JobSets"),
    Key("kai.scheduler/segment-size", _GROUPER, elsewhere="an annotation of LeaderWorkerSets and PyTorchJobs"),
    *[
        Key(
            f"kai.scheduler/segment-topology-{strength}-placement", _GROUPER,
            elsewhere="an annotation of the pods of LeaderWorkerSets and PyTorchJobs",
        )
        for strength in ("required", "preferred")
    ],
    *[
        Key(name, _KAI, is_written=True)
        for name in (
            "kai.scheduler/subgroup-name", "kai.scheduler/top-owner-metadata", "kai.scheduler/stale-podgroup-timestamp",
            "kai.scheduler/last-start-timestamp", "kai.scheduler/task-priority", "kai.scheduler/accounting",
            "pod-group-name",
        )
    ],
    *[
        Key(name, _KAI, annotations=_PODS)
        for name in ("gpu-fraction", "gpu-fraction-num-devices", "gpu-fraction-container-name", "gpu-memory")
    ],
    Key("grove.io/auto-mnnvl", _GROVE, annotations=(*_SETS, *_PODS), releases=_AUTO),
    Key("grove.io/mnnvl-group", _GROVE, annotations=(*_SETS, *_PODS, _GROUP), releases=_GROUPS),
    Key("grove.io/disable-managed-resource-protection", _GROVE, annotations=_SETS),
    Key(
        "grove.io/topology-name", _GROVE, elsewhere="an annotation of PodGangs, set by Grove's operator",
    ),
    Key("scheduling.grove.io/volcano-queue", _GROVE, annotations=(*_SETS, *_PODS)),
    *[
        Key(f"grove.io/{name}", _GROVE, is_written=True)
        for name in (
            "podclique", "podgang", "base-podgang", "podcliqueset-replica-index", "podcliquescalinggroup",
            "podcliquescalinggroup-replica-index", "podcliquescalinggroup-pod-index", "podclique-pod-index",
            "pod-template-hash", "scheduler-name", "reconcile-trigger", "epoch", "podgang-role",
            "podcliqueset-generation-hash",
        )
    ],
    Key(
        "nvidia.com/enable-grove", _DYNAMO, annotations=(GRAPH,), values=("true", "false"), any_case=True,
        otherwise='only "false" opts out; with other values the operator makes a PodCliqueSet',
    ),
    *[
        Key(f"nvidia.com/{name}", _DYNAMO, annotations=(GRAPH,))
        for name in ("enable-disaggregatedset", "grove-update-strategy", "kai-scheduler-queue", "volcano-queue")
    ],
    Key(
        "nvidia.com/enable-metrics", _DYNAMO, annotations=(GRAPH, *_PODS), values=("true", "false"),
        otherwise='only "false" has an effect; with other values metrics stay enabled',
    ),
    Key(
        "nvidia.com/dynamo-discovery-backend", _DYNAMO, labels=_PODS, annotations=(GRAPH, *_PODS),
        values=("kubernetes", "etcd"), otherwise='only "kubernetes" enables discovery by Kubernetes',
    ),
    Key(
        "nvidia.com/dynamo-kube-discovery-mode", _DYNAMO, annotations=(GRAPH, *_PODS), values=("pod", "container"),
        otherwise=_REFUSED_OF_GRAPHS, is_refused=True,
    ),
    Key(
        "nvidia.com/vllm-distributed-executor-backend", _DYNAMO, annotations=(GRAPH, *_PODS), values=("mp", "ray"),
        any_case=True, otherwise=_REFUSED_OF_GRAPHS, is_refused=True,
    ),
    *[
        Key(f"nvidia.com/{name}", _DYNAMO, is_written=True)
        for name in (
            "workload-provider", "selector", "dynamo-graph-deployment-name", "dynamo-component", "dynamo-namespace",
            "dynamo-component-type", "dynamo-sub-component-type", "dynamo-component-class", "dynamo-component-pod",
            "dynamo-base-model", "dynamo-base-model-hash", "dynamo-discovery-enabled", "dynamo-worker-hash",
            "dynamo-operator-origin-version", "metrics-enabled", "disable-image-pull-secret-discovery", "restartAt",
            "current-worker-hash", "current-worker-hash-v2", "last-applied-hash", "last-applied-generation",
            "dgd-spec", "dgd-status", "topology-label-key", "topology-cluster-topology-name",
        )
    ],
)  # fmt: skip

KEYS: Mapping[str, Key] = {key.name: key for key in _ROWS}
"""Every key by its name."""


_TABLE = KeyTable(KEYS, PARTS)


def key_findings(index: Index, revision: Revision | None) -> Iterator[Finding]:
    """Yield findings about keys in users' objects that no component reads. If `revision` is None, ignore releases."""
    for part in PARTS:
        for item in index.by_kind.get(part.kind, ()):
            for place in key_places(item.value, part):
                yield from findings_at(item, place, _TABLE, partial(_other_releases, revision=revision))


def _other_releases(key: Key, place: KeyPlace, revision: Revision | None) -> str:
    """Return a message if only other releases read the key, else ""."""
    if revision is None:
        return ""
    only = key.annotation_releases if place.form == "annotations" else None
    if only is not None and not only.read(revision) and not place.has_beside("labels", key.name):
        return f"must be a label: only {only.words} reads the annotation, and this is {revision.name}"
    releases = key.releases
    if releases is None or releases.read(revision):
        return ""
    why = f": {releases.otherwise}" if releases.otherwise else ""
    return f"only {releases.words} reads this key, and this is {revision.name}{why}"
