"""The directives {predict} and {calibration}: say what a cell will show before you see it.

    ```{predict} pairs-at-width-one
    How many pairs do the four headlines give at width 1?
    ```

    ```{code-cell} python
    pairs = ...
    revealed("pairs-at-width-one", pairs, "pairs")
    ```

With `:choose: it rises | it falls` the reader picks one of the options. The cell that ends in
`revealed(...)` of the same name is the one whose output waits; it stands below the directive on the
same page (course/book/pages/predictions.py).

Without scripts, and in print, question and output are both simply there. With assets/predict.js the
output is shown once the reader has answered or asked to see it, beside the answer and how far off
it was. Answers are kept in the reader's browser. {calibration}, on the last page of a chapter,
lists all predictions of the chapter's folder.
"""

import html
import re

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
SURE = (("0.5", "a guess"), ("0.8", "fairly sure"), ("0.95", "sure"))


class CalibrationList(nodes.General, nodes.Element):
    """Where the chapter's predictions will be listed, once all pages are read."""


def _raw(text):
    return nodes.raw("", text, format="html")


class Predict(SphinxDirective):
    """{predict} NAME: a question whose answer is the output of a cell further down."""

    required_arguments = 1
    has_content = True
    option_spec = {"choose": directives.unchanged_required, "unit": directives.unchanged}

    def run(self):
        name = self.arguments[0]
        if not NAME.match(name):
            raise self.error(f"{{predict}} {name!r}: use lower-case words joined by hyphens")
        if not self.content:
            raise self.error(f"{{predict}} {name}: ask a question in the directive's body")
        options = [
            option.strip() for option in self.options.get("choose", "").split("|") if option.strip()
        ]
        if "choose" in self.options and len(options) < 2:
            raise self.error(
                f"{{predict}} {name}: choose needs two options or more, separated by |"
            )
        asked = self.env.__dict__.setdefault("w2s_predictions", {}).setdefault(self.env.docname, {})
        if name in asked:
            raise self.error(
                f"{{predict}} {name}: the page asks this twice; give each prediction its own name"
            )
        question = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, question)
        asked[name] = question.astext().strip()
        key = html.escape(f"{self.env.docname}#{name}", quote=True)
        field = f"predict-{name}"
        return [
            _raw(
                f'<section class="w2s-predict" id="{field}" data-w2s-predict="{name}"'
                f' data-key="{key}" data-kind="{"choice" if options else "number"}"'
                f' aria-labelledby="{field}-ask"><div class="w2s-ask" id="{field}-ask"><strong'
                ' class="w2s-ask-head">Predict.</strong>'
            ),
            *question.children,
            _raw("</div>" + self._form(field, options) + "</section>"),
        ]

    def _form(self, field, options):
        if options:
            answer = (
                '<fieldset><legend class="visually-hidden">Your prediction</legend>'
                + "".join(
                    f'<label><input type="radio" name="{field}"'
                    f' value="{html.escape(option, quote=True)}" required>'
                    f" {html.escape(option)}</label>"
                    for option in options
                )
                + "</fieldset>"
            )
        else:
            unit = html.escape(self.options.get("unit", ""))
            answer = (
                '<label>Your prediction <span class="nobr"><input type="text" inputmode="decimal"'
                f' name="{field}" autocomplete="off" required aria-describedby="{field}-said">'
                f" {unit}</span></label>"
            )
        sure = "".join(f'<option value="{value}">{word}</option>' for value, word in SURE)
        return (
            f'<form class="w2s-predict-form" hidden>{answer} <label>This is <select'
            f' name="sure">{sure}</select></label> <button type="submit">Compare</button> <button'
            ' type="button" class="w2s-peek">Show without predicting</button></form><p'
            f' class="w2s-said" id="{field}-said" role="status"></p>'
        )


class Calibration(SphinxDirective):
    """{calibration}: the chapter's predictions, and how sure and how right the reader was."""

    def run(self):
        return [CalibrationList()]


def list_predictions(app, doctree, docname):
    """Put links to all predictions of the folder in the place of {calibration}."""
    folder = docname.rpartition("/")[0]
    for place in list(doctree.findall(CalibrationList)):
        rows = []
        every = {**getattr(app.env, "w2s_predictions", {})}
        order = [
            name
            for name in _reading_order(app.env)
            if name in every and name.rpartition("/")[0] == folder
        ]
        for page in order:
            title = html.escape(app.env.titles[page].astext())
            for name, question in every[page].items():
                link = app.builder.get_relative_uri(docname, page) + f"#predict-{name}"
                rows.append(
                    f'<li data-key="{html.escape(page, quote=True)}#{name}"><a'
                    f' href="{link}">{title}</a>: {html.escape(short(question))}<span'
                    ' class="w2s-own"></span></li>'
                )
        place.replace_self(
            _raw(
                '<div class="w2s-calibration" data-w2s-predict="calibration"><ol>'
                + "".join(rows)
                + '</ol><p role="status" class="w2s-calibrated"></p><button type="button"'
                " hidden>Forget my predictions of this chapter</button></div>"
            )
        )


def short(question):
    """The last sentence that asks, without what leads up to it."""
    sentence = re.findall(r"[^.?!]*\?", question)
    return (sentence[-1] if sentence else question).strip()


def _reading_order(env):
    seen, waiting = [], [env.config.root_doc]
    while waiting:
        page = waiting.pop(0)
        if page not in seen:
            seen.append(page)
            waiting = [*env.toctree_includes.get(page, []), *waiting]
    return seen


def add_assets(app, pagename, templatename, context, doctree):
    """Script and style on pages that ask; a warning for a question without its cell, and the other
    way round.
    """
    body = context.get("body") or ""
    if "data-w2s-predict" in body:
        app.add_js_file("predict.js", loading_method="defer")
        app.add_css_file("predict.css")
    asked = set(
        re.findall(r'<section class="w2s-predict"[^>]*data-w2s-predict="([a-z0-9-]+)"', body)
    )
    shown = re.findall(r'data-w2s-revealed="([a-z0-9-]+)"', body)
    for name in sorted(asked ^ set(shown)):
        what = (
            "has no cell that ends in revealed(...)"
            if name in asked
            else "is revealed, but no {predict} asks for it"
        )
        logging.getLogger(__name__).warning(
            f"{pagename}: the prediction {name!r} {what}", type="w2s", subtype="predict"
        )


def forget(app, env, docname):
    """A page that is read again asks anew."""
    getattr(env, "w2s_predictions", {}).pop(docname, None)


def merge(app, env, docnames, other):
    """What was read in another process."""
    env.__dict__.setdefault("w2s_predictions", {}).update(
        {
            name: asked
            for name, asked in getattr(other, "w2s_predictions", {}).items()
            if name in docnames
        }
    )


def setup(app):
    """Register the directives and what goes with them."""
    app.add_node(CalibrationList)
    app.add_directive("predict", Predict)
    app.add_directive("calibration", Calibration)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-resolved", list_predictions)
    app.connect("html-page-context", add_assets)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
