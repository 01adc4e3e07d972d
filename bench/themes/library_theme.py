"""What this course needs from Sphinx beside a library's theme: executed pages,
figures' scripts.

The counterpart of book/_ext/course_theme.py in the trial of themes (bench/themes.py). It leaves all
that the theme itself loads on the page.
"""

import os
import shutil
from pathlib import Path

import course_theme
from sphinx.util.fileutil import copy_asset

from course.book.build import cache as book_cache

ASSETS = Path(course_theme.__file__).resolve().parents[1] / "assets"


def set_up_execution(app, config):
    """Use the executed pages that `course book` left."""
    config.nb_execution_cache_path = str(book_cache.cache_path(Path(app.outdir).parents[1]))
    os.environ[book_cache.IN_BOOK] = "1"


def add_quiz(app, pagename, templatename, context, doctree):
    """The script of the quiz that the page holds."""
    if "data-w2s-questions" in context.get("body", ""):
        app.add_js_file("questions.js", loading_method="defer")


def finish(app, error):
    """The assets, from disk."""
    if error is None and app.builder.format == "html":
        copy_asset(str(ASSETS), str(Path(app.outdir, "_static")))
        shutil.copy(Path(__file__).with_name("library.css"), Path(app.outdir, "_static"))


def setup(app):
    """Connect the three; figures bring their own scripts."""
    app.setup_extension("figures")
    app.connect("config-inited", set_up_execution)
    app.connect("html-page-context", add_quiz)
    app.connect("build-finished", finish, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
