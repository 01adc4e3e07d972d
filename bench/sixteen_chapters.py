"""A book of sixteen chapters, made of chapter 1 copied and varied: what building, navigation,
search and pages cost.

Each copy differs from the others in every code cell, every title and every section, so that neither
the cache of executed pages nor Sphinx serves one twice. Headings below the titles stay, since the
exercises name them. Seconds are of the machine as it was; CPU seconds are what is counted on,
because other work on the machine stretches the former and hardly the latter.

    python bench/sixteen_chapters.py            # all of it: copies, cold build, unchanged build,
                                                # one edited page
    python bench/sixteen_chapters.py --run 3    # runs the pages of three copies and lends their
                                                # outputs to the others
    python bench/sixteen_chapters.py --run 0    # runs none: lends the outputs that `course book`
                                                # left, and takes the CPU seconds that it kept of
                                                # each page's run
"""

import argparse
import gzip
import json
import re
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import yaml
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from record import save

from course.book.build import build, cache, stills
from course.book.build import kernel_pool as kernels

ROOT = Path(__file__).resolve().parents[1]
CHAPTER = "01-static-embeddings"
PLAN = 8 * 60  # seconds on two cores, the plan for the whole book


def make_book(work: Path, copies: int) -> list[str]:
    """The course in `work` with `copies` chapters; the names of their folders."""
    shutil.copytree(
        ROOT,
        work,
        symlinks=True,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns(
            "_build", ".git", ".venv", "tests", "__pycache__", ".pytest_cache"
        ),
    )
    names = [CHAPTER, *(f"{number:02}-copy" for number in range(2, copies + 1))]
    for number, name in enumerate(names[1:], 2):
        shutil.copytree(ROOT / "book" / CHAPTER, work / "book" / name)
        for page in sorted((work / "book" / name).glob("*.md")):
            page.write_text(varied(page.read_text(encoding="utf-8"), number), encoding="utf-8")
    toc = yaml.safe_load((work / "book" / "_toc.yml").read_text(encoding="utf-8"))
    part = next(
        part for part in toc["parts"] if any(CHAPTER in str(entry) for entry in part["chapters"])
    )
    place = next(k for k, entry in enumerate(part["chapters"]) if CHAPTER in entry["file"])
    for number, name in enumerate(names[1:], 2):
        entry = json.loads(json.dumps(part["chapters"][place]).replace(CHAPTER, name))
        part["chapters"].insert(place + number - 1, {**entry, "title": f"Chapter {number}"})
    (work / "book" / "_toc.yml").write_text(yaml.safe_dump(toc, sort_keys=False), encoding="utf-8")
    return names


def varied(text: str, number: int) -> str:
    """A page whose code cells, title and sections differ from those of every other copy, and whose
    labels are its own.
    """
    text = re.sub(
        r"^(```\{code-cell\}[^\n]*\n(?:(?::[^\n]*|---.*?---)\n)*)",
        rf"\g<1># chapter {number}\n",
        text,
        flags=re.M,
    )
    text = re.sub(r"^# (?!chapter )(.+)$", rf"# \1 ({number})", text, flags=re.M)
    text = re.sub(
        r"^(#{2,6} .+)$", rf"\1\n\nThis section is of chapter {number}.", text, flags=re.M
    )
    text = re.sub(
        rf"(?<!exercises/)\b{CHAPTER}/", f"{number:02}-copy/", text
    )  # the notebook to download stays where it is
    return re.sub(r"^\(([\w-]+)\)=$", rf"(\1-{number})=", text, flags=re.M)


def used() -> float:
    """CPU seconds of this process and of the finished ones that it started."""
    return sum(
        part.ru_utime + part.ru_stime
        for part in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def timed(what, *args):
    """(seconds, CPU seconds, result)."""
    wall, cpu = time.monotonic(), used()
    result = what(*args)
    return round(time.monotonic() - wall, 1), round(used() - cpu, 1), result


def lend_outputs(work: Path, names: list[str]) -> int:
    """Give each page of the copies that has not run the outputs of the first chapter's page; how
    many pages that was.
    """
    kept, lent = get_cache(str(cache.cache_path(work))), 0
    for name in names[1:]:
        for path in sorted((work / "book" / name).glob("*.md")):
            notebook, first = (
                build.read_page(path),
                build.read_page(work / "book" / CHAPTER / path.name),
            )
            if notebook is None or is_kept(kept, notebook):
                continue
            record = kept.match_cache_notebook(first)
            done = kept.merge_match_into_notebook(first)[1]
            codes = [cell for cell in done.cells if cell.cell_type == "code"]
            for cell, source in zip(
                (cell for cell in notebook.cells if cell.cell_type == "code"), codes, strict=True
            ):
                cell.outputs, cell.execution_count = source.outputs, source.execution_count
            kept.cache_notebook_bundle(
                CacheBundleIn(notebook, str(path), data=record.data),
                check_validity=False,
                overwrite=True,
            )
            lent += 1
    return lent


def is_kept(kept, notebook) -> bool:
    """Is there an executed page for this notebook?"""
    try:
        return bool(kept.match_cache_notebook(notebook))
    except KeyError:
        return False


def run_pages(work: Path, names: list[str], run: int, jobs: int) -> dict:
    """Run the pages of the first `run` chapters and lend the others theirs; how many, and what the
    runs cost.
    """
    if run == 0:
        shutil.copytree(cache.cache_path(ROOT), cache.cache_path(work))
    aside = {
        path: path.read_text(encoding="utf-8")
        for name in names[max(run, 1) :]
        for path in (work / "book" / name).glob("*.md")
    }
    for path in aside:
        path.unlink()
    started = time.monotonic()
    if failed := build.execute_pages(work, jobs, print):
        raise SystemExit("\n".join(failed))
    seconds = time.monotonic() - started
    for path, text in aside.items():
        path.write_text(text, encoding="utf-8")
    lent = lend_outputs(work, names)
    cpu = {
        Path(record.uri).parent.name + "/" + Path(record.uri).stem: record.data["cpu_seconds"]
        for record in get_cache(str(cache.cache_path(work))).list_cache_records()
    }
    chapter = {
        name.split("/")[1]: value for name, value in cpu.items() if name.startswith(f"{CHAPTER}/")
    }
    return {
        "chapters whose pages ran here": run,
        "pages that run": sum(
            build.read_page(path) is not None for path in (work / "book").rglob("*.md")
        ),
        "pages with lent outputs": lent,
        "seconds": round(seconds, 1),
        "CPU seconds of chapter 1's pages": chapter,
        "CPU seconds of a page, mean": round(statistics.mean(chapter.values()), 2),
    }


def libraries() -> float:
    """CPU seconds that loading the pages' libraries takes, once for all pages; 0 where each page
    loads them itself.
    """
    if not kernels.POSSIBLE:
        return 0.0
    with kernels.Nursery() as nursery:
        return round(nursery.cpu_seconds, 1)


def stills_drawn(html: Path, names: list[str]) -> dict:
    """How many figures the chapters have, and the CPU seconds of drawing a still of each anew, all
    in one browser.

    The copies share data and so stills; in a book every figure has its own, so each is drawn. 0
    seconds where there is no Chromium.
    """
    found = [
        (name, data)
        for chapter in names
        for page in sorted((html / chapter).glob("*.html"))
        for _, name, _, _, data in stills.FIGURE.findall(page.read_text(encoding="utf-8"))
    ]
    chromium = stills.find_chromium()
    return {
        "figures": len(found),
        "CPU seconds of all stills": timed(stills.draw, chromium, found)[1] if chromium else 0,
    }


def measure(html: Path, names: list[str]) -> dict:
    """What the built book weighs: pages, links of the navigation, search, a page with all that it
    loads.
    """
    pages = sorted(path for path in html.rglob("*.html"))
    text = (html / CHAPTER / "index.html").read_text(encoding="utf-8")
    nav = text[text.index('id="book-nav"') : text.index("</nav>", text.index('id="book-nav"'))]
    search = (html / "search-texts.js").read_bytes()
    sizes = [path.stat().st_size / 1e3 for path in pages if path.parent != html]
    return {
        "pages": len(pages),
        "chapters": len(names),
        "navigation links on a chapter's first page": nav.count("<a "),
        "search entries": search.count(b"\n["),
        "search kB": round(len(search) / 1e3),
        "search kB gzipped": round(len(gzip.compress(search)) / 1e3),
        "page kB, median": round(statistics.median(sizes)),
        "page kB, largest": round(max(sizes)),
        "all files MB": round(
            sum(path.stat().st_size for path in html.rglob("*") if path.is_file()) / 1e6, 1
        ),
    }


def main() -> None:
    """Make, build, build again, edit one page, and write bench/results/sixteen_chapters.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--copies", type=int, default=16)
    parser.add_argument(
        "--run",
        type=int,
        help="copies whose pages run; the others take the first one's outputs (default: all)",
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--work", type=Path, help="a folder to build in and keep")
    args = parser.parse_args()
    run = args.copies if args.run is None else args.run
    with tempfile.TemporaryDirectory() as temporary:
        work = (args.work or Path(temporary)).resolve()
        names = make_book(work, args.copies)
        result, steps = {}, {"pages run": run_pages(work, names, run, args.jobs)}
        wall, cpu, _ = timed(build.build_book, work, args.jobs, False, print)
        steps["pages written and checked, cold"] = {"seconds": wall, "CPU seconds": cpu}
        wall, cpu, _ = timed(build.build_book, work, args.jobs, False, print)
        steps["unchanged build"] = {"seconds": wall, "CPU seconds": cpu}
        page = work / "book" / names[-1] / "index.md"
        page.write_text(
            page.read_text(encoding="utf-8") + "\nOne more sentence.\n", encoding="utf-8"
        )
        wall, cpu, _ = timed(build.build_book, work, args.jobs, False, print)
        steps["one page's words edited"] = {"seconds": wall, "CPU seconds": cpu}
        result |= measure(work / "_build" / "html", names)
        steps["stills"] = stills_drawn(work / "_build" / "html", names)
    pages, each = (
        steps["pages run"]["pages that run"],
        steps["pages run"]["CPU seconds of a page, mean"],
    )
    drawing = steps["stills"]["CPU seconds of all stills"]
    writing, loading = (
        steps["pages written and checked, cold"]["CPU seconds"] + drawing,
        libraries(),
    )
    result["arithmetic"] = (
        f"libraries loaded once: {loading:.0f} s; {pages} pages x {each} CPU seconds on 2 cores:"
        f" {pages * each / 2:.0f} s; writing and checking them, {drawing:.0f} s of it for stills,"
        f" on one: {writing:.0f} s; together {loading + pages * each / 2 + writing:.0f} s of the"
        f" {PLAN} planned. To keep the plan a page may use"
        f" {2 * (PLAN - loading - writing) / pages:.1f} CPU seconds."
    )
    print(result["arithmetic"])
    save(
        "sixteen_chapters",
        versions=("sphinx", "jupyter-book", "torch"),
        book=result,
        steps=steps,
        note="other work kept the machine busy: trust CPU seconds, not seconds",
    )


if __name__ == "__main__":
    main()
