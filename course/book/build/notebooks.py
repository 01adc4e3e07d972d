"""A page of the book as a notebook that any notebook program opens: plain Markdown in place of
MyST.

Directives and roles mean nothing to JupyterLab, VS Code or Colab. Each becomes what a reader of
plain Markdown would write: an admonition a quotation, included code a code block, a citation author
and year with the references at the end, a picture an attachment. What has no such form (a quiz)
becomes a sentence that says where it is.
"""

import base64
import mimetypes
import re
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import yaml

from course.book.review import reading_time as reading
from course.book.review.source_guide import release

DROPPED = {
    "calibration",
    "lab-end",
    "tableofcontents",
    "toctree",
    "contents",
    "glossary",
    "glossary-terms",
    "bibliography",
    "raw",
    "index",
    "only",
}
ON_PAGE = {"quiz": "The quiz", "flashcards": "The flashcards", "exam": "The exam"}
LAYOUT = {"div", "grid", "tab-set"}
WITHOUT_TITLE = {"aside", "card", "grid-item", "grid-item-card", "epigraph", "container"}
CODE = {"code", "code-block", "sourcecode", "prompt"}
ROLE_OR_CODE = re.compile(r"\{([a-z][\w:.-]*)\}(`+)(.+?)\2|(`+)(?!`).+?(?<!`)\4(?!`)", re.S)
PAGE_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|mailto:)([^)\s]*?)(?:\.md)?(#[^)\s]*)?\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:|data:|attachment:)([^)\s]+)\)")
ATTRIBUTES = re.compile(r"^\s*\{[.#][^}]*\}\s*$|(?<=[\])`*])\{[.#][^}`]*\}", re.M)
OPTION = re.compile(r":([\w-]+):\s*(.*)")


ABOUT = (
    "*{}*, a page of the book word2serve, as a notebook. Its cells import the course's own"
    " packages: run `make course` in the course's folder and open the notebook with its"
    " `.venv/bin/jupyter lab`."
)


def to_notebook(source: Path, book: Path, glued: dict[str, str] | None = None):
    """The page `source` of the folder `book` as a notebook without outputs.

    Ids of cells depend on their number only.

    glued: the values that the page's run glued, by name, as text; they take the place of
    `{glue:text}` roles.
    """
    import jupytext
    from nbformat.v4 import new_markdown_cell

    notebook = jupytext.read(source, fmt="md:myst")
    page = _Page(source, book, glued or {})
    cells = [new_markdown_cell(ABOUT.format(page.title(source)))]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell["source"] = page.plain(cell.source).strip()
            if page.attachments:
                cell["attachments"], page.attachments = page.attachments, {}
        else:
            cell["metadata"] = _metadata(cell.metadata.get("tags", []))
        if cell.cell_type != "markdown" or cell.source:
            cells.append(cell)
    if page.cited:
        cells.append(
            new_markdown_cell(
                "## References\n\n"
                + "\n".join(f"- {_reference(page.entries[key])}" for key in page.cited)
            )
        )
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # nbformat's are random: a rebuild must not change the file
    notebook.cells = cells
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def _metadata(tags: list[str]) -> dict:
    """Of a cell of code: its tags, and whether its source is folded."""
    hidden = {"hide-input", "remove-input", "hide-cell"} & set(tags)
    return {
        **({"tags": tags} if tags else {}),
        **({"jupyter": {"source_hidden": True}} if hidden else {}),
    }


class _Page:
    """One page on its way: what it cites, and the pictures of the cell at hand."""

    def __init__(self, source: Path, book: Path, glued: dict[str, str]):
        self.source, self.book, self.glued = source, book, glued
        self.cited, self.attachments = [], {}

    @property
    def entries(self):
        return _bibliography(self.book / "references.bib")

    def title(self, path: Path) -> str:
        """The first heading of a page; its name if it has none."""
        found = (
            re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.M)
            if path.is_file()
            else None
        )
        return found[1].strip() if found else path.stem

    def plain(self, text: str) -> str:
        """`text` with every directive, role, target and comment in plain Markdown."""
        lines, out, at = text.split("\n"), [], 0
        for start, end, token in _blocks(text):
            if start < at:
                continue
            out += [self.inline("\n".join(lines[at:start]))]
            out += [self.block(token, lines[start:end])]
            at = end
        out.append(self.inline("\n".join(lines[at:])))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(out))

    def block(self, token, lines) -> str:
        """One top-level piece: a directive, a target, a comment, or a fence that stays."""
        if token.type in ("myst_target", "myst_line_comment", "myst_block_break"):
            return ""
        found = re.match(r"\{([\w:-]+)\}\s*(.*)", token.info.strip())
        if not found:
            plain_div = token.type == "colon_fence"
            return self.plain(token.content) if plain_div else "\n".join(lines)
        name, argument = found[1], found[2].strip()
        options, body = _options(token.content)
        indent = re.match(r"\s*", lines[0])[0]
        return "\n".join(
            indent + line if line else line
            for line in self.directive(name, argument, options, body).split("\n")
        )

    def directive(self, name: str, argument: str, options: dict[str, str], body: str) -> str:
        """What stands in the place of one directive."""
        if name in DROPPED:
            return ""
        if name == "lab":
            return f"**Lab: {self.inline(argument)}** {self.plain(body).strip()}"
        if name in ON_PAGE:
            return f"*{ON_PAGE[name]} can be answered on this page of the book.*"
        if name == "predict":
            choices = (
                "\n\nChoose: " + " or ".join(map(str.strip, options["choose"].split("|"))) + "."
                if "choose" in options
                else ""
            )
            argument, body = "Predict, before you run the next cell", body.strip() + choices
        if name == "literalinclude":
            path = (self.source.parent / argument).resolve()
            return f"```{options.get('language', 'python')}\n{included_code(path, options)}```"
        if name in CODE:
            return f"```{argument}\n{body.rstrip()}\n```"
        if name == "math":
            return f"$$\n{body.strip() or argument}\n$$"
        if name in ("figure", "image"):
            picture = self.inline(f"![{options.get('alt', '')}]({argument})")
            return picture + (f"\n\n{self.plain(body)}" if body.strip() else "")
        title = self.inline(argument) or name.split(":")[-1].capitalize()
        is_card = "page-card" in options.get("class", "")
        if name in LAYOUT or is_card or name in WITHOUT_TITLE and not argument:
            title = ""
        inner = self.plain(body).strip()
        if not inner:
            return f"*{title}: on this page of the book.*" if title else ""
        if name in LAYOUT:
            return inner
        quoted = f"**{title}**\n\n{inner}" if title else inner
        return "\n".join(f"> {line}".rstrip() for line in quoted.split("\n"))

    def inline(self, text: str) -> str:
        """Roles, links between pages, pictures and attributes of running text; code spans stay as
        they are.
        """
        out, at = [], 0
        for found in ROLE_OR_CODE.finditer(text):
            out += [
                self.around(text[at : found.start()]),
                self.role(found[1], found[3]) if found[1] else found[0],
            ]
            at = found.end()
        return "".join([*out, self.around(text[at:])])

    def around(self, text: str) -> str:
        """Running text between roles and code spans."""
        text = PICTURE.sub(lambda match: self.picture(match[1], match[2]), ATTRIBUTES.sub("", text))
        return PAGE_LINK.sub(self.link, text)

    def role(self, name: str, content: str) -> str:
        """The words that a role shows."""
        shown, target = (
            re.fullmatch(r"(.*?)\s*<([^<>]+)>", content, re.S).groups()
            if content.endswith(">") and "<" in content
            else (content, content)
        )
        if name.startswith("cite"):
            keys = [key.strip() for key in content.split(",")]
            self.cited += [key for key in keys if key in self.entries and key not in self.cited]
            labels = "; ".join(
                _label(self.entries[key]) if key in self.entries else key for key in keys
            )
            return labels if name in ("cite:t", "cite:ct") else f"({labels})"
        if name.startswith("glue"):
            key, _, form = content.partition(":")
            return _formatted(self.glued.get(key, "…"), form)
        if name == "math":
            return f"${content}$"
        if name in ("sub", "sup", "subscript", "superscript"):
            return f"<{name[:3]}>{content}</{name[:3]}>"
        if name in ("doc", "ref", "numref", "eq", "prf:ref", "term", "abbr", "download"):
            return (
                shown
                if shown != target
                else self.title(self.source.parent / f"{target}.md")
                if name == "doc"
                else shown
            )
        if name == "minutes":
            return str(reading.minutes(self.source.parent / f"{content}.md"))
        if name == "counted":
            return f"{reading.counted(content, self.source.parent):g}"
        if name == "release":
            return release(content)
        return f"`{content}`"

    def link(self, match) -> str:
        """A link to another page or place of the book: its words, for the notebook may lie
        anywhere.
        """
        words = match[1] or self.title(
            (self.source.parent / f"{match[2]}.md") if match[2] else self.source
        )
        return words if match[1] else f"*{words}*"

    def picture(self, alt: str, address: str) -> str:
        """A picture of the book's own, carried inside the notebook."""
        path = (self.source.parent / address).resolve()
        if not path.is_file():
            return f"*({alt})*"
        kind = mimetypes.guess_type(path.name)[0] or "image/png"
        self.attachments[path.name] = {kind: base64.b64encode(path.read_bytes()).decode()}
        return f"![{alt}](attachment:{path.name})"


def included_code(path: Path, options: dict[str, str]) -> str:
    """The code that a literalinclude of the file shows, chosen by Sphinx's own reader."""
    from sphinx.directives.code import LiteralIncludeReader

    chosen = {
        key: int(value) if key == "dedent" and value else value for key, value in options.items()
    }
    reader = LiteralIncludeReader(str(path), chosen, SimpleNamespace(source_encoding="utf-8-sig"))
    return reader.read()[0].rstrip("\n") + "\n"


def glued_by(notebook) -> dict[str, str]:
    """What the cells of an executed notebook glued: name -> plain text."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return {
        output.metadata["scrapbook"]["name"]: next(
            (text for kind, text in output.data.items() if kind.endswith("text/plain")), ""
        )
        for output in outputs
        if "scrapbook" in output.get("metadata", {})
    }


def _formatted(text, form):
    """`text` in Python's format `form` if it is a number, as myst-nb does."""
    try:
        return format(float(text) if re.search(r"[.e]", text) else int(text), form)
    except ValueError:
        return text.strip("'")


@lru_cache(maxsize=1)
def _parser():
    from markdown_it import MarkdownIt
    from mdit_py_plugins.colon_fence import colon_fence_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.myst_blocks import myst_block_plugin

    return (
        MarkdownIt("commonmark")
        .enable("table")
        .use(colon_fence_plugin)
        .use(dollarmath_plugin)
        .use(myst_block_plugin)
    )


def _blocks(text):
    """(first line, line after the last, token) of each fence, target and comment, in order."""
    kinds = {"fence", "colon_fence", "myst_target", "myst_line_comment", "myst_block_break"}
    return [
        (token.map[0], token.map[1], token)
        for token in _parser().parse(text)
        if token.type in kinds and token.map
    ]


def _options(content):
    """A directive's options and its body."""
    lines = content.split("\n")
    if lines and lines[0].strip() == "---" and "---" in [line.strip() for line in lines[1:]]:
        end = [line.strip() for line in lines].index("---", 1)
        return {
            key: str(value)
            for key, value in (yaml.safe_load("\n".join(lines[1:end])) or {}).items()
        }, "\n".join(lines[end + 1 :])
    options = {}
    while lines and (match := OPTION.fullmatch(lines[0].strip())):
        options[match[1]] = match[2]
        lines.pop(0)
    return options, "\n".join(lines)


@lru_cache(maxsize=4)
def _bibliography(path):
    from pybtex.database import parse_file

    return parse_file(str(path)).entries


def _names(entry):
    return [
        " ".join(person.prelast_names + person.last_names)
        for person in entry.persons.get("author", [])
    ] or [entry.fields.get("title", entry.key)]


def _label(entry):
    names = _names(entry)
    shown = (
        names[0]
        if len(names) == 1
        else f"{names[0]} and {names[1]}"
        if len(names) == 2
        else f"{names[0]} et al."
    )
    return f"{shown}, {entry.fields.get('year', 'no year')}"


def _reference(entry):
    """One line of the list of references, with the address if there is one."""
    fields = {
        key: re.sub(r"[{}]", "", str(value)).replace("--", "–")
        for key, value in entry.fields.items()
    }
    where = fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or ""
    address = f"https://doi.org/{fields['doi']}" if "doi" in fields else fields.get("url", "")
    parts = [
        ", ".join(_names(entry)),
        fields.get("title", ""),
        f"*{where}*" if where else "",
        fields.get("year", ""),
        address,
    ]
    return ". ".join(part for part in parts if part)
