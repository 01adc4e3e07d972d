"""The book's own theme beside pydata-sphinx-theme: what a reader gets, what it weighs, what is ours
to keep.

Both sides show the same executed pages with the same palette, type and figures. The library is used
as its manual says: options, its documented variables (themes/library.css) and one small extension
(themes/library_theme.py). The table decided for the own theme: no rule of axe broken against three,
a silent console, a third of the bytes, excerpts and notes from disk, contents without scripts. Its
price is the lines to keep, which the table counts too. A visit a kind of page, size and colour
scheme, from disk, with the network cut. Needs Chromium; no rival in speed, so no rows.

    python bench/themes.py            # builds the library's side, measures both, writes
                                      # bench/results/themes.json
"""

import argparse
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from record import save

from course.book.build import cache

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).with_name("themes")
FORMULAS = ("vendor/katex/katex.min.css", "formulas.css")
SIZES = {"390": {"width": 390, "height": 844}, "1440": {"width": 1440, "height": 900}}
PAGES = [
    "intro",
    "01-static-embeddings/word2vec",
    "01-static-embeddings/exercises",
    "glossary",
    "search",
]  # one of each kind
OPTIONS = {
    "logo": {"text": "word2serve"},
    "navbar_start": ["navbar-logo"],
    "navbar_center": ["navbar-nav"],
    "navbar_persistent": [],
    "navbar_end": ["search-button-field", "theme-switcher"],
    "collapse_navigation": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc", "sourcelink"],
    "article_header_start": ["breadcrumbs"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
SIDES = {  # where each theme puts the parts that are asked about
    "own": {
        "menu": "#menu-button",
        "nav": "#book-nav",
        "sections": "#on-page",
        "copy": ".copy",
        "result": "#search-results li",
        "excerpt": "#search-results .excerpt",
        "theme": "#theme-button",
        "pop": "[role=tooltip]",
    },
    "library": {
        "menu": ".primary-toggle",
        "nav": ":is(#pst-primary-sidebar, #pst-primary-sidebar-modal)",
        "sections": "#pst-secondary-sidebar nav.page-toc",
        "copy": "button.copybtn",
        "result": "#search-results ul.search > li",
        "excerpt": "#search-results li p.context",
        "theme": ".theme-switch-button",
        "pop": "[role=tooltip]",
    },
}
# Notes, page notebooks, quiz and figures are ours with either theme, so their lines count for
# neither.
OWN_LINES = [
    "book/_ext/course_theme.py",
    "book/_ext/word2serve/*.html",
    "book/_ext/search_texts.py",
    "book/assets/course.css",
    "book/assets/course.js",
    "book/assets/search.js",
]
LIBRARY_LINES = ["bench/themes/library*"]


def build_library(work: Path) -> Path:
    """The book on the library's theme, in `work`; its folder of pages."""
    for name in ("reference_impl", "course", "autograder", "solutions", "bench"):
        (work / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "book", work / "book", ignore=shutil.ignore_patterns("__pycache__"))
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    sphinx = config["sphinx"]
    sphinx["extra_extensions"] = [*sphinx.get("extra_extensions", []), "library_theme"]
    sphinx["local_extensions"] = {
        name: str(work / "book" / "_ext")
        for name in sphinx["local_extensions"]
        if name != "course_theme"
    }
    sphinx["local_extensions"] = {
        name: where
        for name, where in sphinx["local_extensions"].items()
        if name not in ("notes", "search_texts")
    }  # the library brings its own search
    sphinx["config"] = {
        key: value
        for key, value in sphinx["config"].items()
        if key not in ("w2s_report_address", "html_additional_pages")
    }
    sphinx["config"] |= {
        "html_theme": "pydata_sphinx_theme",
        "html_theme_options": OPTIONS,
        "html_sidebars": {"**": ["sidebar-nav-bs"]},
        "html_css_files": ["palette.css", *FORMULAS, "figures/figures.css", "library.css"],
    }
    (work / "_config.yml").write_text(yaml.safe_dump(config))
    shutil.copytree(cache.cache_path(ROOT), cache.cache_path(work))
    path = (
        f"import sys; sys.path[:0] = [{str(ROOT / 'book' / '_ext')!r}, {str(HERE)!r},"
        f" {str(ROOT)!r}]; "
    )
    subprocess.run(
        [
            sys.executable,
            "-c",
            path + "from jupyter_book.cli.main import main; sys.exit(main())",
            "build",
            "book",
            "--keep-going",
        ],
        cwd=work,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return work / "_build" / "html"


def weigh(urls: list[str]) -> tuple[int, int]:
    """Bytes of the files behind `urls`, as they are and gzipped."""
    paths = [Path(unquote(urlsplit(url).path)) for url in set(urls) if url.startswith("file:")]
    raw = [path.read_bytes() for path in paths if path.is_file()]
    return sum(map(len, raw)), sum(len(gzip.compress(data, 6)) for data in raw)


def visit(browser, html: Path) -> dict:
    """Every page at both sizes, light and dark: rules broken, complaints, requests, width,
    weight.
    """
    from axe_playwright_python.sync_playwright import Axe

    found = {
        "pages": 0,
        "axe rules broken": set(),
        "axe places": 0,
        "console lines": 0,
        "outside requests": 0,
        "pages too wide": 0,
        "page kB": [],
        "page kB gzipped": [],
    }
    for name, (size, viewport), scheme in product(PAGES, SIZES.items(), ("light", "dark")):
        path = html / f"{name}.html"
        page = browser.new_context(
            viewport=viewport, color_scheme=scheme, reduced_motion="reduce", offline=True
        ).new_page()
        asked, said = [], []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.on(
            "console",
            lambda line, said=said: (
                said.append(line.text) if line.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.goto(path.as_uri(), wait_until="load")
        page.wait_for_function("document.fonts.status === 'loaded'")
        found["console lines"] += len(said)
        found["outside requests"] += sum(
            not url.startswith(("file:", "data:", "blob:")) for url in asked
        )
        raw, packed = weigh(asked)
        if (size, scheme) == ("1440", "light"):
            found["pages"] += 1
            found["page kB"].append(raw / 1e3)
            found["page kB gzipped"].append(packed / 1e3)
        found["pages too wide"] += page.evaluate(
            "document.documentElement.scrollWidth > innerWidth"
        )
        for rule in (
            Axe()
            .run(page, options={"resultTypes": ["violations"], "preload": False})
            .response["violations"]
        ):
            found["axe rules broken"].add(rule["id"])
            found["axe places"] += len(rule["nodes"])
        page.context.close()
    found["axe rules broken"] = sorted(found["axe rules broken"])
    for key in ("page kB", "page kB gzipped"):
        found[key] = round(sum(found[key]) / len(found[key]))
    return found


def probe(browser, html: Path, at: dict[str, str]) -> dict:
    """The features that readers asked for, each tried as a reader would, under file://."""

    def open_page(name, size="1440", **settings):
        page = browser.new_context(viewport=SIZES[size], offline=True, **settings).new_page()
        page.goto(f"{html.as_uri()}/{name}", wait_until="load")
        return page

    chapter = "01-static-embeddings/word2vec.html"
    found = {}
    page = open_page("search.html?q=vectors")
    page.wait_for_timeout(3000)
    found["search results under file://"] = page.locator(at["result"]).count()
    found["search excerpts under file://"] = page.locator(at["excerpt"]).count()
    page = open_page("search.html?q=cosine")
    page.wait_for_timeout(3000)
    found["a glossary entry among the results"] = any(
        "glossary.html#term" in (link.get_attribute("href") or "")
        for link in page.locator(f"{at['result']} a").all()
    )
    page = open_page(chapter)
    link = page.locator("main a[href*='#term-'], main a[href*='bibliography.html#']").first
    link.scroll_into_view_if_needed()
    link.hover()
    page.wait_for_timeout(500)
    found["a term or citation shown on hover"] = page.locator(at["pop"]).is_visible()
    found["sections listed at the right at 1440"] = page.locator(at["sections"]).is_visible()
    found["navigation links shown on a page"] = page.locator(f"{at['nav']} a:visible").count()
    found["a link to every chapter and part of the book"] = (
        page.locator(":is(nav, header, dialog) a[href*='glossary.html']:visible").count() > 0
    )
    found["copy buttons seen without hover"] = page.locator(at["copy"]).first.evaluate(
        "b => +getComputedStyle(b).opacity === 1"
    )
    found["code as wide as the text"] = page.evaluate("""() => {
        const widths = (query) => [...document.querySelectorAll(query)].map(
            (e) => Math.round(e.getBoundingClientRect().width));
        const text = Math.max(...widths("article section > p")),
            code = widths(".cell_input div.highlight");
        return code.every((width) => Math.abs(width - text) <= 4); }""")
    found["link to report an error"] = (
        page.locator("a:has-text('error'), a:has-text('issue')").count() > 0
    )
    found["the page as a notebook"] = page.locator("a[href$='.ipynb']").count() > 0
    page.emulate_media(media="print")
    found["frame hidden in print"] = page.locator(f"{at['nav']} a:visible").count() == 0
    page = open_page(chapter, "390")
    page.evaluate("window.scrollTo({top: 1500, behavior: 'instant'})")
    box = page.locator(at["menu"]).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_timeout(500)
    found["contents open on a phone"] = page.locator(f"{at['nav']} a:visible").count() > 0
    page.keyboard.press("Escape")
    page.wait_for_timeout(500)
    found["a phone keeps its place behind the contents"] = abs(page.evaluate("scrollY") - 1500) < 5
    page = open_page(chapter, "390", java_script_enabled=False)
    found["contents without scripts on a phone"] = (
        page.locator(f"{at['nav']} a:visible").count() > 0
    )
    for context in browser.contexts:
        context.close()
    return found


def lines(patterns: list[str]) -> int:
    """Lines that are neither blank nor only a comment, in the files that we keep for a side."""
    files = {path for pattern in patterns for path in ROOT.glob(pattern)}
    return sum(
        bool(line.strip()) and not re.match(r"\s*(#|//|/\*.*\*/$|<!--)", line)
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
    )


def main() -> None:
    """Build the library's side, measure both, write the record."""
    sys.path.insert(0, str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.conftest import CHROMIUM_ARGUMENTS, find_chromium

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--own", type=Path, default=ROOT / "_build" / "html", help="the built book")
    parser.add_argument("--library", type=Path, help="pages built before on the library's theme")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        built = {"own": args.own, "library": args.library or build_library(Path(work))}
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=CHROMIUM_ARGUMENTS
        )
        table = {}
        for side, html in built.items():
            table[side] = {
                "lines of ours": lines(OWN_LINES if side == "own" else LIBRARY_LINES),
                **visit(browser, html),
                **probe(browser, html, SIDES[side]),
            }
        browser.close()
    for key in table["own"]:
        print(f"{key:50} {table['own'][key]!s:>20} {table['library'][key]!s:>20}")
    save(
        "themes",
        versions=("pydata-sphinx-theme", "sphinx"),
        table=table,
        sizes=list(SIZES),
        note="the machine was busy; nothing here is a time",
    )


if __name__ == "__main__":
    main()
