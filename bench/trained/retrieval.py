"""Finding text and code: one small encoder in BERT's form and in ModernBERT's, trained on pairs at
equal operations.

    python bench/trained/retrieval.py [--steps 240]        about a quarter of an hour on one core

Two kinds of pairs, and a batch is of one kind:
- code: the first paragraph of a docstring asks for its function, docstring taken out, as in
  CodeSearchNet (Husain et al. 2019). Trained on packages that are installed beside this course
  (PACKAGES), measured on Python's standard library.
- text: a verse of the King James Bible is cut at its first colon or semicolon, and its beginning
  asks for the rest. Trained on all books but HELD_OUT; measured on verses of these.

Nothing leaks: training has other packages and other books than the test, and of what is trained on
a pair goes if its question is one of the test's or if it shares a run of words with a pair of the
test: Kings and Chronicles tell the same story, and packages carry copies of the library. `dropped`
counts them.

Both forms have three layers, 128 wide, and take the same batches in the same order; a batch is one
packed row. BERT's has learned positions and a feed-forward of 512; ModernBERT's has rotary ones, a
gated one of 344, norms first, no biases, and two of its three layers see 16 pieces to each side.
torch counts the operations of a step, forwards and backwards, over some batches; the second form
gets as many steps as cost what the first form's cost. The rate of each is the better of two in a
short trial on pairs that are held back from training. The third that is trained is no encoder: the
mean of its pieces' vectors, with four times the steps.

ModernBERT's form of the first seed is kept (`small_model("finder")`) for the page's figure; its
figures are those of scripture, and the losses of its first steps are not on its card, since the
packages take a minute to read.

Beside them, over the same texts: the same encoders untrained, MiniLM (22.7 million numbers; its
card counts CodeSearchNet among its thousand million pairs, so functions of the standard library may
be among them), tf-idf over words and over runs of 3 to 5 letters.
"""

import argparse
import math
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from record import save  # noqa: E402
from retrieval_pairs import HELD_OUT, KINDS, PACKAGES, Pair, data  # noqa: E402
from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402
from texts import folder  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.small_models import add_figures, keep, small_model  # noqa: E402
from reference_impl.layers.initial import start_normal  # noqa: E402
from reference_impl.layers.packing import Packing  # noqa: E402
from reference_impl.measure.flops import count_flops  # noqa: E402
from reference_impl.measure.retrieval import ndcg_at, reciprocal_rank_at  # noqa: E402
from reference_impl.models.bert import Bert, BertConfig  # noqa: E402
from reference_impl.models.heads import mean_pool, similarity  # noqa: E402
from reference_impl.models.modernbert import ModernBert, ModernBertConfig  # noqa: E402
from reference_impl.objectives.batches import Batch  # noqa: E402
from reference_impl.objectives.task_losses import in_batch_negatives, text_batch  # noqa: E402
from reference_impl.objectives.terms import Terms  # noqa: E402
from reference_impl.tokenizers.files import load_bert, save_vocab_txt  # noqa: E402
from reference_impl.tokenizers.pretokenizers import BERT  # noqa: E402
from reference_impl.tokenizers.pretokenizers import split as words_of
from reference_impl.tokenizers.tokenizer import Tokenizer  # noqa: E402
from reference_impl.tokenizers.wordpiece_training import train_wordpiece  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

VOCAB_SIZE, LENGTH, ASKED, BATCH, WIDTH, LAYERS = 2560, 80, 32, 64, 128, 3
SEEDS, TRIAL, RATES, SHOWN = 3, 60, (1e-3, 3e-3), 100
NAME = "finder"


class Encoder(nn.Module):
    """Texts as one vector each: the mean of the rows of `body`, or, with none, of a table."""

    def __init__(self, form: str):
        super().__init__()
        self.form = form
        if form == "BERT's form":
            self.body = Bert(
                BertConfig(
                    vocab_size=VOCAB_SIZE,
                    hidden_size=WIDTH,
                    num_layers=LAYERS,
                    num_heads=4,
                    intermediate_size=512,
                    max_position_embeddings=LENGTH,
                    hidden_dropout=0.0,
                    attention_dropout=0.0,
                ),
                pooler=False,
            )
        elif form == "ModernBERT's form":
            self.body = ModernBert(
                ModernBertConfig(
                    vocab_size=VOCAB_SIZE,
                    hidden_size=WIDTH,
                    num_layers=LAYERS,
                    num_heads=4,
                    intermediate_size=344,
                    max_position_embeddings=LENGTH,
                    local_attention=32,
                )
            )
        else:
            self.body = nn.Embedding(VOCAB_SIZE, WIDTH)
        start_normal(self, std=0.04)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """One vector a text, (B, C), from ids (N,); the texts run as one packed row."""
        if isinstance(self.body, nn.Embedding):
            tokens = self.body(ids)
        else:
            packing = Packing.of(nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0)))
            out = self.body(ids[None], packing=packing)
            tokens = (out if isinstance(out, Tensor) else out.tokens)[0]  # (N, C)
        sums = tokens.new_zeros(len(lengths), WIDTH).index_add(
            0, torch.arange(len(lengths)).repeat_interleave(lengths), tokens
        )
        return sums / lengths[:, None]


def end_to_end(rows: Sequence[Sequence[int]]) -> Batch:
    """Texts laid end to end, without padding."""
    return {
        "ids": torch.tensor([id for row in rows for id in row]),
        "lengths": torch.tensor([len(row) for row in rows]),
    }


def both_ways(model: Encoder, batch: Batch) -> Terms:
    """Each question, of the batch's first half, should find its answer in the second, and each
    answer its question.
    """
    one, other = model(**batch).chunk(2)
    return in_batch_negatives(one, other).plus(in_batch_negatives(other, one))


def tokenizer_of(pairs: dict[str, list[Pair]], file: Path) -> Tokenizer:
    """WordPiece of both kinds in equal parts, trained on what is trained on."""
    counts: Counter = Counter()
    for some in pairs.values():
        words = Counter(
            word
            for pair in some[:6000]
            for side in pair
            for word in words_of(BERT, side[:1000].lower())
        )
        counts.update(
            {
                word: max(1, round(n * 1e6 / words.total()))
                for word, n in words.items()
                if n > 1 and word.isascii()
            }
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    save_vocab_txt(train_wordpiece(counts, VOCAB_SIZE, score="frequency").vocabulary, file)
    return load_bert(file)


def cut(tokenizer: Tokenizer, pairs: Sequence[Pair]) -> list[tuple[list[int], list[int]]]:
    """Pieces of questions and answers, cut at their lengths."""
    return [
        (
            tokenizer.encode(pair.asks, max_length=ASKED).ids,
            tokenizer.encode(pair.answer[: 8 * LENGTH], max_length=LENGTH).ids,
        )
        for pair in pairs
    ]


def batches_of(rows: dict[str, list], seed: int) -> Callable[[int], Batch]:
    """Batch i is of the kinds in turn; each goes through its pairs in an order of its own, again
    and again.
    """
    orders: dict[tuple[str, int], list[int]] = {}

    def batch(index: int) -> Batch:
        kind, number = KINDS[index % 2], index // 2
        some = rows[kind]
        per = len(some) // BATCH
        key = kind, number // per
        if key not in orders:
            orders[key] = torch.randperm(
                len(some), generator=torch.Generator().manual_seed(1000 * seed + number // per)
            ).tolist()
        start = number % per * BATCH
        chosen = [some[i] for i in orders[key][start : start + BATCH]]
        return end_to_end([pair[side] for side in (0, 1) for pair in chosen])

    return batch


@torch.no_grad()
def vectors_of(model: Encoder, rows: Sequence[Sequence[int]]) -> Tensor:
    """All vectors, in packed rows of 64 texts."""
    return torch.cat([model(**end_to_end(rows[i : i + 64])) for i in range(0, len(rows), 64)])


def judged(scores: Tensor) -> dict[str, list[float]]:
    """nDCG@10 and MRR@10 of every query; text q answers query q."""
    order = scores.sort(dim=1, descending=True, stable=True).indices[:, :10].tolist()
    return {
        "ndcg": [ndcg_at(ranking, {q: 1}) for q, ranking in enumerate(order)],
        "mrr": [reciprocal_rank_at(ranking, {q: 1}) for q, ranking in enumerate(order)],
    }


def mean(values: Sequence[float]) -> float:
    """Rounded for a record."""
    return round(sum(values) / len(values), 4)


def over_queries(values: Tensor) -> list[float]:
    """A mean with its 95 % interval, queries drawn with replacement 2,000 times."""
    draws = torch.randint(
        len(values), (2000, len(values)), generator=torch.Generator().manual_seed(0)
    )
    means = values[draws].mean(1).sort().values
    return [round(float(v), 4) for v in (values.mean(), means[50], means[-51])]


@torch.no_grad()
def by_minilm(texts: Sequence[str], length: int) -> Tensor:
    """MiniLM's means, of at most so many of its own pieces."""
    tokenizer, bert = corpora.load("bert_tokenizer"), corpora.load("minilm").eval()
    rows = [tokenizer.encode(text[: 10 * length], max_length=length).ids for text in texts]
    found = torch.empty(len(rows), bert.config.hidden_size)
    order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
    for start in range(0, len(order), 32):
        some = order[start : start + 32]
        batch = text_batch([rows[place] for place in some])
        found[some] = mean_pool(bert(batch["ids"], mask=batch["mask"]).tokens, batch["mask"])
    return found


def rivals(pairs: Sequence[Pair]) -> dict[str, Tensor]:
    """Cosines (Q, N) by what was not trained here."""
    asks, answers = zip(*pairs, strict=True)
    found = {}
    for name, settings in (
        ("tf-idf, words", {"token_pattern": r"[A-Za-z]+|[0-9]+", "sublinear_tf": True}),
        ("tf-idf, letters", {"analyzer": "char_wb", "ngram_range": (3, 5), "sublinear_tf": True}),
    ):
        table = TfidfVectorizer(**settings).fit(answers)
        found[name] = torch.tensor((table.transform(asks) @ table.transform(answers).T).toarray())
    for length in (LENGTH, 256):
        found[f"MiniLM, {length} pieces"] = similarity(
            by_minilm(asks, length), by_minilm(answers, length)
        )
    return found


@torch.no_grad()
def figures(model: ModernBert, tokenizer: Tokenizer, every: int = 1) -> dict[str, float]:
    """nDCG@10 over each so-manieth pair of held-out scripture, among the answers of these; code
    depends on the Python that runs.
    """
    encoder = Encoder(FORMS[1])
    encoder.body = model
    rows = cut(tokenizer, data(["text"]).test["text"][::every])
    table = similarity(*(vectors_of(encoder, [row[i] for row in rows]) for i in (0, 1)))
    return {"ndcg": mean(judged(table)["ndcg"]), "pairs": len(rows)}


def shown(pairs: Sequence[Pair]) -> dict[str, list]:
    """For the page's figure: pairs short enough to be read, and the first five of MiniLM's ranking
    among them.
    """
    some = [
        pair
        for pair in pairs
        if len(pair.answer) <= 360 and len(pair.asks) <= 110 and pair.answer.isascii()
    ][:SHOWN]
    best = similarity(*(by_minilm([pair[i] for pair in some], LENGTH) for i in (0, 1))).sort(
        dim=1, descending=True, stable=True
    )
    return {
        "pairs": [list(pair) for pair in some],
        "minilm": [
            " ".join(
                f"{place}:{value:.3f}" for place, value in zip(places[:5], values[:5], strict=True)
            )
            for places, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ],
    }


def beside_them(
    test: dict[str, list[Pair]], each: dict[tuple[str, str], list[list[float]]], say: Callable
) -> dict[str, dict]:
    """The scores of what was not trained here, with intervals; those of each query go into
    `each`.
    """
    found: dict[str, dict] = {}
    for kind, pairs in test.items():
        for name, table in rivals(pairs).items():
            scores = judged(table)
            each[name, kind] = [scores["ndcg"]]
            found.setdefault(name, {})[kind] = {
                key: over_queries(torch.tensor(values)) for key, values in scores.items()
            }
            say(name, kind, found[name][kind])
    return found


FORMS = ("BERT's form", "ModernBERT's form", "mean of a table")


def main() -> None:
    """Train all, judge all, write bench/results/trained_retrieval.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=240, help="of BERT's form")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", SyntaxWarning)
    started = time.process_time()

    def say(*what) -> None:
        print(f"{time.process_time() - started:5.0f} s", *what, flush=True)

    all_pairs = data()
    say(all_pairs.counts)
    tokenizer = tokenizer_of(all_pairs.train, folder(NAME) / "vocab.txt")
    rows, held_back, test = (
        {kind: cut(tokenizer, pairs) for kind, pairs in part.items()} for part in all_pairs[:3]
    )
    pieces = {
        kind: {
            side: mean([len(pair[i]) for pair in rows[kind]])
            for i, side in enumerate(("asks", "answers"))
        }
        for kind in KINDS
    }
    say(pieces)

    def new(form: str, seed: int) -> Encoder:
        torch.manual_seed(seed)
        return Encoder(form)

    def learn(form: str, seed: int, steps: int, rate: float) -> tuple[Encoder, list[float]]:
        model = new(form, seed)
        config = TrainingConfig(
            num_steps=steps,
            learning_rate=rate,
            warmup_steps=min(40, steps // 4),
            betas=(0.9, 0.98),
            seed=seed,
        )
        result = train(model, both_ways, batches_of(rows, seed), config, progress=False)
        return model.eval(), [row["loss"] for row in result.history]

    def scores(model: Encoder, some: list) -> Tensor:
        return similarity(*(vectors_of(model, [pair[i] for pair in some]) for i in (0, 1)))

    tries = batches_of(rows, 0)
    per_step = {
        form: (
            sum(
                count_flops(
                    lambda form=form, i=i: both_ways(new(form, 0), tries(i)).total.backward()
                )
                for i in range(8)
            )
            / 8
        )
        for form in FORMS
    }
    steps = {form: round(args.steps * per_step[FORMS[0]] / per_step[form]) for form in FORMS[:2]}
    steps[FORMS[2]] = 4 * args.steps  # a table costs next to nothing: it may read more
    say({form: f"{per_step[form] / 1e9:.2f} GFLOP a step, {steps[form]} steps" for form in FORMS})
    trial = []
    for form in FORMS:
        for rate in RATES if form != FORMS[2] else (3e-3, 1e-2):
            model, losses = learn(form, 99, TRIAL, rate)
            found = {kind: mean(judged(scores(model, held_back[kind]))["ndcg"]) for kind in KINDS}
            trial.append({"form": form, "rate": rate, "last_losses": mean(losses[-20:]), **found})
            say(trial[-1])
    rates = {
        form: max((t for t in trial if t["form"] == form), key=lambda t: t["code"] + t["text"])[
            "rate"
        ]
        for form in FORMS
    }
    runs, each = [], {}
    for seed in range(args.seeds):
        for form in FORMS:
            before = {
                kind: mean(judged(scores(new(form, seed).eval(), test[kind]))["ndcg"])
                for kind in KINDS
            }
            mark = time.process_time()
            model, losses = learn(form, seed, steps[form], rates[form])
            spent = time.process_time() - mark
            for kind in KINDS:
                table = scores(model, test[kind])
                found = judged(table)
                each.setdefault((form, kind), []).append(found["ndcg"])
                runs.append(
                    {
                        "form": form,
                        "seed": seed,
                        "kind": kind,
                        "ndcg": mean(found["ndcg"]),
                        "mrr": mean(found["mrr"]),
                        "untrained_ndcg": before[kind],
                        "cpu_seconds": round(spent, 1),
                        "last_losses": mean(losses[-20:]),
                    }
                )
                say(runs[-1])
            if not seed and form == FORMS[1]:
                keep(
                    NAME,
                    "encoder",
                    model.body.config,
                    model.body,
                    script="bench/trained/retrieval.py",
                    seed=0,
                    corpora=["kjv"],
                    steps=steps[form],
                    first_losses=[],
                )
    kept = small_model(NAME)
    add_figures(
        NAME, figures(kept.model, kept.tokenizer), figures(kept.model, kept.tokenizer, every=5)
    )
    beside = beside_them(all_pairs.test, each, say)
    averaged = {
        key: torch.tensor(values).mean(0) for key, values in each.items()
    }  # of each query, over seeds
    forms = {form: {kind: over_queries(averaged[form, kind]) for kind in KINDS} for form in FORMS}
    less = {
        f"{one} less {other}": {
            kind: over_queries(averaged[one, kind] - averaged[other, kind]) for kind in KINDS
        }
        for one, other in (
            (FORMS[1], FORMS[0]),
            (FORMS[0], FORMS[2]),
            (FORMS[1], FORMS[2]),
            (FORMS[1], "tf-idf, words"),
            (FORMS[1], "tf-idf, letters"),
            (f"MiniLM, {LENGTH} pieces", "tf-idf, letters"),
            (f"MiniLM, {LENGTH} pieces", FORMS[1]),
        )
    }
    parameters = {form: sum(p.numel() for p in Encoder(form).parameters()) for form in FORMS}
    save(
        "trained_retrieval",
        versions=("torch", "scikit-learn"),
        seeds=list(range(args.seeds)),
        pairs=all_pairs.counts,
        packages=list(PACKAGES),
        held_out=list(HELD_OUT),
        pieces=pieces,
        cut_at={"asks": ASKED, "answers": LENGTH},
        parameters=parameters,
        steps=steps,
        batch=BATCH,
        flops_a_step={form: round(value) for form, value in per_step.items()},
        rates=rates,
        trial=trial,
        shown={kind: shown(pairs) for kind, pairs in all_pairs.test.items()},
        runs=runs,
        forms=forms,
        beside=beside,
        less=less,
        dice={
            kind: round(sum(1 / math.log2(rank + 1) for rank in range(1, 11)) / len(test[kind]), 4)
            for kind in KINDS
        },
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()
