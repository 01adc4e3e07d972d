"""Is it the new distances that break a small ModernBERT on long texts? Ask its twins again, with
far keys taken away.

    python bench/windowed_letters.py        about a minute on one core

The two kept models of bench/trained/modernbert.py were trained on stretches of 96 letters, where no
two stand more than 95 apart. Here they read held-out stretches of 768 with the same blanks as
there, every second one of them, and nothing is trained:

- as they are, in pieces of 96 and whole;
- whole, but no layer looks further than 95, 32 or 8 letters to each side, so that no distance is
  new;
- whole, each letter with the eight to each side and 79 drawn others, 96 keys at most as in
  training, the others either from within 95 or from beyond: which of the two breaks it, the number
  of keys or how far they stand?
- whole, with all places divided by 8, so that none is beyond those of training (Chen et al. 2023,
  without their training).
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent / "trained"))

import torch  # noqa: E402  (threads are set before torch starts)
from modernbert import KEPT, LENGTHS, TRAINED, asked, bits, letters  # noqa: E402
from record import save  # noqa: E402
from texts import scripture, split  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl.corpora.small_models import small_model  # noqa: E402
from reference_impl.layers.feed_forward import activation  # noqa: E402
from reference_impl.layers.masks import window_mask  # noqa: E402
from reference_impl.layers.rotary import rotary_tables  # noqa: E402
from reference_impl.models.modernbert import ModernBertForMaskedLM  # noqa: E402

WHOLE, SIDES = LENGTHS[-1], (TRAINED - 1, 32, 8)
NEAR, OTHERS = (
    8,
    TRAINED - 1 - 2 * 8,
)  # keys to each side, and drawn ones: with the letter itself TRAINED in all


def keys_seen(length: int, far: bool) -> Tensor:
    """Which keys a letter sees (T, T): its neighbours, and OTHERS drawn from beyond the trained
    distances or from within.
    """
    apart = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    lots = torch.rand(length, length, generator=torch.Generator().manual_seed(0))
    lots[(apart >= TRAINED) != far] = -1  # the wrong side of the border
    lots[apart <= NEAR] = -1
    chosen = torch.zeros(length, length, dtype=torch.bool).scatter_(
        1, lots.topk(OTHERS).indices, True
    ) & (lots >= 0)
    return chosen | (apart <= NEAR)


def reading(
    model: ModernBertForMaskedLM,
    side: int | None = None,
    squeezed: float = 1.0,
    keys: Tensor | None = None,
) -> Callable[[Tensor], Tensor]:
    """The model's logits of each letter, with no key further than `side` away, or none but `keys`,
    and places divided by `squeezed`.
    """
    encoder, config = model.encoder, model.config

    def read(ids: Tensor) -> Tensor:
        positions, x = (
            torch.arange(ids.shape[1]),
            encoder.embedding_norm(encoder.embedding(ids)),
        )  # x (B, T, C)
        for i, block in enumerate(encoder.blocks):
            local = i % config.global_every > 0
            base = config.local_rope_theta if local else config.global_rope_theta
            reach = min(
                side or ids.shape[1], config.local_attention // 2 if local else ids.shape[1]
            )
            tables = rotary_tables(
                positions, config.hidden_size // config.num_heads, base, squeezed
            )
            seen = window_mask(ids.shape[1], before=reach, after=reach)
            x = block(x, tables, seen if keys is None else seen & keys)
        return model.decoder(model.norm(activation("gelu")(model.dense(encoder.norm(x)))))

    return read


@torch.no_grad()
def main() -> None:
    """Ask both, write bench/results/windowed_letters.json."""
    torch.set_num_threads(1)
    found = {}
    for kind, name in KEPT.items():
        kept = small_model(name)
        batch = {
            key: tensor[::2]
            for key, tensor in asked(letters(kept.tokenizer, split(scripture())[1])).items()
        }
        check = (reading(kept.model)(batch["ids"][:2]) - kept.model(batch["ids"][:2])).abs().max()
        if check > 1e-4:
            raise AssertionError(f"{name}: read by hand it differs from itself by {check}")
        rows = {
            f"pieces of {TRAINED}": bits(reading(kept.model), batch, TRAINED),
            "whole": bits(reading(kept.model), batch, WHOLE),
        }
        for side in SIDES:
            rows[f"whole, {side} to each side"] = bits(reading(kept.model, side), batch, WHOLE)
        rows["whole, places divided by 8"] = bits(
            reading(kept.model, squeezed=WHOLE / TRAINED), batch, WHOLE
        )
        for title, far in (("within 95", False), ("beyond 95", True)):
            rows[f"whole, {NEAR} to each side, {OTHERS} from {title}"] = bits(
                reading(kept.model, keys=keys_seen(WHOLE, far)), batch, WHOLE
            )
        found[kind] = {title: row["bits"] for title, row in rows.items()}
        print(kind, found[kind], flush=True)
    save(
        "windowed_letters",
        versions=("torch",),
        seed=0,
        length=WHOLE,
        trained_length=TRAINED,
        sides=SIDES,
        found=found,
    )


if __name__ == "__main__":
    main()
