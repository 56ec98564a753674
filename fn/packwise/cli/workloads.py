"""The PodCliqueSets in files that were left unread, for whoever renders them."""

from __future__ import annotations

from krmfn.errors import FieldError
from krmfn.hints import TYPE_CHECKING
from krmfn.record import NamedTuple
from packwise.cli.read import decode
from packwise.cli.reader import error_result
from packwise.cli.surroundings import is_broken_configuration
from packwise.objects.identity import identity, is_generated
from packwise.objects.kinds import POD_CLIQUE_SET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from krmfn.kubeobject import KubeObject
    from krmfn.result import Result
    from packwise.cli.document import InputFile
    from packwise.cli.input_paths import InputPath
    from packwise.cli.unread import Unread

__all__ = ["Workloads", "workloads_of"]


class Workloads(NamedTuple):
    """The files with the PodCliqueSets in them, and what cannot be read; of `lost` files nothing can be."""

    files: tuple[InputFile, ...]
    items: tuple[KubeObject, ...]
    results: tuple[Result, ...]
    lost: tuple[InputPath, ...]


def workloads_of(unread: Iterable[Unread]) -> Workloads | None:
    """What the files hold; None where one holds other objects."""
    files: list[InputFile] = []
    items: list[KubeObject] = []
    results: list[Result] = []
    lost: list[InputPath] = []
    for path, data in unread:
        number = len(items)
        try:
            file = decode(data, path)
        except FieldError as error:
            results.append(error_result(error))
            lost.append(path)
            continue
        if file.left_out is not None or file.is_list or file.foreign:
            return None
        files.append(file)
        for item in file.items:
            try:
                value = item.value
            except FieldError as error:
                if is_broken_configuration(file):
                    return None
                results.append(error_result(error))
                continue
            if item.source.entry or identity(value)[:2] != POD_CLIQUE_SET.key or is_generated(value):
                return None
            items.append(item)
        if len(items) == number:
            lost.append(path)
    return Workloads(tuple(files), tuple(items), tuple(results), tuple(lost))
