"""Does it read? MiniLM on texts with two persons, trained five times as long as in `answering`.

    python bench/answering_longer.py        about three minutes on one core

The same questions, learning rates and batches as in `answering`, 600 steps in place of 120, with
one seed: each of the text's two persons stands in the same two relations, so the kind of the answer
does not single it out. Tested on the 100 questions of that seed, whose names are all new, after
every 120 steps of the same run.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402  (threads are set before torch starts)
from answering import BATCH, RATES, TESTED, as_batch, by_words, judged  # noqa: E402
from record import save  # noqa: E402

from reference_impl import corpora  # noqa: E402
from reference_impl.corpora.invented import asked, names  # noqa: E402
from reference_impl.models.bert_tasks import BertForQuestionAnswering  # noqa: E402
from reference_impl.objectives.task_losses import span_answering  # noqa: E402
from reference_impl.training.fine_tuning import fine_tuning_groups  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

SEED, STEPS, EVERY, SHOWN = 0, 600, 120, 12


def main() -> None:
    """Train, test, write bench/results/answering_longer.json."""
    argparse.ArgumentParser(description=__doc__.split("\n", 1)[0]).parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    here, there = names(SEED)
    test = asked(there, TESTED, 1000 + SEED, 2)
    data = asked(here, STEPS * BATCH, SEED, 2)
    torch.manual_seed(SEED)
    body, reached = corpora.load("minilm"), []
    model = BertForQuestionAnswering(body.config)
    model.bert.load_state_dict(
        {name: value for name, value in body.state_dict().items() if not name.startswith("pooler")}
    )
    model.bert.embeddings.requires_grad_(False)

    def evaluate(model: BertForQuestionAnswering) -> dict[str, float]:
        scores, _ = judged(model, test)
        reached.append(scores)
        print(scores, flush=True)
        model.train()
        return scores

    train(
        model.train(),
        span_answering,
        lambda n: as_batch(data[n * BATCH : (n + 1) * BATCH]),
        TrainingConfig(
            num_steps=STEPS,
            learning_rate=RATES.learning_rate,
            warmup_steps=STEPS // 10,
            schedule="linear",
            weight_decay=RATES.weight_decay,
            eval_every=EVERY,
            autocast=torch.bfloat16,
        ),
        evaluate=evaluate,
        groups=lambda m: fine_tuning_groups(m, RATES),
        progress=False,
    )
    scores, rows = judged(model, test)
    save(
        "answering_longer",
        versions=("torch",),
        seed=SEED,
        steps=STEPS,
        every=EVERY,
        batch=BATCH,
        reached=reached,
        final=scores,
        rule=by_words(test, there),
        shown=[
            {
                "question": " ".join(one.question),
                "text": " ".join(one.text),
                "true": row["true"],
                "predicted": row["said"],
            }
            for one, row in zip(test[:SHOWN], rows[:SHOWN], strict=True)
        ],
        cpu_seconds=round(time.process_time() - started),
    )


if __name__ == "__main__":
    main()
