"""Numbers that a page would otherwise type: the roles {minutes}, {counted} and {release}, and the
minutes at the head of each page.

{minutes}`pmi`           minutes of the page beside this one
{counted}`exercises 01`       see course/book/review/reading_time.py
{release}`vllm`          the release of vLLM, SGLang or transformers that chapter 16's guide names
"""

from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from course.book.pages.records import beside
from course.book.review import reading_time as reading
from course.book.review.source_guide import release


class Minutes(SphinxRole):
    """{minutes}`PAGE`: how long that page takes, PAGE relative to this one, without its ending."""

    def run(self):
        page = (Path(self.env.doc2path(self.env.docname)).parent / f"{self.text}.md").resolve()
        if not page.exists():
            return [], [
                self.inliner.reporter.error(
                    f"{{minutes}}: there is no page {self.text!r} here", line=self.lineno
                )
            ]
        self.env.note_dependency(str(page))
        return [nodes.Text(str(reading.minutes(page)))], []


class Counted(SphinxRole):
    """{counted}`WHAT`: a number of the course."""

    def run(self):
        folder = Path(self.env.doc2path(self.env.docname)).parent
        try:
            return [nodes.Text(f"{reading.counted(self.text, folder):g}")], []
        except (ValueError, KeyError) as error:
            return [], [self.inliner.reporter.error(f"{{counted}}: {error}", line=self.lineno)]


class Release(SphinxRole):
    """{release}`SYSTEM`: the release in which the files of that system were looked up."""

    def run(self):
        self.env.note_dependency(str(beside("16-review/source-guide.yml")))
        try:
            return [nodes.Text(release(self.text))], []
        except ValueError as error:
            return [], [self.inliner.reporter.error(f"{{release}}: {error}", line=self.lineno)]


def say_minutes(app, pagename, templatename, context, doctree):
    """Put the computed minutes where the theme looks for them."""
    source = Path(app.srcdir, f"{pagename}.md")
    if doctree is not None and source.exists() and reading.amounts(source)["word"] > 100:
        context["meta"] = {**(context.get("meta") or {}), "minutes": reading.minutes(source)}


def setup(app):
    """Register the roles and the event."""
    app.add_role("minutes", Minutes())
    app.add_role("counted", Counted())
    app.add_role("release", Release())
    app.connect("html-page-context", say_minutes)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
