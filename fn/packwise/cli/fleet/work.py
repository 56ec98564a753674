"""The work on one package, by each verb of a fleet: a request that holds all it needs becomes an answer."""

from __future__ import annotations

import json
from hashlib import sha256

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.result import Result, ResultFile, Severity, exit_code, sort_results
from packwise.account import one_account
from packwise.cli.arguments import UsageError
from packwise.cli.coverage import coverage_of, files_covered
from packwise.cli.document import InputFile
from packwise.cli.fleet.crds import crds_of
from packwise.cli.fleet.messages import Answer, lost, payload_of
from packwise.cli.fleet.side import located, package_of, read_side
from packwise.cli.folder import plan_folder
from packwise.cli.groups import Checkup, Group
from packwise.cli.inputs import Inputs
from packwise.cli.judgement import judge
from packwise.cli.reader import error_result
from packwise.cli.rendered_files import Outcome, outcome_of, rendered_of
from packwise.cli.surroundings import traits_of
from packwise.cli.values import assigned
from packwise.commands.diff import Action, diff, state_after, state_before
from packwise.commands.fleet.packages import Client
from packwise.commands.fleet.result import FIT, PackageResult, Status, kept_findings
from packwise.objects.kinds import GANGS
from packwise.pipeline import render
from packwise.render import LOCAL_CONFIG
from packwise.select import Package

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.kubeobject import KubeObject
    from packwise.cli.coverage import Coverage
    from packwise.cli.fleet.messages import Request, Side
    from packwise.cli.fleet.side import SideRead
    from packwise.cli.folder import FolderPlan
    from packwise.commands.diff import Change, State
    from packwise.commands.place.placing import GangAnswer
    from packwise.pipeline import Rendered

__all__ = ["work"]


def work(request: Request) -> Answer:
    """The answer to a request. What fails is an answer too: one package never stops a fleet."""
    try:
        # Its answer depends on no other package.
        with one_account():
            return _answer(request)
    except MemoryError:
        raise
    except Exception as error:  # A defect of packwise.
        reason = f"packwise fails on it ({type(error).__name__}: {error}); please report that"
        return Answer(request.key, payload_of(lost(request.folder, request.client, reason)), is_kept=False)


def _answer(request: Request) -> Answer:
    after, before = _read(request.after, request), _read(request.before, request)
    blank = PackageResult(request.folder, request.client, Status.PASSING)
    plan: FolderPlan | None = None
    if after is not None and exit_code(after.results) and not (request.verb == "check" and after.files):
        result = _judged(blank, after.results, after)
    elif request.verb == "diff":
        result = _compared(blank, before, after, request)
    elif after is None:
        result = blank._replace(status=Status.REMOVED)
    elif request.verb == "render":
        result, plan = _rendered(blank, after, before)
    elif request.verb == "place":
        result = _placed(blank, after, before, request)
    else:
        result = _checked(blank, after, before)
    is_kept = (after is None or after.is_kept) and (before is None or before.is_kept)
    return Answer(request.key, payload_of(result, plan if request.writes else None), is_kept)


def _read(side: Side | None, request: Request) -> SideRead | None:
    if side is None:
        return None
    read = read_side(side, request.kustomize)
    return read._replace(crds=crds_of(request.crds), values=assigned(request.values))


def _checked(blank: PackageResult, after: SideRead, before: SideRead | None) -> PackageResult:
    package = package_of(after, before)
    names = [str(item.file) for item in (package.function_config, *package.context) if item is not None]
    names += [str(file.path.name) for file in after.files if traits_of(file).configures]
    judgement = judge(Checkup((Group(package, tuple(names)),), after.files, after.results, after.files, after.left_out))
    result = _judged(blank, judgement.results, after)._replace(objects=len(package.items))
    return _covered(result, judgement.coverage)


def _rendered(
    blank: PackageResult, after: SideRead, before: SideRead | None
) -> tuple[PackageResult, FolderPlan | None]:
    """The result of a render, and what is to be written; nothing is where there are errors."""
    package = package_of(after, before, apart=False)
    rendered = rendered_of(Inputs(after.files, package, after.results, after.files), writes=True)
    coverage = coverage_of(after, rendered)
    if exit_code(rendered.results):
        return _covered(_judged(blank, rendered.results, after), coverage), None
    if after.validates:
        rendered = rendered._replace(kept=package.items, generated=())
    try:
        outcome = outcome_of(after.files, rendered)
        if after.side.client is Client.KUSTOMIZE:
            files = tuple(_as_built(file) for file in outcome.files)
            outcome = Outcome(files, (), tuple(item for item in outcome.new if not _is_local(item)))
        plan = plan_folder(outcome, split=bool(rendered.gitops))
    except FieldError as error:
        return _judged(blank, [*rendered.results, error_result(error)], after), None
    texts = {path: content.decode() for path, content in plan.contents.items()}
    result = _judged(blank, [*rendered.results, *plan.results], after)._replace(
        objects=len(rendered.items), digest=sha256(json.dumps(texts).encode()).hexdigest()
    )
    return _covered(result, coverage), None if exit_code(plan.results) else plan


def _as_built(file: InputFile) -> InputFile:
    """The file without what kustomize leaves out of a build."""
    kept = [document for document in file.documents if document.item is None or not _is_local(document.item)]
    return InputFile(file.path, tuple(kept))


def _is_local(item: KubeObject) -> bool:
    return item.annotations.get(LOCAL_CONFIG) == "true"


def _compared(blank: PackageResult, before: SideRead | None, after: SideRead | None, request: Request) -> PackageResult:
    """What changes for the scheduler; a side that is not there is empty."""
    old, new = (Package(()) if side is None else package_of(side, None) for side in (before, after))
    unreadable = [] if before is None else [result for result in before.results if result.severity is Severity.ERROR]
    state = state_after(new, old)
    difference = diff(state_before(old), state)
    findings = list(difference.refusals)
    if unreadable or (not difference.compared and not findings):
        cause = (*unreadable, *difference.unreadable)
        text = cause[0].line_of_text() if cause else "it has no objects"
        message = f"cannot be compared: the state before has errors: {text}"
        findings.append(Result(message, file=ResultFile(request.folder), tags={"rule": FIT.name}))
    status = Status.CHANGED if difference.changes else Status.UNCHANGED
    if before is None or after is None:
        status = Status.ADDED if before is None else Status.REMOVED
    counted = _judged(blank._replace(status=status), findings, after or before)
    if after is not None:
        counted = counted._replace(passed_over=files_covered(after.files, after.left_out).reasons)
    result = _with_changes(counted, difference.changes, _objects(state))._replace(dropped=len(difference.dropped))
    if request.nodes is None or after is None or result.status is Status.FAILING:
        return result
    return _with_places(result, after, before, request.nodes, judges=False)


def _objects(state: State) -> int:
    return len(state.objects or {})


_GANGS = tuple(kind.name for kind in GANGS)


def _with_changes(result: PackageResult, changes: Iterable[Change], objects: int) -> PackageResult:
    listed = list(changes)
    kinds = [str(change.subject.value.get("kind")) for change in listed]
    # A gang that is written for two schedulers is one.
    gang = next((name for name in _GANGS if name in kinds), None)
    recreated = [change for change in listed if change.action is Action.RECREATE]
    gangs = [change.action for change, kind in zip(listed, kinds, strict=True) if kind == gang]
    others = [kind for kind in kinds if kind not in _GANGS]
    return result._replace(
        recreated=tuple(change.subject.name for change in recreated),
        gangs_created=gangs.count(Action.CREATE),
        gangs_deleted=gangs.count(Action.DELETE),
        gangs_changed=gangs.count(Action.CHANGE),
        other_changes=len(others) - len(recreated),
        objects=objects,
    )


def _placed(blank: PackageResult, after: SideRead, before: SideRead | None, request: Request) -> PackageResult:
    if request.nodes is None:
        return _checked(blank, after, before)
    return _with_places(blank, after, before, request.nodes, judges=True)


def _with_places(
    result: PackageResult, after: SideRead, before: SideRead | None, nodes: tuple[str, bytes], *, judges: bool
) -> PackageResult:
    """The result with the gangs that do not fit on the nodes, and those that did before.

    With `judges`, the findings of the render are those of the result.
    """
    from packwise.schedulers.kai.gang_jobs import TooManyPodsError

    try:
        rendered, gangs = _places(package_of(after, None), nodes)
        if exit_code(rendered.results):
            return _judged(result, rendered.results, after)
        fitted: set[str] = set()
        if before is not None and not exit_code(before.results):
            _, earlier = _places(package_of(before, None), nodes)
            fitted = {name for name, gang in earlier.items() if gang.fits}
    except (UsageError, TooManyPodsError) as error:
        return _judged(result, [Result(str(error), file=ResultFile(nodes[0]), tags={"rule": FIT.name})], after)
    pending = tuple(name for name, gang in gangs.items() if not gang.fits)
    counted = _judged(result, rendered.results, after) if judges else result
    return _covered(counted, coverage_of(after, rendered))._replace(
        placed=True,
        gangs=len(gangs),
        pending=pending,
        no_longer_fits=tuple(name for name in pending if name in fitted),
        noted=tuple(name for name, gang in gangs.items() if gang.notes),
    )


def _places(package: Package, nodes: tuple[str, bytes]) -> tuple[Rendered, dict[str, GangAnswer]]:
    """The render on the nodes, and what becomes of each gang by its name. Raises UsageError, TooManyPodsError."""
    from packwise.cli.cluster_files import objects_in, read_cluster
    from packwise.commands.place.placing import place_gangs, situation

    name, data = nodes
    objects = tuple(objects_in(data, name))
    snapshot = read_cluster([name], objects)
    rendered = render(package._replace(nodes=objects))
    if exit_code(rendered.results):
        return rendered, {}
    placing = place_gangs(situation(rendered, snapshot))
    jobs = [(gang.gang.job, gang) for gang in placing.gangs]
    return rendered, {f"{job.namespace}/{job.name}": gang for job, gang in jobs}


def _covered(result: PackageResult, coverage: Coverage) -> PackageResult:
    """The result with what was judged; a package in which nothing was is not a passing one."""
    is_idle = result.status is Status.PASSING and not coverage.number
    return result._replace(
        status=Status.IDLE if is_idle else result.status,
        workloads=coverage.number,
        passed_over=coverage.reasons,
    )


def _judged(result: PackageResult, results: Iterable[Result], read: SideRead | None) -> PackageResult:
    """The result with its findings; an error makes it a failing one."""
    listed = sort_results([located(each, read) for each in results])
    errors, warnings, kept = kept_findings(listed)
    status = Status.FAILING if errors else result.status
    return result._replace(status=status, errors=errors, warnings=warnings, findings=kept)
