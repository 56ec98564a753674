"""The findings of a check in each format that is asked for: on stdout, and in files."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from krmfn.hints import TYPE_CHECKING
from packwise.cli.console import cannot_write, encoded, naming, say, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from packwise.cli.arguments import Output
    from packwise.cli.findings_text import Checked

__all__ = ["print_all", "write_text"]


def print_all(outputs: Iterable[Output], checked: Checked) -> bool:
    """Writes each output; False where one cannot be written, which stderr says. The others are written anyway."""
    written = [_print(output, checked) for output in outputs]
    return all(written)


def write_text(name: str, text: str) -> bool:
    """Whether the file `name` now holds `text`; it holds what it held where not, which stderr says."""
    # Most runs print, and write no file.
    from packwise.cli.write import replace_file

    path = Path(name)
    try:
        with naming(path):
            if path.exists() and not path.is_file():
                # A pipe, or a terminal: nothing can take its place.
                path.write_bytes(encoded(text))
            else:
                replace_file(path, encoded(text))
    except OSError as error:
        say([cannot_write(error)])
        return False
    return True


def _print(output: Output, checked: Checked) -> bool:
    # No other format pays for the imports of those for programs.
    module = import_module(f"packwise.cli.{'findings_text' if output.format == 'text' else 'findings_formats'}")
    print_checked: Callable[[Checked], str] = getattr(module, f"as_{output.format}")
    text = print_checked(checked)
    return show(text) if output.file is None else write_text(output.file, text)
