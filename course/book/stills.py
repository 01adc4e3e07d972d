"""The still picture of a figure, drawn by the figure's own script in a headless Chromium.

    still("window-counts", "window-counts", data, root)

It stands on the page before scripts run, in print, and for readers without scripts. Drawn ones are kept in
_build/stills by a hash of scripts and data. Where there is no Chromium, the still that is committed in book/stills is
taken, by the figure's id; `python -m course.book.stills` puts those of the built book there.
"""
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from course.book.captions import FigureError
from course.book.figures import ANSWERS, ASSETS, KEYS, scripts_of

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ("--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
             "--disable-component-update", "--hide-scrollbars", "--window-size=760,2000", "--virtual-time-budget=3000")
SECONDS = 60
FIGURE = re.compile(r'<figure class="w2s-figure" id="figure-([\w-]+)" data-w2s-figure="([\w-]+)">'
                    r'<div class="w2s-still" role="img" aria-label="([^"]*)">(.*?)</div>'
                    r'<script type="application/json">(.*?)</script>', re.S)
DRAWN = re.compile(r'<template id="drawn">(.*?)</template>', re.S)
FAILED = re.compile(r'<pre id="failed">(.*?)</pre>', re.S)
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><body><script>
addEventListener("error", (event) => {{ const pre = document.createElement("pre"); pre.id = "failed";
  pre.textContent = event.message; document.body.append(pre); }});
</script><script type="application/json" id="data">{data}</script>{scripts}<script>
const drawn = document.createElement("template"); drawn.id = "drawn";
drawn.innerHTML = w2s.stillOf({name}, JSON.parse(document.getElementById("data").textContent));
document.body.append(drawn);
</script>"""


def still(name: str, id: str, data: str, root: Path) -> str:
    """The still as HTML. `data` is the JSON that stands on the page.

    Raises FigureError if the script fails on the data, or if there is neither a Chromium nor a committed still.
    """
    kept = root / "_build" / "stills" / f"{key(name, data)}.html"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    committed = root / "book" / "stills" / f"{id}.html"
    chromium = find_chromium()
    drawn = draw(chromium, name, data) if chromium else None
    if drawn is None:
        if not committed.is_file():
            raise FigureError(f"figure {id!r} has no still: there is no {committed}, and no Chromium that runs here "
                              "to draw one; install chromium and build again")
        return committed.read_text(encoding="utf-8")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(drawn, encoding="utf-8")
    return drawn


def fill(body: str, root: Path) -> str:
    """A page's HTML with the still of each of its figures."""
    def with_still(match: re.Match) -> str:
        id, name, _, _, data = match.groups()
        start, end = match.span(4)
        return body[match.start():start] + still(name, id, data, root) + body[end:match.end()]
    return FIGURE.sub(with_still, body)


def find_chromium() -> str | None:
    """The first Chromium or Chrome on PATH, or None."""
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


def key(name: str, data: str) -> str:
    """A hash of all that decides what a still looks like."""
    digest = hashlib.sha256(data.encode())
    for file in _scripts(name):
        digest.update((ASSETS / file).read_bytes())
    return digest.hexdigest()[:20]


def scripts_key() -> str:
    """A hash of all figures' scripts: pages are written anew when one of them changes."""
    digest = hashlib.sha256()
    for file in sorted((ASSETS / "figures").rglob("*.js")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def draw(chromium: str, name: str, data: str) -> str | None:
    """The still, drawn now; None if the browser itself does not run. FigureError if the figure's script fails."""
    scripts = "".join(f"<script>{(ASSETS / file).read_text(encoding='utf-8')}</script>" for file in _scripts(name))
    with tempfile.TemporaryDirectory(prefix="w2s-still-") as folder:
        page = Path(folder, "page.html")
        page.write_text(PAGE.format(data=data, scripts=scripts, name=json.dumps(name)), encoding="utf-8")
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # as root Chromium has none
        try:
            done = subprocess.run([chromium, *ARGUMENTS, *sandbox, f"--user-data-dir={folder}/profile", "--dump-dom",
                                   page.as_uri()], capture_output=True, text=True, timeout=SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return None
    if failed := FAILED.search(done.stdout):
        raise FigureError(f"figure {name!r}: its script failed on this data: {html.unescape(failed[1])}")
    drawn = DRAWN.search(done.stdout)
    return drawn[1] if drawn else None


def keep_stills(root: Path) -> list[Path]:
    """Commit-ready copies in book/stills of the stills of the built book; those of no figure are deleted."""
    folder = root / "book" / "stills"
    folder.mkdir(exist_ok=True)
    found = {id: inner for page in sorted((root / "_build" / "html").rglob("*.html"))
             for id, _, _, inner, _ in FIGURE.findall(page.read_text(encoding="utf-8"))}
    for old in folder.glob("*.html"):
        if old.stem not in found:
            old.unlink()
    for id, inner in found.items():
        (folder / f"{id}.html").write_text(inner, encoding="utf-8")
    return [folder / f"{id}.html" for id in sorted(found)]


def _scripts(name: str) -> list[str]:
    return scripts_of(name, bool(ANSWERS & KEYS[name]))


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in keep_stills(Path(__file__).resolve().parents[2]))
