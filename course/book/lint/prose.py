"""Every figure in the prose of a page has something behind it.

A sentence that names a number, a share, a comparison or a trend passes if one of these stands
behind it:

- a claim: `claim("...", condition)` in a cell of the page quotes it, or a part of it
  (`course.book.pages.claims`);
- a computed value: the sentence holds `{glue:text}` or `{counted}`;
- a source: the sentence cites;
- the page's own choice: the paragraph stands below a comment line `% given`, or `% given: WORDS`
  for the sentences with these words. Use it for what a worked case sets, for names and for
  definitions, never for what was found out.

The converse holds too: a claim that quotes nothing of its page is a finding, so the two cannot
drift apart.

Read are paragraphs, list items, admonitions, tables, the sentence that opens a lab, and the
captions and texts of figures in code cells. Not read: headings, code, quizzes, and pages whose
front matter says `prose: unchecked`.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NUMBERS = (
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty"
    " forty fifty sixty seventy eighty ninety hundred thousand million billion dozen"
).split()
NAMES = re.compile(
    r"WordSim-353|SimLex-999|GloVe"
    r" 6B|[Ww]ord2vec|word2serve|3Cos\w+|\bGPT-?[1-4]\b|\bUTF-8\b|\b[A-Z]\w*-\d\w*|"
    r"\b(?:[Cc]hapters?|[Ss]ections?|[Ee]quations?|[Pp]ages?|[Ee]xercises?|Claim|[Ff]igures?|[Ss]teps?|Python)"
    r"\s+\d[\d.]*(?:(?:,| and| to)\s+\d[\d.]*)*|\b(?:19|20)\d\d\b"
)
MATH = re.compile(r"\$\$.*?\$\$|\$[^$]*\$")
INDEX = re.compile(r"[_^]\{[^{}]*\}")  # sub- and superscripts: where a sum begins is no result
RESULT = re.compile(
    r"(?:=|\\approx|\\leq?|\\geq?|<|>)\s*(?:\\[,;! ]\s*)*[-−]?"
    r"(?:\\t?frac\{\d+\}\{\d+\}|(?:\\(?:log|sqrt)\s*\{?|\()?\d)"
)
FIGURE = re.compile(
    r"(?<![\w.])[-−]?\d[\d,.]*\s?%?"
    rf"|\b(?:{'|'.join(NUMBERS)})s?\b"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|many) times\b"
    r"|\b(?:(?<!at )most|mostly|fewer|fewest|majority|half|halves|twice|(?:one|a|two|first|last)"
    r" thirds?|(?:one|a|three) quarters?|hardly any|nearly all|none of|"
    r"almost (?:all|every|none|no))\b"
    r"|\b(?!rather|other|whether)(?:\w+er|more|less|worse) than\b"
    r"|\b(?:comes?|came|ranks?) (?:first|last)\b|\b(?:wins?|won|loses?|lost|beats?|overtakes?)\b"
    r"|\b(?:rises?|rising|falls?|falling|grows?|shrinks?|doubles|doubling)\b",
    re.I,
)
SUPPORTED = re.compile(r"\{glue(?::\w+)?\}`|\{counted\}`|\{cite(?::\w+)?\}`|\{\u2026\}")
SENTENCE = re.compile(
    r"(?<=[.!?])(?<!\bet al\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bvs\.)"
    r"[\"')*]*\s+(?=[\"'(*$`{]*[\w$])"
)  # some begin lower-case ("word2vec ..."), or with a role or code
ROLE = re.compile(r"\{[\w:]+\}`[^`]*`")


@dataclass
class Paragraph:
    """One paragraph, list item, table or caption: its text on one line, where it begins, and what
    was declared given.
    """

    text: str
    line: int
    given: str | None = None  # "" covers all of it, other text the sentences that hold it


@dataclass
class Page:
    """What the rule needs of one page."""

    paragraphs: list[Paragraph] = field(default_factory=list)
    claims: list[tuple[str, int]] = field(default_factory=list)
    checked: bool = True


def prose_findings(book: Path) -> list[str]:
    """For each page below `book`, its sentences with a figure and nothing behind it, and its claims
    without a sentence.
    """
    return [
        finding
        for path in sorted(book.rglob("*.md"))
        if not {"_ext", "_build", "assets"} & set(path.parts)
        for finding in findings_of(
            path.read_text(encoding="utf-8"), path.relative_to(book.parent).as_posix()
        )
    ]


def findings_of(text: str, name: str) -> list[str]:
    """The findings of one page, each with its file, line, the sentence and the remedy."""
    page = read(text)
    if not page.checked:
        return []
    found, quotes = [], [(plain(quote), line) for quote, line in page.claims]
    whole = [plain(paragraph.text) for paragraph in page.paragraphs]
    for quote, line in quotes:
        if not any(quote in text for text in whole):
            found.append(
                f"{name}:{line}: the claim {quote!r} is not what the page says; quote its words"
            )
    for paragraph, text in zip(page.paragraphs, whole):
        for start, sentence in _sentences(text):
            figure = _figure(sentence)
            if figure is None or SUPPORTED.search(sentence) or _is_given(paragraph, sentence):
                continue
            spans = [(at, at + len(quote)) for quote, _ in quotes for at in _places(text, quote)]
            if any(first < start + len(sentence) and start < last for first, last in spans):
                continue
            found.append(
                f"{name}:{paragraph.line}: {figure!r} has nothing behind it in {sentence!r}: add"
                " claim(...) to a cell, compute it, cite it, or put `% given` above the paragraph"
            )
    return found


class _Reader:
    """Reads a page line by line; `block` is the paragraph that is being read."""

    def __init__(self, lines: list[str]):
        self.page, self.lines = Page(), lines
        self.block: list[str] = []
        self.given: str | None = None
        self.started = 0

    def close(self) -> None:
        """The paragraph ends."""
        if self.block:
            text = " ".join(part.strip() for part in self.block)
            self.page.paragraphs.append(Paragraph(text, self.started, self.given))
            self.block, self.given = [], None

    def fenced(self, fence: re.Match, at: int) -> int:
        """Read what a fence holds; the number of the line after it."""
        self.close()
        lines = self.lines
        ends = (k for k in range(at + 1, len(lines)) if lines[k].strip() == fence[1])
        end = next(ends, len(lines))
        if fence[2].startswith("{code-cell}"):
            _read_cell(self.page, lines[at + 1 : end], at + 2)
        elif fence[2].startswith("{lab}"):
            about = " ".join(line.strip() for line in lines[at + 1 : end])
            self.page.paragraphs.append(Paragraph(about, at + 2))
        return end + 1

    def line(self, line: str, at: int) -> None:
        """Read a line outside fences."""
        comment = re.match(r"%\s*given(?::\s*(.+))?$", line)
        in_display = bool(self.block) and _in_display(self.block)
        no_text = line.startswith(("#", "%", ":::", "(")) and not line.startswith("(*")
        if comment:
            self.close()
            self.given = plain(comment[1] or "")
        elif not line.strip() or no_text:
            if in_display:
                self.block.append(line)
            else:
                self.close()
        elif not re.match(r":[\w-]+:", line):  # the option of a directive
            self.text(line, at, in_display)

    def text(self, line: str, at: int, in_display: bool) -> None:
        """Add a line of text to the paragraph, or begin one with it."""
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+", line) or line.startswith(">")
        table_ends = self.block and line.startswith("|") != self.block[-1].startswith("|")
        if item and not in_display or table_ends:
            kept = self.given
            self.close()
            self.given = kept if item else self.given
        if not self.block:
            self.started = at + 1
        self.block.append(re.sub(r"^\s*(?:[-*]|\d+\.|>)\s+", "", line) if item else line)


def read(text: str) -> Page:
    """The paragraphs and claims of a page in MyST Markdown."""
    reader = _Reader(text.split("\n"))
    lines, at = reader.lines, 0
    if lines[0] == "---":
        at = lines.index("---", 1) + 1
        reader.page.checked = "prose: unchecked" not in lines[:at]
    while at < len(lines):
        fence = re.match(r"\s*(`{3,})(.*)$", lines[at])
        if fence:
            at = reader.fenced(fence, at)
        else:
            reader.line(lines[at], at)
            at += 1
    reader.close()
    return reader.page


def _in_display(block):
    return sum(part.count("$$") for part in block) % 2 == 1


def _read_cell(page, lines, first):
    """Claims, and the captions and texts of figures, from one code cell."""
    start = 0
    if lines and lines[0] == "---":
        start = lines.index("---", 1) + 1
    while start < len(lines) and re.match(r":[\w-]+:", lines[start]):
        start += 1
    source = "\n".join("pass" if re.match(r"\s*[%!]", line) else line for line in lines[start:])
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        line = first + start + node.lineno - 1
        if getattr(node.func, "id", None) == "claim" and node.args:
            quote = node.args[0]
            page.claims.append(
                (quote.value if isinstance(quote, ast.Constant) else ast.unparse(quote), line)
            )
        for keyword in node.keywords:
            if keyword.arg in ("caption", "alt"):
                page.paragraphs.append(Paragraph(_literal(keyword.value), line))


def _literal(node):
    """The text of a string or f-string, a computed part shown as {…}."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return _literal(node.left) + _literal(node.right)
    return "{\u2026}"


def plain(text: str) -> str:
    """Text without emphasis, links' targets and line breaks: what a claim and its sentence are
    compared by.
    """
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    pieces = re.split(r"(\$\$.*?\$\$|\$[^$]*\$|`[^`]*`)", " ".join(text.split()))
    return "".join(
        piece if k % 2 else re.sub(r"\*+|(?<!\w)_|_(?!\w)", "", piece)
        for k, piece in enumerate(pieces)
    )


def _figure(sentence: str) -> str | None:
    """The first figure of a sentence: in its words, or a number that a formula in it comes to."""
    words = NAMES.sub("\u00b7", ROLE.sub("", MATH.sub(" \u00b7 ", _without_code(sentence))))
    found = FIGURE.search(words) or next(
        filter(None, (RESULT.search(INDEX.sub("", formula)) for formula in MATH.findall(sentence))),
        None,
    )
    return found and found[0].strip()


def _without_code(sentence):
    return re.sub(r"(?<![}\w])`[^`]*`", "", sentence)


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    start, whole = (
        0,
        MATH.sub(lambda formula: "X" * len(formula[0]), text),
    )  # a formula's stops end no sentence
    for gap in SENTENCE.finditer(whole):
        yield start, text[start : gap.start()].strip()
        start = gap.end()
    if text[start:].strip():
        yield start, text[start:].strip()


def _places(text, quote):
    return [match.start() for match in re.finditer(re.escape(quote), text)] if quote else []


def _is_given(paragraph, sentence):
    return paragraph.given is not None and paragraph.given in sentence
