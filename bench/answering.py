"""Where is the answer? MiniLM fine-tuned with a span head, on texts with one person and on texts
with two.

    python bench/answering.py        about six minutes on one core; --seeds 0 does one of five

Questions and texts are invented with real names (`reference_impl/corpora/invented.py`): of each
person a text says two things, and with two persons the same two of both, so that neither the kind
of the answer nor the question's verb singles it out. Names are divided anew for each of five seeds,
and the 100 questions to be tested with have new names. Three models learn for as many steps: MiniLM
on texts with one person, MiniLM on texts with two, and the same network from weights as they are
drawn, on texts with one. All are tested on both kinds. Beside them stands a rule that is told where
every name stands and takes a name from the sentence that shares most words with the question.

An answer is the best span of the text (`measure/answers.py`), judged by SQuAD's two scores. Counted
as well: how often the best start and the best end by themselves make no span of the text. Kept: the
logits of twelve questions of seed 0.
"""

import argparse
import json
import os
import time
from collections.abc import Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402  (threads are set before torch starts)
from record import RESULTS, save  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.invented import Asked, Names, asked, names  # noqa: E402
from reference_impl.measure.answers import best_spans, exact_match, token_f1  # noqa: E402
from reference_impl.models.bert import Bert  # noqa: E402
from reference_impl.models.bert_tasks import BertForQuestionAnswering  # noqa: E402
from reference_impl.objectives.task_losses import span_answering, text_batch  # noqa: E402
from reference_impl.training.fine_tuning import FineTuningConfig, fine_tuning_groups  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

SEEDS, BATCH, TESTED, STEPS = 5, 8, 100, 120
MODELS = {
    "one person": 1,
    "two persons": 2,
    "from random weights": 1,
}  # how many persons the texts to learn from have
RATES = FineTuningConfig(learning_rate=5e-4, layer_decay=0.9, head_scale=5.0, weight_decay=0.01)


def as_batch(some: Sequence[Asked]) -> dict[str, Tensor]:
    """Questions and texts as pairs of segments, and which tokens the answers begin and end at."""
    tokenizer, rows, places = corpora.load("bert_tokenizer"), [], []
    for one in some:
        row = tokenizer.encode(" ".join(one.question), " ".join(one.text))
        words = [(part, word) for part, word in zip(row.sequence_ids, row.word_ids, strict=True)]
        last = len(words) - 1 - words[::-1].index((1, one.end))
        rows.append(row)
        places.append((words.index((1, one.start)), last))
    starts, ends = torch.tensor(places).T
    return {
        **text_batch([row.ids for row in rows], [row.type_ids for row in rows]),
        "starts": starts,
        "ends": ends,
    }


@torch.no_grad()
def judged(
    model: BertForQuestionAnswering, some: Sequence[Asked]
) -> tuple[dict[str, float], list[dict]]:
    """SQuAD's two scores, the share of argmax pairs that make no span of the text, and every
    question's logits and answer.
    """
    model.eval()
    tokenizer, rows = corpora.load("bert_tokenizer"), []
    for first in range(0, len(some), 50):
        batch = as_batch(some[first : first + 50])
        for one, start, end in zip(
            some[first : first + 50],
            *model(batch["ids"], batch["segments"], batch["mask"]),
            strict=True,
        ):
            text = " ".join(one.text)
            row = tokenizer.encode(" ".join(one.question), text)
            inside = torch.tensor([part == 1 for part in row.sequence_ids])
            start, end = start[: len(row)], end[: len(row)]
            span = best_spans(start, end, inside)[0]
            said = text[row.offsets[span.start][0] : row.offsets[span.end][1]]
            apart = int(start.argmax()), int(end.argmax())
            rows.append(
                {
                    "said": said,
                    "true": one.answer,
                    "no span": not (apart[0] <= apart[1] and bool(inside[list(apart)].all())),
                    "tokens": row.tokens,
                    "inside": inside.tolist(),
                    "start": start.tolist(),
                    "end": end.tolist(),
                }
            )
    scores = {
        "exact": sum(exact_match(row["said"], [row["true"]]) for row in rows) / len(rows),
        "f1": sum(token_f1(row["said"], [row["true"]]) for row in rows) / len(rows),
        "no span": sum(row["no span"] for row in rows) / len(rows),
    }
    return {name: round(value, 4) for name, value in scores.items()}, rows


def by_words(some: Sequence[Asked], told: Names) -> dict[str, float]:
    """The rule: the sentence that shares most words with the question, and of it the longest run of
    words that no wording has.
    """
    plain = {word for one in asked(told, 400, 7) for word in one.text} - {
        *told.first,
        *told.last,
        *told.places,
    }
    exact = f1 = 0.0
    for one in some:
        sentences = " ".join(one.text).split(" . ")
        best = max(
            (sentence.rstrip(" .").split() for sentence in sentences),
            key=lambda words: len(set(words) & set(one.question)),
        )
        runs, names_of = [[]], {*told.first, *told.last, *told.places}
        for word in best:
            (
                runs[-1].append(word)
                if (word in names_of or word not in plain) and word not in one.question
                else runs.append([])
            )
        said = " ".join(max(runs, key=len))
        exact, f1 = exact + exact_match(said, [one.answer]), f1 + token_f1(said, [one.answer])
    return {"exact": round(exact / len(some), 4), "f1": round(f1 / len(some), 4)}


def trained(
    body: Bert, some: Names, seed: int, steps: int, people: int
) -> BertForQuestionAnswering:
    """A model with a new head after so many steps; the embeddings do not learn."""
    torch.manual_seed(seed)
    model = BertForQuestionAnswering(body.config)
    model.bert.load_state_dict(
        {name: value for name, value in body.state_dict().items() if not name.startswith("pooler")}
    )
    model.bert.embeddings.requires_grad_(False)
    data = asked(some, steps * BATCH, seed, people)
    train(
        model.train(),
        span_answering,
        lambda n: as_batch(data[n * BATCH : (n + 1) * BATCH]),
        TrainingConfig(
            num_steps=steps,
            learning_rate=RATES.learning_rate,
            warmup_steps=steps // 10,
            schedule="linear",
            weight_decay=RATES.weight_decay,
            autocast=torch.bfloat16,
        ),
        groups=lambda m: fine_tuning_groups(m, RATES),
        progress=False,
    )
    return model


def main() -> None:
    """Train, judge, write bench/results/answering.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--seeds",
        type=int,
        nargs="*",
        default=range(SEEDS),
        help="these only; the record's other runs stay",
    )
    parser.add_argument("--steps", type=int, default=STEPS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    started, before = (
        time.process_time(),
        (
            json.loads((RESULTS / "answering.json").read_text())
            if (RESULTS / "answering.json").is_file()
            else {}
        ),
    )
    runs, kept = [run for run in before.get("runs", []) if run["seed"] not in args.seeds], []
    for seed in args.seeds:
        here, there = names(seed)
        tests = {people: asked(there, TESTED, 1000 + seed, people) for people in (1, 2)}
        torch.manual_seed(100 + seed)
        drawn = Bert(corpora.load("minilm").config)
        for name, people in MODELS.items():
            begun = time.process_time()
            model = trained(
                drawn if name == "from random weights" else corpora.load("minilm"),
                here,
                seed,
                args.steps,
                people,
            )
            seconds = round(time.process_time() - begun)
            found = {str(number): judged(model, test) for number, test in tests.items()}
            runs.append(
                {
                    "seed": seed,
                    "model": name,
                    "tested": {number: scores for number, (scores, _) in found.items()},
                    "seconds": seconds,
                }
            )
            print(runs[-1], flush=True)
            if not seed and name == "two persons":
                kept = found["2"][1]
        runs.append(
            {
                "seed": seed,
                "model": "shared words",
                "tested": {str(number): by_words(test, there) for number, test in tests.items()},
            }
        )
        print(runs[-1], flush=True)
    chosen = [row for row in kept if row["no span"]][:3] + [
        row for row in kept if row["said"] == row["true"]
    ][:6]
    chosen += [row for row in kept if row not in chosen][: 12 - len(chosen)]
    for row in chosen:
        row |= {key: [round(value, 2) for value in row[key]] for key in ("start", "end")}
    seconds = round(time.process_time() - started) + (
        before.get("cpu_seconds", 0) if len(args.seeds) < SEEDS else 0
    )
    save(
        "answering",
        versions=("torch",),
        cpu_seconds=seconds,
        seeds=len({run["seed"] for run in runs}),
        steps=args.steps,
        batch=BATCH,
        questions=TESTED,
        rates={
            "body": RATES.learning_rate,
            "head": RATES.learning_rate * RATES.head_scale,
            "layer decay": RATES.layer_decay,
        },
        runs=sorted(runs, key=lambda run: run["seed"]),
        kept=chosen or before.get("kept", []),
    )


if __name__ == "__main__":
    main()
