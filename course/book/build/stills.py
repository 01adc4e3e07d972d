"""The still picture of a figure, drawn by the figure's own script in a headless Chromium.

    still("window-counts", "window-counts", data, root)

It stands on the page before scripts run, in print, and for readers without scripts. Drawn ones are
kept in _build/stills by a hash of scripts and data; `draw_ahead` draws those of many pages by
starting the browser once. Where there is no Chromium, the still that is committed in book/stills is
taken, by the figure's id; `python -m course.book.build.stills` puts those of the built book there.
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
from collections.abc import Iterable
from pathlib import Path

from course.book.captions import FigureError
from course.book.pages.figures import ANSWERS, ASSETS, KEYS, scripts_of

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-component-update",
    "--hide-scrollbars",
    "--window-size=760,2000",
    "--virtual-time-budget=3000",
)
SECONDS = 60
FIGURE = re.compile(
    r'<figure class="w2s-figure" id="figure-([\w-]+)" data-w2s-figure="([\w-]+)">'
    r'<div class="w2s-still" role="img" aria-label="([^"]*)">(.*?)</div>'
    r'<script type="application/json">(.*?)</script>',
    re.S,
)
DRAWN = re.compile(r'<template class="drawn">(.*?)</template>', re.S)
FAILED = re.compile(r'<pre class="failed" title="([^"]*)">(.*?)</pre>', re.S)
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><body><script>
const failed = (names, message) => {{
  const pre = document.createElement("pre"); pre.className = "failed"; pre.title = names;
  pre.textContent = message; document.body.append(pre); }};
addEventListener("error", (event) => failed({names}.join(", "), event.message));
</script>{data}{scripts}<script>
{names}.forEach((name, i) => {{
  try {{
    const drawn = document.createElement("template"); drawn.className = "drawn";
    drawn.innerHTML = w2s.stillOf(
      name, JSON.parse(document.getElementById(`data${{i}}`).textContent));
    document.body.append(drawn);
  }} catch (error) {{ failed(name, error.message); }}
}});
</script>"""


def still(name: str, id: str, data: str, root: Path) -> str:
    """The still as HTML. `data` is the JSON that stands on the page.

    Raises FigureError if the script fails on the data, or if there is neither a Chromium nor a
    committed still.
    """
    kept = _kept(root, key(name, data))
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    committed = root / "book" / "stills" / f"{id}.html"
    chromium = find_chromium()
    drawn = draw(chromium, [(name, data)]) if chromium else None
    if drawn is None:
        if not committed.is_file():
            raise FigureError(
                f"figure {id!r} has no still: there is no {committed}, and no Chromium that runs"
                " here to draw one; install chromium and build again"
            )
        return committed.read_text(encoding="utf-8")
    _keep(root, name, data, drawn[0])
    return drawn[0]


def draw_ahead(bodies: Iterable[str], root: Path) -> int:
    """Draw the stills that figures in some HTML have not yet, and keep them for `still`; how many.

    None where there is no Chromium or a script fails: then `still` takes the committed one or names
    the figure.
    """
    wanted = {
        key(name, data): (name, data)
        for body in bodies
        for _, name, _, _, data in FIGURE.findall(body)
    }
    missing = [figure for hashed, figure in wanted.items() if not _kept(root, hashed).is_file()]
    chromium = find_chromium() if missing else None
    try:
        drawn = draw(chromium, missing) if chromium else None
    except FigureError:
        return 0
    for figure, one in zip(missing, drawn or []):
        _keep(root, *figure, one)
    return len(drawn or [])


def fill(body: str, root: Path) -> str:
    """A page's HTML with the still of each of its figures."""

    def with_still(match: re.Match) -> str:
        id, name, _, _, data = match.groups()
        start, end = match.span(4)
        return body[match.start() : start] + still(name, id, data, root) + body[end : match.end()]

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


def draw(chromium: str, figures: list[tuple[str, str]]) -> list[str] | None:
    """The stills of figures (name, data), drawn now in one browser; None if the browser itself does
    not run.

    FigureError if a figure's script fails.
    """
    with_models = any(ANSWERS & KEYS[name] for name, _ in figures)
    files = dict.fromkeys(file for name, _ in figures for file in scripts_of(name, with_models))
    scripts = "".join(
        f"<script>{(ASSETS / file).read_text(encoding='utf-8')}</script>" for file in files
    )
    data = "".join(
        f'<script type="application/json" id="data{i}">{one}</script>'
        for i, (_, one) in enumerate(figures)
    )
    with tempfile.TemporaryDirectory(prefix="w2s-still-") as folder:
        page = Path(folder, "page.html")
        page.write_text(
            PAGE.format(
                data=data, scripts=scripts, names=json.dumps([name for name, _ in figures])
            ),
            encoding="utf-8",
        )
        dom = _dumped(chromium, page)
    if dom is None:
        return None
    if failed := FAILED.search(dom):
        raise FigureError(
            f"figure {html.unescape(failed[1])!r}: its script failed on this data:"
            f" {html.unescape(failed[2])}"
        )
    drawn = DRAWN.findall(dom)
    return drawn if len(drawn) == len(figures) else None


def _dumped(chromium: str, page: Path) -> str | None:
    """The page's DOM after its scripts ran; None if the browser does not run."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    sandbox = ["--no-sandbox"] if is_root else []  # as root Chromium has none
    profile = f"--user-data-dir={page.parent}/profile"
    command = [chromium, *ARGUMENTS, *sandbox, profile, "--dump-dom", page.as_uri()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout


def keep_stills(root: Path) -> list[Path]:
    """Commit-ready copies in book/stills of the stills of the built book; those of no figure are
    deleted.
    """
    folder = root / "book" / "stills"
    folder.mkdir(exist_ok=True)
    found = {
        id: inner
        for page in sorted((root / "_build" / "html").rglob("*.html"))
        for id, _, _, inner, _ in FIGURE.findall(page.read_text(encoding="utf-8"))
    }
    for old in folder.glob("*.html"):
        if old.stem not in found:
            old.unlink()
    for id, inner in found.items():
        (folder / f"{id}.html").write_text(inner, encoding="utf-8")
    return [folder / f"{id}.html" for id in sorted(found)]


def _kept(root: Path, hashed: str) -> Path:
    return root / "_build" / "stills" / f"{hashed}.html"


def _keep(root: Path, name: str, data: str, drawn: str) -> None:
    path = _kept(root, key(name, data))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(drawn, encoding="utf-8")


def _scripts(name: str) -> list[str]:
    return scripts_of(name, bool(ANSWERS & KEYS[name]))


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in keep_stills(Path(__file__).resolve().parents[3]))
