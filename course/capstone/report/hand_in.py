"""The text of a finished run, for the answer cell of `the_run` (chapter 17).

The models are rounded to 8 bits, and the engine answers with the rounded ones, so that a check can
follow its answers. The text's format is in `autograder/chapters/c17_capstone/run_format.py`.
"""

import json
import shutil
import tempfile
from pathlib import Path

import torch

from autograder.chapters.c17_capstone.run_format import FinishedRun, Weights, pack, rounded, shapes
from autograder.chapters.c17_capstone.run_items import QUESTIONS
from autograder.common.errors import CourseError
from course.capstone.export import export_sizes
from course.capstone.pretrain import make_model
from course.capstone.report.serving import make_engine
from course.capstone.stages import Run
from course.capstone.tokenizer import load_tokenizer
from course.capstone.tune import Examples
from reference_impl.corpora.cache import written_whole
from reference_impl.engine.loading import load
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.training.checkpoint import model_tensors
from reference_impl.weights.pretrained import hugging_face_state
from reference_impl.weights.safetensors_files import write_weights

GRADE_ID = "the_run"
LONGEST = 30
TOGETHER = 16
CELL = '''def the_run() -> str:
    """The text of a finished run, as `course capstone --notebook` writes it."""
    return """
{}
"""
'''
Answers = list[list[int]]


def weights_of(run: Run, stage: str) -> Weights:
    """A stage's tensors by name, each once."""
    model = run.load_weights(stage, make_model(run)).cpu()
    found = {name: one.detach() for name, one in model_tensors(model).items()}
    return {name: found[name] for name in shapes(export_sizes(model.config)) if name in found}


def engine_answers(run: Run, weights: Weights) -> tuple[Answers, Answers, Answers]:
    """Prompts as the exported chat template writes them; answers alone, and with 16 together."""
    model = make_model(run).cpu()
    with torch.no_grad():
        for name, tensor in model_tensors(model).items():
            tensor.copy_(weights[name])
    state = hugging_face_state(model)
    state.pop("lm_head.weight", None)  # it is the embedding
    params = SamplingParams(temperature=0.0, max_tokens=LONGEST)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "ferryman"
        shutil.copytree(run.path("export", "ferryman"), folder)
        write_weights(folder, state)
        loaded = load(folder)
    texts = [loaded.render_chat([{"role": "user", "content": one}]) for one in QUESTIONS]
    prompts = [list(loaded.tokenizer.encode(text).ids) for text in texts]
    alone = [_served(loaded, [prompt], params)[0] for prompt in prompts]
    together = []
    for start in range(0, len(prompts), TOGETHER):
        together += _served(loaded, prompts[start : start + TOGETHER], params)
    return prompts, alone, together


def _served(loaded, prompts: Answers, params: SamplingParams) -> Answers:
    return [list(one[0].ids) for one in make_engine(loaded).generate(prompts, params)]


def prompt_around(run: Run) -> tuple[list[int], list[int]]:
    """The ids before and after a question in the layout of the tuning."""
    examples, question = Examples(run), "47+85"
    ids, inner = examples.prompt(question), examples.tokenizer.encode(question)
    start = next(place for place in range(len(ids)) if ids[place : place + len(inner)] == inner)
    return ids[:start], ids[start + len(inner) :]


def run_text(run: Run) -> str:
    """The text of a finished run. Raises CourseError for one that is not finished."""
    if not run.is_finished("export"):
        raise CourseError(f"{run.folder} is not finished: run `course capstone` first")
    config = export_sizes(make_model(run).config)
    config.pop("tie_word_embeddings")
    tokenizer = load_tokenizer(run)
    tuned, reinforced = rounded(weights_of(run, "tune"), weights_of(run, "reinforce"))
    return pack(
        FinishedRun(
            config,
            list(tokenizer.vocabulary.tokens),
            list(tokenizer.merges),
            prompt_around(run),
            list(QUESTIONS),
            *engine_answers(run, reinforced),
            tuned,
            reinforced,
        )
    )


def answer_cell(notebook: Path) -> tuple[dict, dict]:
    """The notebook as JSON, and its answer cell. Raises CourseError."""
    try:
        document = json.loads(notebook.read_text(encoding="utf-8"))
        cells = [
            cell
            for cell in document["cells"]
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == GRADE_ID
        ]
    except FileNotFoundError:
        raise CourseError(f"{notebook} does not exist: give your notebook of chapter 17") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise CourseError(f"{notebook} is no notebook: give your notebook of chapter 17") from None
    if len(cells) != 1:
        raise CourseError(
            f"{notebook} has {len(cells)} answer cells of `{GRADE_ID}`, not one: give your notebook"
            " of chapter 17"
        )
    return document, cells[0]


def write_cell(notebook: Path, text: str) -> None:
    """Put the text into the notebook's answer cell, folded. Raises CourseError."""
    document, cell = answer_cell(notebook)
    cell["source"] = CELL.format(text).splitlines(keepends=True)
    cell["outputs"], cell["execution_count"] = [], None
    cell["metadata"]["jupyter"] = {"source_hidden": True}
    with written_whole(notebook) as temporary:
        whole = json.dumps(document, indent=1, ensure_ascii=False)
        temporary.write_text(whole + "\n", encoding="utf-8")
        shutil.copymode(notebook, temporary)
