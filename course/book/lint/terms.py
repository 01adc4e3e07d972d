"""The words of the course are the field's: what book/terms.yml replaces occurs nowhere.

    term_findings(ROOT, load_terms(ROOT / "book" / "terms.yml"))

Read are, for each revised chapter, its pages, quiz and flashcards, the statements of its exercises
and the messages of its checks; and outside the chapters the other pages, README.md,
CONTRIBUTING.md, the glossary's definitions and the help texts of `course`. A finding names file,
line, the word and the better one. Deleting a term is no way out: each term of a revised chapter
must occur on the chapter's pages.

Code and formulas are not read. In the text that the patterns see, each of their characters is a ¤,
so that lines keep their numbers.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from course.book.terms import OUTSIDE, Term, Terms

FILLER = "¤"
FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(\{?[\w:-]*\}?)")
CODE_DIRECTIVES = {
    "{code-cell}",
    "{literalinclude}",
    "{code-block}",
    "{code}",
    "{math}",
    "{bibliography}",
}
NOT_PROSE = re.compile(
    r"\$\$(?:(?!\n\s*\n).)*?\$\$|(?<![\\$])\$(?!\s)[^$\n]+(?:\n[^$\n]+)?\$"  # formulas
    r"|\{(?!term\}|abbr\}|mark\})[\w:]+\}`[^`]*`"  # roles whose text is a key or computed
    r"|(?<![}\w`])(`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)\1(?!`)"  # code
    r"|\]\([^)\s]*\)|<[^>\s][^>]*>|https?://\S+"  # targets of links, tags
    r"|^%.*?$|^:[\w-]+:|^\([\w-]+\)=$",  # comments, names of options, labels
    re.S | re.M,
)
SHOWN_ARGUMENTS = {"caption", "alt", "task", "title"}
HELP_NAMES = {"SUMMARY", "EPILOG", "HELP", "DESCRIPTION"}
HELP_ARGUMENTS = {"help", "epilog", "description"}
JOINT = re.compile(r"""["']\s*\n\s*[rbfRBF]{0,2}["']""")  # between the parts of one string


@dataclass(frozen=True)
class Prose:
    """The words of one file, line by line as they stand there; everything else is filled."""

    name: str
    chapter: int
    text: str


def term_findings(root: Path, terms: Terms) -> list[str]:
    """What the revised chapters and the texts outside the chapters say against book/terms.yml."""
    found = [
        finding for prose in outside(root) for finding in forbidden_words(prose, terms)
    ] + definition_findings(terms)
    for chapter in terms.revised_chapters:
        found += chapter_findings(root, terms, chapter)
    return found


def chapter_findings(root: Path, terms: Terms, chapter: int) -> list[str]:
    """The forbidden words of one chapter, and its terms that its pages do not use."""
    parts = list(of_chapter(root, chapter))
    pages = [prose for prose in parts if prose.name.endswith(".md")]
    return [finding for prose in parts for finding in forbidden_words(prose, terms)] + [
        f"book/terms.yml: {term.term}: the pages of chapter {chapter} never use it;"
        f" write it on book/{term.page}.md, or give the entry the chapter that does"
        for term in terms.terms
        if term.chapter == chapter and not occurs(term, pages)
    ]


def forbidden_words(prose: Prose, terms: Terms) -> list[str]:
    """One sentence for each word that the text should not use, with file, line and better word."""
    return [f"{prose.name}:{line}: {advice}" for line, advice in _forbidden(prose, terms)]


def definition_findings(terms: Terms) -> list[str]:
    """The forbidden words in the definitions of the glossary, each by its own chapter's senses."""
    return [
        f"book/terms.yml: {term.term}: {advice}"
        for term in terms.terms
        for _, advice in _forbidden(Prose("", term.chapter, markdown(term.definition)), terms)
    ]


def _forbidden(prose: Prose, terms: Terms) -> list[tuple[int, str]]:
    """The line of each forbidden word with the word and the better one, in the text's order."""
    found = []
    for replaced in terms.replaced:
        if prose.chapter not in replaced.chapters:
            continue
        for match in replaced.pattern.finditer(prose.text):
            line = prose.text.count("\n", 0, match.start()) + 1
            words = " ".join(match[0].split())
            sense = "" if words.lower() == replaced.word.lower() else f" ({replaced.word})"
            found.append((line, f"{words!r}{sense}: write {replaced.write!r}"))
    return sorted(found)


def occurs(term: Term, pages: Iterable[Prose]) -> bool:
    """Whether a term, one of its aliases, or a part of a pair such as *a, b*, is on the pages."""
    names = [re.sub(r"\s*\(.*\)$", "", term.term), *term.term.split(", "), *term.aliases]
    words = "|".join(_flexible(name) for name in names)
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.I)
    return any(pattern.search(page.text) for page in pages)


def _flexible(name: str) -> str:
    """A pattern of a name: with hyphens or spaces between its words, in the singular or plural."""
    name = re.escape(name).replace(r"\ ", r"[\s-]+")
    return f"{name[:-1]}(?:y|ies)" if name.endswith("y") else f"{name}(?:s|es)?"


def of_chapter(root: Path, chapter: int) -> Iterator[Prose]:
    """The texts of a chapter: pages, questions, statements, messages of checks."""
    for folder in sorted(root.glob(f"book/{chapter:02d}-*")):
        for path in sorted(folder.glob("*.md")):
            yield _prose(root, path, chapter, markdown)
        for path in sorted(folder.glob("questions.yml")):
            yield _prose(root, path, chapter, questions)
    for path in sorted(root.glob(f"solutions/{chapter:02d}-*.py")):
        yield _prose(root, path, chapter, statements)
    for path in sorted(root.glob(f"autograder/chapters/c{chapter:02d}_*/*.py")):
        yield _prose(root, path, chapter, messages)


def outside(root: Path) -> Iterator[Prose]:
    """The texts that belong to no chapter."""
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("book/*.md"))]
    for path in pages:
        yield _prose(root, path, OUTSIDE, markdown)
    yield _prose(root, root / "book" / "what-you-need.yml", OUTSIDE, questions)
    for path in sorted([*root.glob("course/commands/*.py"), *root.glob("course/*.py")]):
        yield _prose(root, path, OUTSIDE, help_texts)


def _prose(root: Path, path: Path, chapter: int, words_of) -> Prose:
    text = words_of(path.read_text(encoding="utf-8"))
    return Prose(path.relative_to(root).as_posix(), chapter, text)


def filled(text: str) -> str:
    """The text with a ¤ for each character but line breaks."""
    return re.sub(r"[^\n]", FILLER, text)


def markdown(text: str) -> str:
    """The prose of a page; of its code cells, the captions, texts and claims that it shows."""
    lines = text.split("\n")
    kept, at, open_fences = [], 0, []
    if lines[0] == "---":
        at = lines.index("---", 1) + 1
        kept = [filled(line) for line in lines[:at]]
    while at < len(lines):
        line, fence = lines[at], FENCE.match(lines[at])
        at += 1
        if open_fences and line.strip() == open_fences[-1]:
            open_fences.pop()
            kept.append(filled(line))
        elif not fence:
            kept.append(line)
        elif fence[2].startswith("{") and fence[2] not in CODE_DIRECTIVES:
            open_fences.append(fence[1])
            named = fence[2] == "{predict}"  # what follows is a name
            kept.append(filled(line) if named else filled(fence[0]) + line[fence.end() :])
        else:
            end = at
            while end < len(lines) and lines[end].strip() != fence[1]:
                end += 1
            inner = "\n".join(lines[at:end])
            code = _shown_strings(inner) if fence[2] == "{code-cell}" else filled(inner)
            kept += [
                filled(line),
                *code.split("\n")[: end - at],
                *map(filled, lines[end : end + 1]),
            ]
            at = end + 1
    return _without_code("\n".join(kept))


def _without_code(text: str) -> str:
    return NOT_PROSE.sub(lambda found: filled(found[0]), text)


def _shown_strings(source: str) -> str:
    """A code cell with only its captions, texts of figures and claims left."""
    code = "\n".join(
        "pass" if re.match(r"\s*[%!:]|---$", line) else line for line in source.split("\n")
    )
    tree = ast.parse(code)
    nodes = [
        keyword.value
        for keyword in ast.walk(tree)
        if isinstance(keyword, ast.keyword) and keyword.arg in SHOWN_ARGUMENTS
    ]
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", None) == "claim":
            nodes += call.args[:1]
    return _only(source, nodes)


def questions(text: str) -> str:
    """The words of a questions.yml, without ids."""
    return _without_code(
        re.sub(
            r"^\s*(?:- )?(?:id|page|draw|answer):.*$",
            lambda found: filled(found[0]),
            text,
            flags=re.M,
        )
    )


def statements(text: str) -> str:
    """The Markdown cells of a notebook in the percent format."""
    kept, inside = [], False
    for line in text.split("\n"):
        if line.startswith("# %%"):
            inside = line.startswith("# %% [markdown]")
            line = filled(line)
        kept.append("  " + line[2:] if inside and line.startswith("#") else filled(line))
    return _without_code("\n".join(kept))


def messages(text: str) -> str:
    """The strings of a chapter's checks that a student may read: those with a space, and stages."""
    tree = ast.parse(text)
    stages = {
        call.args[0]
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "stage" and call.args
    }
    strings = [
        node
        for node in _strings(tree, without=_docstrings(tree))
        if node in stages or " " in _value(node) and "\n" not in _value(node)
    ]
    return _without_code(_only(text, strings))


def help_texts(text: str) -> str:
    """The summaries, epilogs and help of options in a module of the command line."""
    tree, shown = ast.parse(text), []
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in HELP_NAMES
        if is_text or isinstance(node, ast.keyword) and node.arg in HELP_ARGUMENTS:
            shown.append(node.value)
    return _without_code(_only(text, [one for node in shown for one in _strings(node, without=())]))


def _docstrings(tree: ast.AST) -> set[ast.AST]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _strings(tree: ast.AST, without: Iterable[ast.AST]) -> list[ast.AST]:
    """String constants and f-strings below a node, each once."""
    left_out, found = set(without), []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out.update(node.values)
    for node in ast.walk(tree):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if (text or isinstance(node, ast.JoinedStr)) and node not in left_out:
            found.append(node)
    return found


def _value(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        parts = (part.value for part in node.values if isinstance(part, ast.Constant))
        return "".join(str(part) for part in parts)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _only(source: str, nodes: Iterable[ast.AST]) -> str:
    """The source with everything filled but these expressions; what f-strings compute as well."""
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    kept = list(filled(source))
    for node in nodes:
        first = starts[node.lineno - 1] + _column(source, starts, node.lineno, node.col_offset)
        last = starts[node.end_lineno - 1] + _column(
            source, starts, node.end_lineno, node.end_col_offset
        )
        piece = source[first:last]
        if any(isinstance(one, ast.JoinedStr) for one in ast.walk(node)):
            piece = re.sub(r"\{[^{}]*\}", lambda found: filled(found[0]), piece)
        kept[first:last] = JOINT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), piece)
    return "".join(kept)


def _column(source: str, starts: list[int], line: int, offset: int) -> int:
    """The column of an offset that ast counts in bytes."""
    text = source[starts[line - 1] : starts[line] - 1]
    return len(text.encode()[:offset].decode())
