"""Figures that move: one call that gives a static page its HTML and a live notebook a widget.

    from course.book.pages.figures import figure
    figure("window-counts", data, caption="...", alt="...")

The drawing is book/assets/figures/NAME.js, on the kit beside it; the format of `data` stands at the
top of that file. In a page of the book the call gives a <figure> with the data as inert JSON and
the caption; when the page is written, the same script draws the still picture (see `stills`), and
in a browser it takes over. In a live notebook the call gives an anywidget that wraps the same
script. A model that answers in the page comes with `data["model"]` (see `page_models`).
"""

import html
import json
import math

from autograder.common.course_files import ROOT
from course.book.build.cache import in_book
from course.book.captions import FigureError, checked_words, inline

ASSETS = ROOT / "book" / "assets"
KIT = ("core", "controls", "drawing", "charts", "models")
RUNTIME = (
    "numbers",
    "attention",
    "transformers",
    "lora",
    "positions",
    "recurrent",
    "counts",
    "tokenizers",
    "sampling",
    "searching",
    "runtime",
)
KEYS = {  # what each figure's data must have; the formats are described in the js files
    "window-counts": {"sentences", "vocabulary", "window"},
    "skipgram-training": {"words", "snapshots"},
    "bank-neighbours": {"words", "senses", "methods", "neighbours"},
    "word-mixtures": {"model", "examples"},
    "softmax-bars": {"words", "scores", "at", "task"},
    "probe-ratio": {"first", "second", "probes", "task"},
    "character-ngrams": {"least", "most", "pairs", "task"},
    "rank-lines": {"pairs", "tables", "task"},
    "association-dots": {"left", "right", "groups", "tables", "task"},
    "bank-moves": {"model", "word", "plane", "uses", "examples"},
    "model-map": {"parts", "tokens", "cells", "next"},
    "text-cuts": {"texts", "vocabularies"},
    "bpe-training": {"words", "merges"},
    "bpe-encoding": {"examples", "vocabularies"},
    "longest-match": {"examples", "vocabularies"},
    "unigram-lattice": {"pieces"},
    "model-input": {"first", "second", "length", "batch"},
    "token-price": {"counters", "languages"},
    "next-word-shares": {"sentences", "examples"},
    "text-judged": {"models", "examples"},
    "rnn-unrolled": {"task", "words", "input", "weight", "most"},
    "lstm-cell": {"task", "start", "candidate", "weight", "most", "gates"},
    "lstm-gates": {"model", "examples"},
    "scan-rounds": {"task", "decay", "added"},
    "spelling-looks": {"model", "examples"},
    "two-readers": {"model", "word", "layer", "uses", "planes", "examples"},
    "seen-by-layer": {"words", "place", "readers"},
    "dropout-cuts": {"rates", "words", "task"},
    "byte-patches": {"texts", "threshold", "most", "task"},
    "qkv-flow": {"words", "at", "task", "size", "query", "keys", "values"},
    "head-split": {"words", "at", "task", "query", "keys", "counts", "heads"},
    "attention-plane": {"words", "at", "task", "size", "query", "keys", "values", "drawn"},
    "attention-maps": {"models", "examples", "recorded", "layer", "head", "task"},
    "position-kinds": {"task", "model", "kinds", "before", "shifts", "examples"},
    "two-clocks": {"task", "words", "query", "key", "places", "most", "speeds"},
    "score-by-position": {"task", "kinds", "queries", "scores", "explained"},
    "block-sizes": {"task", "examples"},
    "residual-stream": {"task", "words", "at", "weights"},
    "encoder-decoder": {"task", "source", "target", "written", "reads", "writes", "backs"},
    "induction-heads": {"task", "tokens", "half", "heads", "next", "right"},
    "three-attentions": {"task", "model", "examples"},
    "input-sum": {"texts", "at", "word", "position", "segment", "most"},
    "mask-draws": {"texts", "others", "share", "masked", "replaced", "vocabularies"},
    "pair-guess": {"tasks"},
    "encoder-sizes": {"examples"},
    "filled-blanks": {"model", "mask", "examples"},
    "training-stages": {"curve", "other", "levels", "stages"},
    "asked-again": {"texts", "share", "copies", "most"},
    "soft-targets": {"examples"},
    "task-heads": {"tasks", "most"},
    "tuned-runs": {"groups", "every", "levels", "start"},
    "suspicion": {"model", "examples", "tries"},
    "ranked-texts": {"sets"},
    "packed-rows": {"examples", "longest"},
    "asked-texts": {"model", "width", "longest", "sets"},
    "tags-by-hand": {"kinds", "sentences"},
    "span-sums": {"questions", "longest"},
    "maxsim-grid": {"task", "query", "texts"},
    "confusion-counts": {"task", "counts", "most"},
    "inverted-lists": {"task", "lists", "query", "probes"},
    "sparse-patterns": {"tokens", "windows", "random", "presets"},
    "span-cuts": {"texts", "share", "span", "seed", "whole"},
    "spoken-order": {"tokens", "orders"},
    "writing-loop": {"model", "examples"},
    "bent-shares": {"model", "tokens", "examples", "presets"},
    "beam-tree": {"model", "tables", "examples"},
    "chain-votes": {"models", "most", "examples"},
    "penalised-logits": {"task", "tokens", "at"},
    "split-sums": {"task", "numbers", "digits", "chunks"},
    "chosen-samples": {"task", "sizes", "at", "ways", "greedy", "tokens"},
    "minhash-bands": {"texts", "size", "bands", "rows", "task"},
    "tuning-mix": {"task", "kinds"},
    "reward-runs": {"task", "runs", "at"},
    "share-intervals": {"task", "first", "second", "sizes", "at"},
    "clipped-ratio": {"clip", "most", "run", "tested"},
    "advantage-mix": {"tokens", "answers", "critics", "at", "critic", "task"},
    "level-rounding": {"formats", "spread", "at", "format", "task"},
    "rule-beliefs": {"model", "rules", "examples"},
    "before-after": {"models", "examples", "most", "temperature"},
    "chat-labels": {"vocabularies", "examples", "start", "end"},
    "lora-cut": {"ranks", "full", "layers"},
    "wrong-line": {"lines", "prompts", "uniform"},
    "rotary-pairs": {"query", "key", "words", "places", "most", "bases", "base"},
    "key-heads": {"sizes", "gigabytes", "bits", "tokens", "at"},
    "expert-queues": {"task", "experts", "tokens", "capacities", "at", "routers"},
    "dying-units": {
        "points",
        "start",
        "rates",
        "slopes",
        "scales",
        "chosen",
        "steps",
        "momentum",
        "clip",
        "xLabel",
        "yLabel",
    },
    "preference-pull": {"pairs", "beta", "most"},
    "next-token": {"models", "examples"},
    "gpt-sizes": {"examples"},
    "training-run": {"training", "held", "levels", "stages", "clip"},
    "budget-split": {"laws", "budgets"},
    "two-endings": {"model", "examples"},
    "running-softmax": {"task", "examples", "most"},
    "program-lanes": {"task", "most", "blocks", "start"},
    "loop-order": {
        "task",
        "multiprocessors",
        "width",
        "columns",
        "sequences",
        "heads",
        "length",
        "rows",
        "start",
    },
    "tile-walk": {"task", "words", "scores", "width", "size"},
    "warp-sectors": {"task", "lanes", "sector", "line", "sizes", "strides", "offsets", "start"},
    "tile-order": {"task", "size", "together", "groups", "start"},
    "memory-traffic": {"task", "machine", "tokens", "width", "size", "rows", "columns"},
    "attention-roofline": {"task", "machines", "lengths", "widths", "rows", "start"},
    "cache-filling": {"model", "bytes", "examples"},
    "cache-places": {"texts", "longest", "size", "bytes"},
    "block-pool": {"blocks", "size", "room", "runs"},
    "prefix-tree": {"size", "chats", "most"},
    "radix-tree": {"task", "size", "prompts"},
    "window-blocks": {"task", "size", "most", "at", "groups"},
    "table-walk": {"blocks", "size", "table", "words", "weights", "values"},
    "file-header": {"files"},
    "block-rounding": {"rows"},
    "rope-bases": {"size", "base", "pair", "bases", "reaches", "places"},
    "two-blocks": {"tokens", "side", "blocks"},
    "distance-rows": {"task", "tokens", "most", "span", "rows"},
    "shared-blocks": {"task", "vocabulary", "positions", "width", "narrow", "layers", "block"},
    "local-pairs": {"most", "known"},
    "block-tiles": {"task", "lengths", "sides", "sizes", "start"},
    "three-cuts": {"gpus", "most", "sums", "loads", "start"},
    "glass-gpu": {"task", "runs", "machines"},
    "gpu-costs": {"sizes", "machine", "context", "start"},
    "arrival-queue": {"lengths", "gaps", "patience", "places", "loads", "clients", "start"},
    "letter-blanks": {"models", "blank", "before", "shifts", "examples"},
    "batch-board": {"examples", "most"},
    "request-life": {"task", "prompt", "moments"},
    "draft-tree": {"task", "context", "tokens", "parents", "paths"},
    "host-device": {"task", "kernels", "start", "most"},
    "all-to-all": {"task", "tokens", "gpus", "experts", "routers"},
    "router-choice": {"task", "block", "request", "replicas", "weight"},
    "trace-player": {"runs", "start", "requests", "choices"},
    "recorded-run": {"task", "lines", "budgets"},
    "guess-verify": {"examples", "rules", "most", "cost"},
    "grammar-walk": {"examples", "vocabulary", "forms"},
    "judged-sentences": {"rows", "asked"},
    "proof-table": {"tables"},
    "memory-curve": {"task", "w", "goal", "start", "most"},
    "forgetting-curve": {"points", "law", "best", "start", "half"},
}
PARTS = {"recorded-run": ("replay",)}  # what else a figure runs, from figures/parts
ANSWERS = {
    "model",
    "models",
    "vocabularies",
}  # with one of these in its data, a figure needs the runtime of models


class Figure:
    """A moving figure, displayed by Jupyter and by the book through `_repr_mimebundle_`."""

    def __init__(self, name: str, data: dict, caption: str, alt: str, id: str):
        self.name, self.data, self.caption, self.alt, self.id = name, data, caption, alt, id

    def to_html(self) -> str:
        """The static form: room for the still, the data for the script, and the caption."""
        # "<" as an escape keeps "</script>" in a word from ending the element
        text = json.dumps(self.data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        return (
            f'<figure class="w2s-figure" id="figure-{self.id}" data-w2s-figure="{self.name}">'
            '<div class="w2s-still" role="img"'
            f' aria-label="{html.escape(self.alt, quote=True)}"></div>'
            f'<script type="application/json">{text}</script>'
            f"<figcaption>{inline(self.caption)}</figcaption></figure>"
        )

    def to_words(self) -> str:
        """For a notebook that cannot run widgets: what the figure shows, and its caption."""
        return (
            f"<figure><p>{html.escape(self.alt)}</p>"
            f"<figcaption>{inline(self.caption)}</figcaption></figure>"
        )

    def to_widget(self):
        """The live form: an anywidget that runs the same script.

        Needs a notebook front end to be of use.
        """
        import anywidget
        import traitlets

        class CourseFigure(anywidget.AnyWidget):
            _esm = widget_module(self.name)
            _css = widget_styles()
            data = traitlets.Dict().tag(sync=True)
            caption = traitlets.Unicode().tag(sync=True)
            alt = traitlets.Unicode().tag(sync=True)

        widget = CourseFigure(data=self.data, caption=inline(self.caption), alt=self.alt)
        if ANSWERS & set(self.data):
            widget.on_msg(_bring_model)
        return widget

    def _repr_mimebundle_(self, include=None, exclude=None):
        plain = f"{self.alt}\n{self.caption}"
        if in_book():
            return {"text/html": self.to_html(), "text/plain": plain}
        bundle = self.to_widget()._repr_mimebundle_()
        bundle, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**bundle, "text/html": self.to_words(), "text/plain": plain}, metadata


def figure(name: str, data: dict, caption: str, alt: str, id: str | None = None) -> Figure:
    """A moving figure, ready to be the last value of a cell.

    name: one of KEYS. data: JSON-serialisable, finite numbers only. caption: one or two sentences;
    `code` and *emphasis* are understood. alt: what the still picture shows, for those who cannot
    see it. id: the figure's own name in the book, for links and for its still; `name` unless told,
    and so needed where a name is used twice. Raises FigureError for an unknown name, missing data,
    or an empty caption or alt.
    """
    if name not in KEYS:
        raise FigureError(f"there is no figure {name!r}; choose one of {', '.join(sorted(KEYS))}")
    missing = KEYS[name] - set(data)
    if missing:
        raise FigureError(
            f"figure {name!r}: the data lacks {', '.join(sorted(missing))}; "
            f"the format stands at the top of book/assets/figures/{name}.js"
        )
    caption, alt = checked_words(f"figure {name!r}", caption, alt)
    return Figure(name, _plain(data, name), caption, alt, id or name)


def scripts_of(name: str, with_models: bool) -> list[str]:
    """The scripts that a figure needs, below book/assets/, in the order in which they must run."""
    models = [f"models/{part}.js" for part in RUNTIME] if with_models else []
    parts = [f"figures/parts/{part}.js" for part in PARTS.get(name, ())]
    kit = [f"figures/kit/{part}.js" for part in KIT]
    return [*kit, *models, *parts, f"figures/{name}.js"]


def widget_module(name: str) -> str:
    """The figure's scripts as one ES module that anywidget can load.

    Models come from the kernel when asked for.
    """
    text = "\n".join(_asset(file) for file in scripts_of(name, bool(ANSWERS & KEYS[name])))
    return f"""{text}
export default {{
  render({{ model, el }}) {{
    if (window.w2s.models) window.w2s.models.source = (name) => new Promise((resolve, reject) => {{
      model.on("msg:custom", (message, buffers) => {{
        if (message.error) reject(new Error(message.error));
        else resolve({{ ...message.archive, weights: new Uint8Array(
          buffers[0].buffer, buffers[0].byteOffset, buffers[0].byteLength).slice().buffer }});
      }});
      model.send({{ model: name }});
    }});
    window.w2s.widget("{name}", el, model.get("data"), model.get("caption"), model.get("alt"));
  }}
}};
"""


def widget_styles() -> str:
    """The palette and the figures' styles, confined to the widget and following
    JupyterLab's theme.
    """
    palette = _asset("palette.css").replace(":root", ".w2s-widget")
    return (
        palette
        + _asset("figures/figures.css")
        + """
body[data-jp-theme-light="false"] .w2s-widget { color-scheme: dark; }
body[data-jp-theme-light="true"] .w2s-widget { color-scheme: light; }
"""
    )


def _bring_model(widget, content, buffers):
    """Answer a widget that asks for a model: card and tokenizer as JSON, the weights as bytes."""
    from course.book.pages.models import archive
    from reference_impl.corpora.cache import CorpusError

    try:
        found = archive(str(content["model"]))
    except (CorpusError, KeyError) as error:
        widget.send({"error": str(error)})
        return
    weights = found.pop("weights")
    widget.send({"archive": found}, [weights])


def _asset(name):
    path = ASSETS / name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FigureError(
            f"{path} is missing; figures need the repository's book/assets/ folder"
        ) from None


def _plain(value, name):
    """`value` with tensors, arrays and numpy numbers as plain Python, so that it can be JSON."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(item, name) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, name) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise FigureError(
                f"figure {name!r}: the data holds {value}; only finite numbers can be drawn"
            )
        return round(value, 5)
    if value is None or isinstance(value, (str, int, bool)):
        return value
    raise FigureError(
        f"figure {name!r}: the data holds a {type(value).__name__}; use numbers, text, lists and"
        " dicts"
    )
