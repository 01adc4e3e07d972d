"""What 80/10/10 is for: a masked language model asked at a blank, at the right token and at a wrong
one.

    python bench/masking_fates.py [--steps 150]        about three minutes on one core

Each run continues from the kept small BERT (bench/trained/bert.py), which was trained with [MASK]
at every chosen place. 15 % of the tokens are chosen; in one kind of run all of them become [MASK],
in the other 80 %, with 10 % another token and 10 % left as they are. Five seeds each, a seed being
the stretches of text and the draws; the stretches are the same for both kinds. Then the held-out
blanks are asked three times: with [MASK] there, with the right token there, and with another token
there, drawn from the vocabulary. The control is the model that both continue from.

Not here: what the kinds do to a task that is fine-tuned on top (Devlin et al. 2019, table 8).
"""

import argparse
import copy
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from bert import MASK_ID, VOCAB_SIZE, as_tokens, at_blanks, held_out_batch, stretches  # noqa: E402
from record import save  # noqa: E402
from texts import scripture, split  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.models.bert import BertForMaskedLM  # noqa: E402
from reference_impl.objectives.masked_lm import Masking  # noqa: E402
from reference_impl.objectives.terms import IGNORED  # noqa: E402
from reference_impl.tokenizers.wordpiece_training import BERT_SPECIALS  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

SEEDS, RATE, WARM_UP = 5, 5e-4, 15
FATES = {"100/0/0": (1.0, 0.0), "80/10/10": (0.8, 0.1)}


def continued(
    kept: BertForMaskedLM, tokens: Tensor, fates: tuple[float, float], seed: int, steps: int
) -> BertForMaskedLM:
    """A copy of the kept model after more steps, with chosen tokens treated in this way."""
    masked, replaced = fates
    masking = Masking(
        MASK_ID, VOCAB_SIZE, range(len(BERT_SPECIALS)), masked=masked, replaced=replaced
    )

    def batch(index: int) -> dict[str, Tensor]:
        ids, labels = masking.mask_tokens(*stretches(tokens, 10_000 * (seed + 1) + index))
        return {"ids": ids, "labels": labels}

    torch.manual_seed(seed)
    model = copy.deepcopy(kept).train()
    train(
        model,
        at_blanks,
        batch,
        TrainingConfig(
            num_steps=steps,
            learning_rate=RATE,
            warmup_steps=WARM_UP,
            schedule="linear",
            betas=(0.9, 0.98),
        ),
        progress=False,
    )
    return model.eval()


@torch.no_grad()
def asked(model: BertForMaskedLM, blanks: dict[str, Tensor]) -> dict[str, dict[str, float]]:
    """For each thing shown at the chosen places: the share answered with the truth, and with what
    is shown.
    """
    ids, labels = blanks["ids"], blanks["labels"]
    chosen = labels != IGNORED
    truth = labels[chosen]
    drawn = torch.randint(
        len(BERT_SPECIALS), VOCAB_SIZE, truth.shape, generator=torch.Generator().manual_seed(7)
    )
    drawn = torch.where(
        drawn == truth,
        (drawn + 1 - len(BERT_SPECIALS)) % (VOCAB_SIZE - len(BERT_SPECIALS)) + len(BERT_SPECIALS),
        drawn,
    )
    found = {}
    for name, shown in (
        ("[MASK]", torch.full_like(truth, MASK_ID)),
        ("right", truth),
        ("wrong", drawn),
    ):
        # One chosen place in three at a time is shown this, and the others are [MASK]: most
        # neighbours stay as in training.
        answers = torch.empty_like(truth)
        for part in range(3):
            here = torch.arange(len(truth)) % 3 == part
            given = ids.clone()
            given[chosen] = torch.where(here, shown, MASK_ID)
            vectors = model.bert(given).tokens[chosen][here]
            answers[here] = model.masked_lm(vectors).argmax(-1)
        found[name] = {
            "truth": round(float((answers == truth).float().mean()), 4),
            "shown": round(float((answers == shown).float().mean()), 4),
        }
    return found


def main() -> None:
    """Continue, ask, write bench/results/masking_fates.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    kept = small_model("bert_kjv")
    tokens = as_tokens(kept.tokenizer, split(scripture())[0])
    blanks = {key: tensor[::3] for key, tensor in held_out_batch(kept.tokenizer)[0].items()}
    started, runs = time.process_time(), []
    for seed in range(args.seeds):
        for name, fates in FATES.items():
            found = asked(continued(kept.model, tokens, fates, seed, args.steps), blanks)
            runs.append({"fates": name, "seed": seed, **found})
            print(name, seed, found, flush=True)
    save(
        "masking_fates",
        versions=("torch",),
        steps=args.steps,
        learning_rate=RATE,
        share=0.15,
        blanks=int((blanks["labels"] != IGNORED).sum()),
        cpu_seconds=round(time.process_time() - started),
        before=asked(kept.model.eval(), blanks),
        runs=runs,
    )


if __name__ == "__main__":
    main()
