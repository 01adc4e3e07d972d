"""Train a small LSTM on the King James Bible, in the tokens of the small GPT; hold it beside counts
of the same tokens.

    python bench/trained/lstm.py [--steps 1200]        after gpt.py; about three minutes on one core

It sees as many tokens as the GPT. The text is cut into parallel streams that are read on and on: a
piece begins with the state that the piece before it ended with, and no gradient goes back over the
border. Torch's compiled loop runs the training, on the model's own numbers. Held out, it is
measured with its state carried through, and with the state forgotten after so many tokens; beside
it stand Kneser-Ney counts of orders 1 to 5 and, with half of the weight each, the mixture of LSTM
and counts. The model is kept (`small_model("lstm_kjv")`).
"""

import argparse
import math
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import NAME as TOKENS_OF  # noqa: E402
from gpt import VOCAB_SIZE, load_trained
from record import save  # noqa: E402
from texts import as_tokens, losses_of_first_steps, scripture, split  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from reference_impl.corpora.small_models import FOLDER, add_figures, keep, small_model  # noqa: E402
from reference_impl.models.lstm import LSTMConfig, LSTMLanguageModel  # noqa: E402
from reference_impl.models.ngram import KneserNey  # noqa: E402
from reference_impl.objectives.causal_lm import chunk_batch, cut_chunks  # noqa: E402
from reference_impl.objectives.terms import Terms, token_terms  # noqa: E402
from reference_impl.tokenizers.byte_level import ByteLevelBPE  # noqa: E402
from reference_impl.training.loop import TrainingConfig, train  # noqa: E402

NAME, PIECE, STREAMS, STEPS = "lstm_kjv", 128, 16, 1200
CONFIG = LSTMConfig(vocab_size=VOCAB_SIZE, hidden_size=208, num_layers=1, dropout=0.0)
RESETS, ORDERS = (1, 2, 4, 8, 16, 32, 64, 128, 256), (1, 2, 3, 4, 5)


class Compiled(nn.Module):
    """A model's numbers in torch's own LSTM: the same equations, with a second bias that stays
    zero.

    Its loop is compiled: a training step takes a quarter of the time of `models.lstm.run`.
    """

    def __init__(self, model: LSTMLanguageModel):
        super().__init__()
        width, cell = model.config.hidden_size, model.lstm.layers[0][0]
        self.embedding, self.output, self.loop = (
            model.embedding,
            model.output,
            nn.LSTM(width, width, batch_first=True),
        )
        self.loop.weight_ih_l0, self.loop.bias_ih_l0 = cell.input.weight, cell.input.bias
        self.loop.weight_hh_l0 = cell.recurrent.weight
        self.loop.bias_hh_l0 = nn.Parameter(torch.zeros(4 * width), requires_grad=False)


class CarriedStates:
    """Cross-entropy over pieces that follow each other in the text: each begins where the one
    before it ended.
    """

    def __init__(self):
        self.states = None

    def __call__(self, model: Compiled, batch: dict[str, Tensor]) -> Terms:
        """The terms of one piece of each stream; no gradient reaches the piece before."""
        shown, states = model.loop(model.embedding(batch["ids"][:, :-1]), self.states)
        self.states = tuple(state.detach() for state in states)
        return token_terms(model.output(shown), batch["labels"][:, 1:])


def streams_of(tokens: Tensor):
    """Batch i: the i-th piece of each stream.

    At its end a stream goes on with the beginning of the next.
    """
    rows = tokens[: len(tokens) // STREAMS * STREAMS].reshape(STREAMS, -1)
    pieces = (rows.shape[1] - 1) // PIECE

    def batch(index: int) -> dict[str, Tensor]:
        turn, at = divmod(index, pieces)
        return chunk_batch(rows.roll(-turn, 0)[:, at * PIECE : (at + 1) * PIECE + 1])

    return batch


def training(steps: int) -> TrainingConfig:
    """How it is trained, in so many steps."""
    return TrainingConfig(
        num_steps=steps,
        learning_rate=4e-3,
        warmup_steps=50,
        schedule="cosine",
        min_learning_rate=2e-4,
        weight_decay=0.01,
        betas=(0.9, 0.98),
    )


def first_losses(count: int) -> list[float]:
    """The losses of the first steps, of warm-up all of them, trained anew; nothing is kept."""
    _, tokenizer = load_trained()
    tokens = as_tokens(tokenizer, split(scripture())[0])
    torch.manual_seed(0)
    model = Compiled(LSTMLanguageModel(CONFIG))
    return losses_of_first_steps(count, model, CarriedStates(), streams_of(tokens), training(STEPS))


@torch.no_grad()
def nats(model: LSTMLanguageModel, tokens: Tensor, piece: int | None) -> Tensor:
    """-ln p of each token but a row's first.

    The state is forgotten after `piece` tokens, or carried through a stream.
    """
    if piece is None:
        rows = tokens[: len(tokens) // STREAMS * STREAMS].reshape(STREAMS, -1)
    else:
        rows = cut_chunks(tokens, piece)
    found = []
    for part in rows.split(max(STREAMS, 8192 // rows.shape[1])):
        logs = model(part[:, :-1]).log_softmax(-1)  # (B, T, V)
        found.append(-logs.gather(-1, part[:, 1:, None]).flatten(1))
    return torch.cat(found)


def bits_per_byte(
    model: LSTMLanguageModel, tokens: Tensor, num_bytes: int, piece: int | None = None
) -> float:
    """The mean over the tokens that are predicted, for as many tokens as the text has."""
    return float(nats(model, tokens, piece).mean()) / math.log(2) * len(tokens) / num_bytes


def figures(model: LSTMLanguageModel, tokenizer: ByteLevelBPE, every: int = 1) -> dict[str, float]:
    """Bits a byte over the held-out text, carried and cut; with `every` nats a token over each
    so-manieth of its chunks.
    """
    _, held_out = split(scripture())
    held = as_tokens(tokenizer, held_out)
    if every == 1:
        num_bytes = len(held_out.encode())
        return {
            "bits_per_byte": round(bits_per_byte(model, held, num_bytes), 4),
            "bits_per_byte_cut": round(bits_per_byte(model, held, num_bytes, PIECE), 4),
        }
    rows = cut_chunks(held, PIECE)[::every]
    with torch.no_grad():
        return {
            "nats_per_token": round(float(token_terms(model(rows[:, :-1]), rows[:, 1:]).mean), 4),
            "chunks": len(rows),
        }


def mixed_with_counts(
    model: LSTMLanguageModel, tokens: list[int], held: Tensor, num_bytes: int
) -> dict[str, float]:
    """Bits a byte of counts of several orders, and of the half-and-half mixture of LSTM and the
    counts of order 4.

    All are taken over the same tokens: the first of each stream is not predicted.
    """
    rows = held[: len(held) // STREAMS * STREAMS].reshape(STREAMS, -1)
    lstm = (-nats(model, held, None)).exp().double()  # (STREAMS, T)
    found, text = {}, held.tolist()
    for order in ORDERS:
        counts = KneserNey([tokens], VOCAB_SIZE, order)
        places = (torch.arange(rows.numel()).reshape(rows.shape)[:, 1:]).flatten().tolist()
        shares = torch.tensor(
            [counts.probability(text[i], text[max(i - order + 1, 0) : i]) for i in places]
        )
        shares = shares.double().reshape(lstm.shape)
        scale = len(held) / num_bytes / math.log(2)
        found[f"{order}-gram"] = round(float(-shares.log().mean()) * scale, 4)
        if order == 4:
            found["LSTM and 4-gram, half each"] = round(
                float(-((shares + lstm) / 2).log().mean()) * scale, 4
            )
            found["share of tokens that the LSTM finds likelier"] = round(
                float((lstm > shares).double().mean()), 4
            )
    return found


def main() -> None:
    """Train, measure, write bench/results/trained_lstm.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    _, tokenizer = load_trained()
    train_text, held_out = split(scripture())
    tokens, held = as_tokens(tokenizer, train_text), as_tokens(tokenizer, held_out)
    num_bytes = len(held_out.encode())

    torch.manual_seed(0)
    model = LSTMLanguageModel(CONFIG)
    untrained = bits_per_byte(model, held, num_bytes)
    started = time.process_time()
    result = train(Compiled(model), CarriedStates(), streams_of(tokens), training(steps))
    seconds = time.process_time() - started
    keep(
        NAME,
        "lstm",
        CONFIG,
        model,
        script="bench/trained/lstm.py",
        seed=0,
        corpora=["kjv"],
        steps=steps,
        first_losses=[row["loss"] for row in result.history[:20]],
    )
    (FOLDER / NAME / "bpe.json").write_bytes((FOLDER / TOKENS_OF / "bpe.json").read_bytes())
    kept = small_model(NAME)  # what is measured from here on is what was kept
    add_figures(NAME, figures(kept.model, tokenizer), figures(kept.model, tokenizer, every=8))
    save(
        "trained_lstm",
        versions=("torch", "numpy"),
        seed=0,
        steps=steps,
        cpu_seconds=round(seconds),
        parameters=sum(p.numel() for p in model.parameters()),
        tokens_seen=result.history[-1]["terms"],
        held_out={"bytes": num_bytes, "tokens": len(held)},
        bits_per_byte={
            "untrained": round(untrained, 4),
            "LSTM": round(bits_per_byte(kept.model, held, num_bytes), 4),
        },
        forgotten_after={
            str(piece): round(bits_per_byte(kept.model, held, num_bytes, piece), 4)
            for piece in RESETS
        },
        beside_counts=mixed_with_counts(kept.model, tokens.tolist(), held, num_bytes),
        curve=[
            {"step": row["step"], "loss": round(row["loss"], 4)}
            for row in result.history
            if row["step"] % 50 == 0
        ],
    )


if __name__ == "__main__":
    main()
