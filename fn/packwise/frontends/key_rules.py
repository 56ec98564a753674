"""Labels and annotations that nobody reads as they stand: misspelt, in the wrong place, or of no value that counts.

Whoever reads them takes any others in silence.
"""

from __future__ import annotations

from functools import lru_cache, partial

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from krmfn.result import Severity
from packwise.findings.finding import Finding, Problem, Rule
from packwise.frontends.known_keys import GRAPH, KEYS, PARTS
from packwise.frontends.workloads.recognition import has_candidates
from packwise.objects.identity import is_placeholder
from packwise.objects.kinds import POD
from packwise.settings.topologyrender import KAI_PROFILE
from packwise.wording import closest, letters_apart, list_known, near_miss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.frontends.known_keys import Key, Part
    from packwise.objects.index import Index
    from packwise.revisions.revision import Revision

__all__ = [
    "FORMS",
    "RULES",
    "KeyPlace",
    "KeyTable",
    "findings_at",
    "holders",
    "is_read_at",
    "key_findings",
    "key_places",
    "key_problems",
    "parts_of",
    "pod_key_problems",
    "where",
]

_SPELLING = Rule(
    "key-spelling", "A label or annotation has the key that is read.", "spec/podgrouper.md#10", Severity.WARNING
)
_PLACE = Rule("key-place", "A label or annotation stands where it is read.", "spec/podgrouper.md#2", Severity.WARNING)
_VALUE = Rule("key-value", "A label or annotation has a value that counts.", "spec/dynamo.md#2.4", Severity.WARNING)
_REFUSED = Rule("key-refused", "A label or annotation has a value that the webhook takes.", "spec/dynamo.md#2.4")
RULES = (_SPELLING, _PLACE, _VALUE, _REFUSED)
"""Rules of keys."""

FORMS = {"labels": "a label", "annotations": "an annotation"}
"""The fields of metadata that have keys, and how messages call one of each."""

_LONGEST = 100
"""Characters of a key beyond which nobody meant a known one."""

_OWN = ("grove.io", "scheduling.grove.io", "kai.scheduler", "runai", "run.ai", "scheduling.run.ai")
"""Domains whose keys only these projects make: the name of another one's key there is a mix-up."""
_SHORT_DOMAIN = 6
_SHORT_NAME = 8
"""Letters of a name in which only one may be wrong, and with which a longer one may begin."""

_MOVED = ("grove.io/", "scheduling.grove.io/")
"""Annotations of a graph that begin so, `dynamo-annotation-lost` reports."""


class KeyTable:
    """The keys that are read of some kinds of objects, in `parts` of them, and the spelling of all of these keys.

    Of the domain `closed` there are no others.
    """

    __slots__ = ("_closed", "_domains", "_names", "_nearest", "_of_users", "keys", "parts")

    def __init__(self, keys: Mapping[str, Key], parts: tuple[Part, ...], closed: str = "") -> None:
        self.keys = keys
        self._closed = closed
        self.parts = parts
        self._names: dict[str, list[str]] = {}
        for key in keys:
            self._names.setdefault(key.rpartition("/")[0], []).append(key.rpartition("/")[2])
        self._domains = tuple(dict.fromkeys([domain for domain in (*self._names, *_OWN) if domain]))
        # The keys that users write, by what stands behind their domain.
        users = [key.name for key in keys.values() if not (key.is_written or key.successor)]
        self._of_users = {name.rpartition("/")[2]: name for name in users}
        self._nearest = lru_cache(maxsize=1024)(self._nearest_of)

    def nearest(self, key: str) -> str:
        """The known key of which this one is a slip away; "" for the keys of others."""
        return "" if len(key) > _LONGEST or is_placeholder(key) else self._nearest(key)

    def is_of_closed(self, key: str) -> bool:
        """True if the key is of the domain all of whose keys are known."""
        return bool(self._closed) and key.startswith(f"{self._closed}/") and not is_placeholder(key)

    def closest(self, key: str) -> str:
        """`; did you mean "x"?` for the name in the closed domain that looks most like this key's, or nothing."""
        names = [name for name, each in self._of_users.items() if each.startswith(f"{self._closed}/")]
        return closest(key.rpartition("/")[2], names)

    def _nearest_of(self, key: str) -> str:
        domain, slash, name = key.rpartition("/")
        if slash and domain not in self._domains:
            near = [
                each
                for each in self._domains
                if len(each) > _SHORT_DOMAIN and letters_apart(domain.casefold(), each) < 2
            ]
            if not near:
                return ""
            domain = near[0]
        names = self._names.get(domain, [])
        apart = [(letters_apart(name.casefold(), each.casefold()), each) for each in names]
        best, right = min(apart, default=(3, ""))
        if best <= (2 if len(right) > _SHORT_NAME else 1):
            known = f"{domain}/{right}" if domain else right
            return self.keys[known].successor or known
        is_telling = domain in _OWN or "-" in name
        whole = self._of_users.get(name, "") if is_telling else ""
        return whole or (self._begun(name) if domain in _OWN else "")

    def _begun(self, name: str) -> str:
        """The key of which the name is the beginning, or which it begins with; "" where there is none."""
        cut = [each for each in self._of_users if each.startswith(name) and len(name) >= _SHORT_NAME]
        longer = [each for each in self._of_users if name.startswith(f"{each}-")]
        best = min(cut, key=len, default=max(longer, key=len, default=""))
        return self._of_users.get(best, "")


_TABLE = KeyTable(KEYS, PARTS)


def key_findings(
    index: Index, revision: Revision | None, kai_version: str | None = None, kai_name: str = KAI_PROFILE
) -> Iterator[Finding]:
    """The keys of users' objects that nobody reads.

    Of releases of Grove nothing is said where the `revision` is None; the release of KAI is named by its version, and
    pods ask for KAI by the `kai_name`.
    """
    for part in PARTS:
        for item in index.by_kind.get(part.kind, ()):
            for place in key_places(item.value, part):
                yield from findings_at(item, place, _TABLE, partial(_of_other_releases, revision=revision))
    if has_candidates(index):
        # Few inputs have workloads that KAI groups itself.
        from packwise.frontends.workloads.keys import workload_key_findings

        yield from workload_key_findings(index, kai_version, kai_name)


def pod_key_problems(pod: Mapping[str, Value]) -> Iterator[tuple[Rule, Problem]]:
    """Problems of the keys of a pod that KAI schedules, whoever makes it."""
    # Few inputs have pods.
    from packwise.frontends.workloads.keys import WORKLOAD_KEYS

    for part in WORKLOAD_KEYS.parts:
        for place in key_places(pod, part) if part.kind == POD.key else ():
            yield from key_problems(place, WORKLOAD_KEYS, lambda _key, _place: "")


class KeyPlace(NamedTuple):
    """The labels or annotations at `path`, and the mapping that has them."""

    part: Part
    path: FieldPath
    form: str
    holder: Mapping[str, Value]

    @property
    def keys(self) -> Mapping[str, Value]:
        """The labels, or the annotations."""
        keys = self.holder[self.form]
        return keys if isinstance(keys, dict) else {}

    def has_beside(self, form: str, key: str) -> bool:
        """True if the same part has a label, or an annotation, of that key."""
        keys = self.holder.get(form)
        return isinstance(keys, dict) and bool(keys.get(key))


def key_places(value: Value, part: Part) -> Iterator[KeyPlace]:
    """The labels and annotations of a part of an object, where there are any."""
    for path, holder in holders(value, part.path):
        for form in FORMS:
            keys = holder.get(form)
            if isinstance(keys, dict) and keys:
                yield KeyPlace(part, (*path, form), form, holder)


def holders(value: Value, steps: tuple[str, ...], path: FieldPath = ()) -> Iterator[tuple[FieldPath, dict[str, Value]]]:
    """The mappings at the end of `steps`, each with its path; what has another shape, other rules report."""
    if not steps:
        if isinstance(value, dict):
            yield path, value
        return
    step, rest = steps[0], steps[1:]
    if step != "*":
        if isinstance(value, dict) and step in value:
            yield from holders(value[step], rest, (*path, step))
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, entry in entries:
        yield from holders(entry, rest, (*path, name))


def findings_at(
    item: KubeObject, place: KeyPlace, table: KeyTable, releases: Callable[[Key, KeyPlace], str]
) -> Iterator[Finding]:
    """Findings about the keys at a place of an object; `releases` says which others than this release read."""
    for rule, problem in key_problems(place, table, releases):
        yield Finding.about(problem, item, rule)


def key_problems(
    place: KeyPlace, table: KeyTable, releases: Callable[[Key, KeyPlace], str]
) -> Iterator[tuple[Rule, Problem]]:
    """Problems of the keys at a place, each with its rule."""
    for name, value in place.keys.items():
        key, at = table.keys.get(name), (*place.path, name)
        if key is None:
            right = table.nearest(name)
            if right or table.is_of_closed(name):
                near = f'; did you mean "{right}"?' if right else table.closest(name)
                yield _SPELLING, Problem(at, f"is a key that nobody is known to read{near}", at_key=True)
            continue
        misplaced = _misplacement(key, place) or ("" if is_written(key, place) else releases(key, place))
        if misplaced:
            yield _PLACE, Problem(at, misplaced, at_key=True)
        elif isinstance(value, str):
            wrong = _wrong_value(key, value)
            if wrong:
                is_refused = key.is_refused and place.part == GRAPH
                yield (_REFUSED if is_refused else _VALUE), Problem(at, wrong)


def is_written(key: Key, place: KeyPlace) -> bool:
    """True if nobody judges where the key stands."""
    return key.is_written or place.part.takes_any or bool(key.successor)


def _misplacement(key: Key, place: KeyPlace) -> str:
    """The reason why a key is not read where it stands; "" where it is."""
    if key.is_written or place.part.takes_any:
        return ""
    if key.successor:
        is_for_both = any(place.has_beside(form, key.successor) for form in FORMS)
        return "" if is_for_both else f"is read by {key.reader} alone; later ones read {key.successor}"
    return "" if is_read_at(key, place) else _other_place(key, place)


def is_read_at(key: Key, place: KeyPlace) -> bool:
    """True if the key is read at the place, as what it stands there."""
    others = key.only_beside.get(place.part)
    beside = others is None or any(place.has_beside(place.form, other) for other in others)
    return place.part in parts_of(key, place.form) and beside


def _of_other_releases(key: Key, place: KeyPlace, revision: Revision | None) -> str:
    """The releases that read a key which this one does not read; "" where it does, or where nobody names it."""
    if revision is None:
        return ""
    only = key.annotation_releases if place.form == "annotations" else None
    if only is not None and not only.read(revision) and not place.has_beside("labels", key.name):
        return f"must be a label: as an annotation it is read by {only.words}, and this is {revision.name}"
    releases = key.releases
    if releases is None or releases.read(revision):
        return ""
    why = f": {releases.otherwise}" if releases.otherwise else ""
    return f"is read by {releases.words}, and this is {revision.name}{why}"


def _other_place(key: Key, place: KeyPlace) -> str:
    """The place where a key is read that is not read at this one; "" where another rule says so."""
    if place.part == GRAPH and place.form == "annotations" and key.name.startswith(_MOVED):
        return ""
    if place.part in key.instead:
        return f"is not read here: {key.instead[place.part]}"
    other = next(form for form in FORMS if form != place.form)
    if place.part in parts_of(key, other):
        here = FORMS[place.form].partition(" ")[2]
        return f"must be {FORMS[other]}: {key.reader} reads no {here} of that name here"
    if place.part in key.only_beside:
        others = list_known(key.only_beside[place.part])
        return f"is read here beside one of {others} alone: {key.reader} reads it as {where(key, place.part.kind)}"
    return f"is not read here: {key.reader} reads it as {where(key, place.part.kind)}"


def where(key: Key, kind: tuple[str, str] | None = None) -> str:
    """Where a key is read, in words; of the parts of one `kind` alone, where it has any."""
    by_form = {form: parts_of(key, form) for form in FORMS}
    own = {form: tuple([part for part in parts if part.kind == kind]) for form, parts in by_form.items()}
    if not any(own.values()):
        if key.elsewhere:
            return key.elsewhere
        own = by_form
    places: list[str] = []
    for form, parts in own.items():
        if parts:
            titles = dict.fromkeys([part.title for part in parts])
            places.append(f"{FORMS[form]} of {', '.join(titles)}")
    return " or ".join(places)


def parts_of(key: Key, form: str) -> tuple[Part, ...]:
    """The parts in which a key is read as a label, or as an annotation."""
    return key.labels if form == "labels" else key.annotations


def _wrong_value(key: Key, value: str) -> str:
    """The problem of a value; "" where it counts, or is still to be filled in."""
    taken = value.casefold() if key.any_case else value
    if not key.values or taken in key.values or is_placeholder(value):
        return ""
    known = [each for each in key.values if each]
    return f'must be one of {list_known(known)}; got "{value}"{near_miss(value, known)}: {key.otherwise}'
