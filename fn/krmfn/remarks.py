"""Comments with instructions for a function, and the lines that they refer to."""

from __future__ import annotations

from krmfn.hints import Record
from krmfn.kubeobject import KubeObject, Location, line_location
from krmfn.yamltext import YamlError
from krmfn.yamltext.places import placed_comments

__all__ = ["Remark", "remarks"]


class Remark(Record):
    """A comment that begins with the function's word. `text` is the comment without the word.

    `location` is the place of the comment. `about` is the line to which it applies, counted as in `location`. This is
    the line of the comment if the line has other content, otherwise the next line with content.
    """

    text: str
    location: Location
    about: int


def remarks(item: KubeObject, word: str) -> list[Remark]:
    """Return the comments `# WORD: TEXT` in the object's text as it was read.

    Return an empty list if the text is not YAML.
    """
    source, path = item.origin, item.path
    if f"{word}:" not in source.text:
        return []
    try:
        comments = placed_comments(source.text)
    except YamlError:
        return []
    file = path if path is not None and source.file is None else None
    following = _next_content_lines(source.text.split("\n"))
    spoken: list[Remark] = []
    line, at = 1, 0
    for offset, comment in comments:
        line, at = line + source.text.count("\n", at, offset), offset
        body = comment[1:].lstrip()
        if not body.startswith(f"{word}:"):
            continue
        start = source.text.rfind("\n", 0, offset) + 1
        is_alone = source.text[start:offset].strip(" \t-") == ""
        about = following[line - 1] if is_alone else line
        place = line_location(source, line, offset - start + 1, file)
        text = body.removeprefix(f"{word}:").strip()
        spoken.append(Remark(text, place, line_location(source, about, 1, file).line))
    return spoken


def _next_content_lines(lines: list[str]) -> list[int]:
    """Return for each line the 1-based number of the next line with content other than a comment.

    Return the number of the line itself if no such line follows.
    """
    following: list[int] = []
    after: int | None = None
    for number in range(len(lines), 0, -1):
        following.append(after or number)
        text = lines[number - 1].strip()
        if text and not text.startswith("#"):
            after = number
    following.reverse()
    return following
