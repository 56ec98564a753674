"""Labels and annotations that nobody reads as they stand: misspelt, in the wrong place, or of no value that counts.

Whoever reads them takes any others in silence.
"""

from __future__ import annotations

from functools import lru_cache

from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.findings.finding import Finding, Rule, Severity
from packwise.frontends.known_keys import GRAPH, KEYS, PARTS
from packwise.objects.identity import is_placeholder
from packwise.wording import letters_apart, list_known, near_miss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krmfn.fieldpath import FieldPath
    from krmfn.kubeobject import KubeObject
    from krmfn.value import Value
    from packwise.frontends.known_keys import Key, Part
    from packwise.objects.index import Index
    from packwise.revisions import Revision

__all__ = ["RULES", "key_findings", "where"]

_SPELLING = Rule(
    "key-spelling", "A label or annotation has the key that is read.", "spec/podgrouper.md#10", Severity.WARNING
)
_PLACE = Rule("key-place", "A label or annotation stands where it is read.", "spec/podgrouper.md#2", Severity.WARNING)
_VALUE = Rule("key-value", "A label or annotation has a value that counts.", "spec/dynamo.md#2.4", Severity.WARNING)
_REFUSED = Rule("key-refused", "A label or annotation has a value that the webhook takes.", "spec/dynamo.md#2.4")
RULES = (_SPELLING, _PLACE, _VALUE, _REFUSED)
"""Rules of keys."""

_FORMS = {"labels": "a label", "annotations": "an annotation"}
_LONGEST = 100
"""Characters of a key beyond which nobody meant a known one."""

_NAMES: dict[str, list[str]] = {}
for _key in KEYS:
    _NAMES.setdefault(_key.rpartition("/")[0], []).append(_key.rpartition("/")[2])

_OWN = ("grove.io", "scheduling.grove.io", "kai.scheduler", "runai", "run.ai")
"""Domains whose keys only these projects make: the name of another one's key there is a mix-up."""
_DOMAINS = tuple(dict.fromkeys([domain for domain in (*_NAMES, *_OWN) if domain]))
_SHORT_DOMAIN = 6
_SHORT_NAME = 8
"""Letters of a name in which only one may be wrong."""

_OF_USERS = {key.name.rpartition("/")[2]: key.name for key in KEYS.values() if not (key.is_written or key.successor)}
"""The keys that users write, by what stands behind their domain."""

_MOVED = ("grove.io/", "scheduling.grove.io/")
"""Annotations of a graph that begin so, `dynamo-annotation-lost` reports."""


def key_findings(index: Index, revision: Revision | None) -> Iterator[Finding]:
    """The keys of users' objects that nobody reads; of releases nothing is said where the `revision` is None."""
    for part in PARTS:
        for item in index.by_kind.get(part.kind, ()):
            for path, holder in _holders(item.value, part.path, ()):
                for form in _FORMS:
                    keys = holder.get(form)
                    if isinstance(keys, dict) and keys:
                        yield from _of_keys(item, _Place(part, (*path, form), form, holder), keys, revision)


class _Place(NamedTuple):
    """The labels or annotations at `path`, and the mapping that has them."""

    part: Part
    path: FieldPath
    form: str
    holder: Mapping[str, Value]

    def has_beside(self, form: str, key: str) -> bool:
        """Whether the same part has a label, or an annotation, of that key."""
        keys = self.holder.get(form)
        return isinstance(keys, dict) and bool(keys.get(key))


def _holders(value: Value, steps: tuple[str, ...], path: FieldPath) -> Iterator[tuple[FieldPath, dict[str, Value]]]:
    """The mappings at the end of `steps`, each with its path; what has another shape, other rules report."""
    if not steps:
        if isinstance(value, dict):
            yield path, value
        return
    step, rest = steps[0], steps[1:]
    if step != "*":
        if isinstance(value, dict) and step in value:
            yield from _holders(value[step], rest, (*path, step))
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, entry in entries:
        yield from _holders(entry, rest, (*path, name))


def _of_keys(
    item: KubeObject, place: _Place, keys: Mapping[str, Value], revision: Revision | None
) -> Iterator[Finding]:
    for name, value in keys.items():
        key, at = KEYS.get(name), (*place.path, name)
        if key is None:
            right = "" if len(name) > _LONGEST or is_placeholder(name) else _nearest(name)
            if right:
                message = f'is a key that nobody is known to read; did you mean "{right}"?'
                yield Finding.of(_SPELLING, item, at, message, at_key=True)
            continue
        misplaced = _misplaced(key, place, revision)
        if misplaced:
            yield Finding.of(_PLACE, item, at, misplaced, at_key=True)
        elif isinstance(value, str):
            wrong = _wrong_value(key, value)
            if wrong:
                is_refused = key.is_refused and place.part == GRAPH
                yield Finding.of(_REFUSED if is_refused else _VALUE, item, at, wrong)


def _misplaced(key: Key, place: _Place, revision: Revision | None) -> str:
    """Why a key is not read where it stands; "" where it is."""
    if key.is_written or place.part.takes_any:
        return ""
    if key.successor:
        is_for_both = any(place.has_beside(form, key.successor) for form in _FORMS)
        return "" if is_for_both else f"is read by {key.reader} alone; later ones read {key.successor}"
    if place.part not in _parts(key, place.form):
        return _moved(key, place)
    return "" if revision is None else _of_other_releases(key, place, revision)


def _of_other_releases(key: Key, place: _Place, revision: Revision) -> str:
    """Which releases read a key that this one does not read; "" where it does."""
    only = key.annotation_releases if place.form == "annotations" else None
    if only is not None and not only.read(revision) and not place.has_beside("labels", key.name):
        return f"must be a label: as an annotation it is read by {only.words}, and this is {revision.name}"
    releases = key.releases
    if releases is None or releases.read(revision):
        return ""
    why = f": {releases.otherwise}" if releases.otherwise else ""
    return f"is read by {releases.words}, and this is {revision.name}{why}"


def _moved(key: Key, place: _Place) -> str:
    """Where a key is read that is not read at this place; "" where another rule says so."""
    if place.part == GRAPH and place.form == "annotations" and key.name.startswith(_MOVED):
        return ""
    if place.part in key.instead:
        return f"is not read here: {key.instead[place.part]}"
    other = next(form for form in _FORMS if form != place.form)
    if place.part in _parts(key, other):
        here = _FORMS[place.form].partition(" ")[2]
        return f"must be {_FORMS[other]}: {key.reader} reads no {here} of that name here"
    return f"is not read here: {key.reader} reads it as {where(key, place.part.kind)}"


def where(key: Key, kind: tuple[str, str] | None = None) -> str:
    """Where a key is read, in words; of the parts of one `kind` alone, where it has any."""
    places: list[str] = []
    for form, title in _FORMS.items():
        parts = _parts(key, form)
        own = [part for part in parts if part.kind == kind] or parts
        if own:
            titles = dict.fromkeys([part.title for part in own])
            places.append(f"{title} of {', '.join(titles)}")
    return " or ".join(places) or key.elsewhere


def _parts(key: Key, form: str) -> tuple[Part, ...]:
    return key.labels if form == "labels" else key.annotations


def _wrong_value(key: Key, value: str) -> str:
    """What is wrong with a value; "" where it counts, or is still to be filled in."""
    taken = value.casefold() if key.any_case else value
    if not key.values or taken in key.values or is_placeholder(value):
        return ""
    known = [each for each in key.values if each]
    return f'must be one of {list_known(known)}; got "{value}"{near_miss(value, known)}: {key.otherwise}'


@lru_cache(maxsize=1024)
def _nearest(key: str) -> str:
    """The known key of which this one is a slip away; "" for the keys of others."""
    domain, slash, name = key.rpartition("/")
    if slash and domain not in _DOMAINS:
        near = [each for each in _DOMAINS if len(each) > _SHORT_DOMAIN and letters_apart(domain.casefold(), each) < 2]
        if not near:
            return ""
        domain = near[0]
    names = _NAMES.get(domain, [])
    apart = [(letters_apart(name.casefold(), each.casefold()), each) for each in names]
    best, right = min(apart, default=(3, ""))
    if best <= (2 if len(right) > _SHORT_NAME else 1):
        return _current(f"{domain}/{right}" if domain else right)
    is_telling = domain in _OWN or "-" in name
    return _OF_USERS.get(name, "") if is_telling else ""


def _current(name: str) -> str:
    return KEYS[name].successor or name
