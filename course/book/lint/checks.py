"""What `jupyter-book build -W` does not notice: checks of the book's sources and of the pages that
were built.

Each check takes paths and returns findings, one sentence each, with the file at its head; none when
all is well. `course book` runs them after every build. The browser tests look at what only a
browser can see (tests/book/).
"""

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

from course.book.lint.code_width import width_findings
from course.book.lint.prose import prose_findings

LOADED = {
    ("link", "href"),
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("video", "src"),
    ("audio", "src"),
    ("embed", "src"),
    ("object", "data"),
    ("form", "action"),
    ("image", "href"),
    ("use", "href"),
}
REMOTE = re.compile(r"^\s*(?:https?:|wss?:|//)", re.I)
REMOTE_IN_CSS = re.compile(
    r"""(?:url\(\s*['"]?|@import\s+['"])\s*((?:https?:|//)[^'")\s]+)""", re.I
)
REMOTE_IN_JS = re.compile(r"""['"`](\s*(?:https?:|wss?:)?//[a-z0-9-]+\.[^'"`\s]+)['"`]""", re.I)
NAMESPACES = ("http://www.w3.org/",)
IMAGE_NAME = re.compile(r"\.(?:png|svg|jpe?g|gif|webp)$", re.I)
TEXT_FILES = {".html", ".md", ".ipynb", ".txt", ".js", ".json", ".py", ".log"}


class PageFacts(HTMLParser):
    """One pass over a built page: what it loads, links to, names, and shows."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.loads, self.links, self.ids, self.images, self.styles, self.scripts = (
            [],
            [],
            [],
            [],
            [],
            [],
        )
        self._open = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        at, line = dict(attrs), self.getpos()[0]
        self.ids += [
            (name, line) for name in {at.get("id"), at.get("name") if tag == "a" else None} if name
        ]
        self.loads += [(at[attr], line) for t, attr in LOADED if t == tag and at.get(attr)]
        self.loads += [
            (part.split()[0], line) for part in (at.get("srcset") or "").split(",") if part.strip()
        ]
        if (
            tag == "meta"
            and (at.get("http-equiv") or "").lower() == "refresh"
            and "url=" in (at.get("content") or "")
        ):
            self.loads.append((at["content"].split("url=", 1)[1], line))
        if tag == "a" and at.get("href") is not None:
            self.links.append((at["href"], line))
        if tag == "img" or at.get("role") == "img":
            self.images.append((tag, at, line))
        if at.get("style"):
            self.styles.append((at["style"], line))
        self._open = tag if tag in ("script", "style") else self._open
        self._inert = tag == "script" and at.get("type") == "application/json"

    def handle_endtag(self, tag):
        self._open = None if tag == self._open else self._open

    def handle_data(self, data):
        if self._open == "style":
            self.styles.append((data, self.getpos()[0]))
        elif self._open == "script" and not self._inert:
            self.scripts.append((data, self.getpos()[0]))


@lru_cache(maxsize=256)
def _facts(path: Path, changed: float) -> PageFacts:
    return PageFacts(path.read_text(encoding="utf-8"))


def pages(html: Path) -> Iterator[tuple[Path, PageFacts]]:
    """Every built page with its facts, in a fixed order."""
    for path in sorted(html.rglob("*.html")):
        yield path, _facts(path, path.stat().st_mtime)


# Keys that jupyter_book.config.yaml_to_sphinx reads, but that are in neither of its two lists
READ_TOO = {
    "": {"project", "bibtex_bibfiles", "bibtex_reference_style", "bibtex_default_style"},
    "execute": {"raise_on_error", "show_tb", "eval_regex"},
    "parse": {"myst_substitutions"},
}


def unknown_keys(config: Path) -> list[str]:
    """Keys of _config.yml that Jupyter Book does not read.

    What stands below sphinx.config Sphinx checks itself.
    """
    import json

    import jupyter_book

    home = Path(jupyter_book.__file__).parent
    defaults = yaml.safe_load((home / "default_config.yml").read_text(encoding="utf-8"))
    schema = json.loads((home / "config_schema.json").read_text(encoding="utf-8"))

    def walk(found, default, shape, where):
        shaped = (shape or {}).get("properties", {})
        known = set(default or {}) | set(shaped) | READ_TOO.get(where, set())
        for key, value in found.items():
            path = f"{where}.{key}" if where else key
            if key not in known:
                yield f"{config.name}: unknown key {path!r}; Jupyter Book would ignore it"
            elif isinstance(value, dict) and path not in (
                "sphinx.config",
                "sphinx.local_extensions",
                "latex.latex_documents",
            ):
                below = (default or {}).get(key)
                yield from walk(
                    value,
                    below if isinstance(below, dict) else {},
                    shaped.get(key),
                    path,
                )

    return list(
        walk(yaml.safe_load(config.read_text(encoding="utf-8")) or {}, defaults, schema, "")
    )


def orphans(book: Path, config: Path) -> list[str]:
    """Pages under `book` that the table of contents does not name, and names in it without
    a page.
    """
    toc = yaml.safe_load((book / "_toc.yml").read_text(encoding="utf-8"))
    settings = yaml.safe_load(config.read_text(encoding="utf-8")) or {}
    skipped = [*settings.get("exclude_patterns", []), "_build/**", "**/.ipynb_checkpoints/**"]

    def names(entry):
        if isinstance(entry, dict):
            for key, value in entry.items():
                if key in ("root", "file"):
                    yield value
                else:
                    yield from names(value)
        elif isinstance(entry, list):
            for item in entry:
                yield from names(item)

    listed = [re.sub(r"\.(md|ipynb)$", "", name) for name in names(toc)]
    present = {
        path.relative_to(book).with_suffix("").as_posix()
        for path in book.rglob("*")
        if path.suffix in (".md", ".ipynb")
        and not any(fnmatch(path.relative_to(book).as_posix(), pattern) for pattern in skipped)
    }
    return (
        [
            f"book/{name}: not in book/_toc.yml, so no reader would find it"
            for name in sorted(present - set(listed))
        ]
        + [f"book/_toc.yml: {name} has no page" for name in listed if name not in present]
        + [
            f"book/_toc.yml: {name} is named twice"
            for name in sorted(set(listed))
            if listed.count(name) > 1
        ]
    )


def hidden_for_good(book: Path) -> list[str]:
    """Cells whose code or output no reader can open: evidence is folded (hide-input), never
    removed.
    """
    return [
        f"book/{path.relative_to(book).as_posix()}:{number}: {found[0]} hides evidence for good;"
        f" use hide-{found[1]}"
        for path in sorted(book.rglob("*.md"))
        if "_build" not in path.parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for found in [re.match(r":tags:.*?\bremove[-_](input|output|cell)\b", line)]
        if found
    ]


def swallowed_formulas(book: Path) -> list[str]:
    """Displayed formulas on one line right below text: MyST takes them for part of the text."""
    found = []
    for path in sorted(book.rglob("*.md")):
        lines = ["", *path.read_text(encoding="utf-8").splitlines()]
        for number, (above, line) in enumerate(zip(lines, lines[1:], strict=False), 1):
            if re.match(r"\$\$.+\$\$$", line) and above and not above.startswith(("%", "$$")):
                where = f"book/{path.relative_to(book).as_posix()}:{number}"
                found.append(f"{where}: a displayed formula needs an empty line above it")
    return found


def without_alt(html: Path) -> list[str]:
    """Pictures that say nothing to a reader who cannot see them, or only their file name."""
    found = []
    for path, facts in pages(html):
        for tag, at, line in facts.images:
            text = (
                at.get("alt") if tag == "img" else at.get("aria-label") or at.get("aria-labelledby")
            ) or ""
            hidden = at.get("aria-hidden") == "true" or at.get("role") in ("presentation", "none")
            if not hidden and (not text.strip() or IMAGE_NAME.search(text.strip())):
                found.append(
                    f"{path.relative_to(html)}:{line}: {at.get('src') or tag} has no alternative"
                    " text"
                )
    return found


def outside_requests(html: Path) -> list[str]:
    """Anything that a page, stylesheet or script would fetch from another host.

    Ordinary links are no requests.
    """
    found = []

    def add(path, line, url):
        if not url.strip().startswith(NAMESPACES):
            found.append(f"{path.relative_to(html)}:{line}: would request {url.strip()[:90]}")

    for path, facts in pages(html):
        for url, line in facts.loads:
            if REMOTE.match(url):
                add(path, line, url)
        for text, line in facts.styles:
            for match in REMOTE_IN_CSS.finditer(text):
                add(path, line, match[1])
        for text, line in facts.scripts:
            for match in REMOTE_IN_JS.finditer(text):
                add(path, line, match[1])
    for path in sorted(html.rglob("*")):
        if path.suffix not in (".css", ".js", ".mjs", ".svg"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        pattern = REMOTE_IN_CSS if path.suffix == ".css" else REMOTE_IN_JS
        for match in pattern.finditer(text):
            add(path, text.count("\n", 0, match.start()) + 1, match[1])
    return found


def broken_links(html: Path) -> list[str]:
    """Links and loaded files that do not exist, and anchors that no element of the page bears."""
    facts_of = dict(pages(html))
    found = []
    for path, facts in facts_of.items():
        for url, line in facts.links + facts.loads:
            parts = urlsplit(url)
            if parts.scheme or url.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            where = f"{path.relative_to(html)}:{line}"
            if not target.is_file():
                found.append(f"{where}: {url} leads to no file")
            elif (
                parts.fragment
                and target in facts_of
                and unquote(parts.fragment) not in {n for n, _ in facts_of[target].ids}
            ):
                found.append(f"{where}: {url} leads to no element of that page")
    return found


def repeated_ids(html: Path) -> list[str]:
    """Ids that two elements of one page share: links and labels would reach only the first."""
    found = []
    for path, facts in pages(html):
        names = [name for name, _ in facts.ids]
        for name in sorted({name for name in names if names.count(name) > 1}):
            found.append(
                f"{path.relative_to(html)}: the id {name!r} is used {names.count(name)} times"
            )
    return found


def leaked_solutions(html: Path, secret: set[str]) -> list[str]:
    """Solution lines in any file of the output: pages, downloads, sources, search index, logs.

    secret: bare lines (autograder.authoring.catalogue.Assignment.secret_lines). A line counts by
    itself when it is long enough not to be a coincidence (ten words and signs); shorter ones count
    when two stand one below the other.
    """
    from autograder.authoring.catalogue import bare

    found = []
    for path in sorted(html.rglob("*")):
        if path.suffix not in TEXT_FILES:
            continue
        before = False
        for number, line in enumerate(_shown_lines(path), 1):
            if "BEGIN SOLUTION" in line or "BEGIN HIDDEN TESTS" in line:
                found.append(
                    f"{path.relative_to(html)}:{number}: holds the marker {line.strip()[:60]!r}"
                )
            code = bare(line)
            if not code:
                continue
            match = code in secret
            if match and (before or len(re.findall(r"\w+|[^\w\s]", code)) >= 10):
                found.append(
                    f"{path.relative_to(html)}:{number}: shows a solution line: {code[:80]}"
                )
            before = match
    return found


def _shown_lines(path):
    """The lines of a file as a reader sees code in it: without tags in HTML, without quoting in a
    notebook.
    """
    import html as entities
    import json

    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".html":
        text = entities.unescape(re.sub(r"<[^>]*>", "", text))
    elif path.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text.split("\n")


def check_sources(root: Path) -> list[str]:
    """Findings that need no build: the configuration, the contents, hidden evidence, code that
    is too wide, figures in prose without support.
    """
    config = root / "_config.yml"
    book = root / "book"
    return (
        unknown_keys(config)
        + orphans(book, config)
        + hidden_for_good(book)
        + swallowed_formulas(book)
        + width_findings(book)
        + prose_findings(book)
    )


def check_output(root: Path, html: Path) -> list[str]:
    """Findings in the built book."""
    from autograder.authoring.catalogue import assignments

    secret = set().union(*(one.secret_lines() for one in assignments()), set())
    return (
        without_alt(html)
        + outside_requests(html)
        + broken_links(html)
        + repeated_ids(html)
        + leaked_solutions(html, secret)
    )
