"""The rules of style for packwise's English, and the sentences that break them. `make prose` prints these sentences.

Each sentence has its file and line, the rule, and a better way to write it.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from tests.places import ROOT

__all__ = [
    "RULES",
    "Breach",
    "Sentence",
    "breaches_in",
    "breaches_of",
    "sentences_of_code",
    "sentences_of_explanation",
    "sentences_of_messages",
    "sentences_of_page",
]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of style. `pattern` matches text that breaks it, and `better` is the advice."""

    name: str
    pattern: re.Pattern[str]
    better: str


def _begins(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{words})\b")


def _contains(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


RULES = (
    Rule(
        "beginning",
        _begins(
            "Where|What|Whether|Who|Whoever|Whose|Else|Of|Nothing|Nobody|Nowhere|That|Those|Such|Beside|Mind|The one"
        ),
        'Begin with the subject or with a verb. Put the condition after the statement, or begin with "If" or "When".',
    ),
    Rule("length", re.compile(r"(?:\S+\s+){25}\S"), "Write at most 25 words: one idea for each sentence."),
    Rule("where", re.compile(r'(?:\bnone|""|\bnothing) where\b', re.IGNORECASE), 'Write "or None" or "None if".'),
    Rule(
        "pronoun",
        _contains(r"those|whose|of which|that of|what (?:is|was|it|they|he|the|a|an|no|has|each|others?|packwise)"),
        "Name the thing again.",
    ),
    Rule("nobody", _contains("nobody|somebody|anybody|whoever"), "Write users, you, or the name of the component."),
    Rule("stands", _contains(r"stands?(?!-in| (?:for|alone|still|by|out))|stood"), "Write is, exists, or is set."),
    Rule("told", _contains("(?:is|are|was|were|be) (?:told|said)"), "Write is reported, is printed, or prints."),
    Rule("mend", _contains("mend(?:s|ed|ing)?"), "Write fix or fixed."),
    Rule("slip", _contains("slips?(?: of the pen)?"), "Write typo."),
    Rule("left out", _contains("left out|leaves? out|leaving out"), "Write skipped, excluded or ignored."),
    Rule("taken out", _contains("taken? (?:out|away)|takes (?:out|away)|taking (?:out|away)"), "Write removed."),
    Rule("as good as", _contains("as good as none|as often as needed|likewise"), "Write ignored, repeatable."),
    Rule("in the place of", _contains("in the place of|in its place"), "Write instead of, or replaces."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a file, at a 1-based line. Each piece of code in it is replaced by the word `code`."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Breach:
    """A sentence that breaks a rule."""

    rule: Rule
    sentence: Sentence

    def __str__(self) -> str:
        at = self.sentence
        return f'{at.file}:{at.line}: {self.rule.name}: "{at.text}"\n  {self.rule.better}'


_LOWER = "packwise|krmfn|kustomize|kubectl|kpt|kyaml|topograph|libyaml"
"""Names in lower case that can begin a sentence."""
_END = re.compile(rf"(?<=[.!?])\s+(?=[\"'`(*]*[A-Z0-9`\"'(]|(?:{_LOWER})\b)")
_CODE = re.compile(r"``[^`]*``|`[^`]*`")
_QUOTED = re.compile(r'"[^"]*"')
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def _plain(text: str) -> str:
    text = _LINK.sub(r"\1", _CODE.sub("code", text))
    return _QUOTED.sub('""', re.sub(r"\*+|(?<!\w)_|_(?!\w)", "", text))


def _sentences(file: str, lines: Iterable[tuple[int, str]]) -> Iterator[Sentence]:
    """Yield the sentences of one paragraph, given by its lines."""
    text, starts = "", list[tuple[int, int]]()
    for number, line in lines:
        starts.append((len(text), number))
        text += f"{line.strip()} "
    at = 0
    for part in _END.split(text):
        place = text.index(part, at) if part else at
        at = place + len(part)
        line = max(number for start, number in starts if start <= place) if starts else 0
        plain = " ".join(_plain(part).split())
        if len(plain.split()) >= 4 and not plain.startswith("Source:"):
            yield Sentence(file, line, plain)


_BULLET = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")


def _paragraphs(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yield paragraphs and list items, without code, headings, tables and comments."""
    paragraph: list[tuple[int, str]] = []
    fence = ""
    for number, line in lines:
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence or mark:
            fence = "" if mark and fence and mark[1].startswith(fence) else fence or (mark[1] if mark else "")
            text = ""
        else:
            text = re.sub(r"<!--.*?-->|\{\{.*?\}\}|<[^>]+>", "", line)
        is_other = bool(re.match(r"(?:\||#|!!!|\?\?\?|\[\^|:::|---| {4,}\S)", text)) and not _BULLET.match(text)
        if is_other or not text.strip() or _BULLET.match(text):
            yield paragraph
            paragraph = []
        if text.strip() and not is_other:
            paragraph.append((number, _BULLET.sub("", text, count=1) if _BULLET.match(text) else text))
    yield paragraph


def sentences_of_page(file: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a page in Markdown."""
    lines = list(enumerate(text.splitlines(), 1))
    if text.startswith("---\n") and "---" in text.splitlines()[1:]:
        lines = lines[text.splitlines().index("---", 1) + 1 :]
    for paragraph in _paragraphs(lines):
        yield from _sentences(file, paragraph)


def _documented(body: Iterable[ast.stmt]) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    """Yield the classes and functions of a body, at any depth."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node
        for inner in ("body", "orelse", "handlers", "finalbody"):
            yield from _documented(getattr(node, inner, ()))


def sentences_of_code(file: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences of the docstrings of modules, classes and functions."""
    tree = ast.parse(text)
    for node in (tree, *_documented(tree.body)):
        match node.body[:1]:
            case [ast.Expr(value=ast.Constant(value=str(doc)), lineno=start)]:
                for paragraph in _paragraphs(enumerate(inspect.cleandoc(doc).splitlines(), start)):
                    yield from _sentences(file, paragraph)
            case _:
                pass


def sentences_of_messages(file: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a module's other texts: messages, summaries and help. A value in a text reads as `code`.

    Texts of several lines are skipped: templates of files, and examples.
    """
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        match waiting.pop():
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.JoinedStr(values=values, lineno=line):
                message = "".join([str(each.value) if isinstance(each, ast.Constant) else "code" for each in values])
            case ast.Constant(value=str(message), lineno=line):
                pass
            case node:
                waiting += reversed(list(ast.iter_child_nodes(node)))
                continue
        if "\n" not in message and len(message.split()) >= 5:
            yield from _sentences(file, [(line, message)])


def sentences_of_explanation(file: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a rule's explanation: why it matters, and how to fix it. Its examples are code."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    lines = list(enumerate(text.splitlines(), 1))
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        start, end = value.start_mark.line, value.end_mark.line
        if key.value in ("why", "fix"):
            yield from _sentences(file, lines[start + 1 : end] if value.style else [(start + 1, value.value)])


def breaches_of(sentence: Sentence) -> Iterator[Breach]:
    """Yield a breach for each rule that the sentence breaks."""
    for rule in RULES:
        if (rule.pattern.match if rule.name == "beginning" else rule.pattern.search)(sentence.text):
            yield Breach(rule, sentence)


PARTS = {
    "docstrings": "fn/**/*.py",
    "messages": "fn/**/*.py",
    "explanations": "fn/**/explanations/*.yaml",
    "supplychain": "supplychain/*.py",
    "supplychain messages": "supplychain/*.py",
    "how-to": "docs/how-to/*.md",
    "tutorials": "docs/tutorial*.md",
    "explanation": "docs/explanation/*.md",
    "reference": "docs/reference/*.md",
    "decisions": "docs/decisions/*.md",
    "spec": "docs/spec/*.md",
    "docs": "docs/*.md",
    "top": "*.md",
    "krmfn": "fn/*/README.md",
}
"""The parts of the repository, each with its files."""

_OTHERS = {"CHANGELOG.md", "docs/reference/rules.md", "docs/reference/commands.md"}
"""Pages that are not checked: a list of changes, and pages that are made from texts of the code."""


@cache
def _files() -> dict[str, list[Path]]:
    """Return the files of each part. A page belongs to the first part that has it."""
    seen = {ROOT / name for name in _OTHERS}
    files: dict[str, list[Path]] = {}
    for part, glob in PARTS.items():
        files[part] = sorted(path for path in ROOT.glob(glob) if path not in seen)
        if part not in _READERS:
            seen.update(files[part])
    return files


_READERS = {
    "docstrings": sentences_of_code,
    "messages": sentences_of_messages,
    "explanations": sentences_of_explanation,
    "supplychain": sentences_of_code,
    "supplychain messages": sentences_of_messages,
}
"""The functions that read a part other than a page."""


def breaches_in(part: str) -> list[Breach]:
    """Return all breaches in a part, in order of their files and lines."""
    found: list[Breach] = []
    for path in _files()[part]:
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        sentences = _READERS.get(part, sentences_of_page)(name, text)
        found += [breach for sentence in sentences for breach in breaches_of(sentence)]
    return found


def main(parts: Iterable[str]) -> int:
    """Print the sentences that break a rule, and their numbers by rule."""
    for part in parts:
        found = breaches_in(part)
        counts = Counter(breach.rule.name for breach in found)
        sys.stdout.write("".join([f"{breach}\n" for breach in found]) + f"{part}: {dict(counts)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or PARTS))
