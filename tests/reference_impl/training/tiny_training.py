"""One small training, for the tests and for the programs that they start: ragged texts, dropout,
float64.
"""

import torch

from reference_impl.models.gpt import GPT, GPTConfig
from reference_impl.objectives.causal_lm import causal_lm, ragged_batch
from reference_impl.training.loop import TrainingConfig

VOCAB_SIZE = 13
objective = causal_lm


def make_model(dropout=0.2, hidden_size=8):
    """The same numbers whenever it is called."""
    torch.manual_seed(1)
    return GPT(
        GPTConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=hidden_size,
            num_layers=2,
            num_heads=2,
            max_position_embeddings=12,
            dropout=dropout,
        )
    ).double()


def texts(number):
    """Three texts of very different lengths, longer where the number is odd."""
    generator = torch.Generator().manual_seed(number)
    lengths = (2, 3, 12) if number % 2 else (2, 2, 3)
    return [
        torch.randint(VOCAB_SIZE, (length,), generator=generator).tolist() for length in lengths
    ]


def batches(number):
    """Micro-batch `number`."""
    return ragged_batch(texts(number))


def make_config(**changes):
    """Six steps of two micro-batches, a checkpoint after every second."""
    settings = {
        "num_steps": 6,
        "learning_rate": 1e-2,
        "warmup_steps": 2,
        "accumulation": 2,
        "checkpoint_every": 2,
        "eval_every": 3,
        **changes,
    }
    return TrainingConfig(**settings)


def evaluate(model):
    """The loss on a text that is not trained on."""
    return {"held_out": causal_lm(model, batches(1_001)).mean.item()}
