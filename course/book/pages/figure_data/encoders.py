"""What trained encoders make of a text, computed here: what figures show before a model is loaded.
By the figure's name:

    three-attentions  spelled("transformer_spelling", ["bank", "knight"])
    filled-blanks     filled("bert_kjv", ["the [MASK] lends money"])
    suspicion         suspected("electra_kjv_stages", ["the bank lends money"])
    asked-texts       asked("finder", texts, questions, 32, 80)
"""

import base64
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from reference_impl.corpora.small_models import SmallModel, small_model
from reference_impl.layers.packing import Packing
from reference_impl.models.pooling import search


@torch.no_grad()
def spelled(name: str, words: Iterable[str]) -> list[dict[str, Any]]:
    """For each word its sounds, as a kept Transformer writes them, and the weights of all its
    attentions.
    """
    from reference_impl.generation.encoder_decoder import translate

    kept = small_model(name)
    source, target = kept.tokenizer["source"], kept.tokenizer["target"]
    found = []
    for word in words:
        ids = torch.tensor([[*map(source.index, word), 1]])
        written = [
            id for id in translate(kept.model, ids, max_tokens=32, cache=False)[0] if id != 1
        ]
        reads, writes, backs = attention_maps(kept.model, ids, torch.tensor([[0, *written]]))
        found.append(
            {
                "word": word,
                "said": [target[id] for id in written],
                "reads": reads.tolist(),
                "writes": writes.tolist(),
                "backs": backs.tolist(),
            }
        )
    return found


@torch.no_grad()
def attention_maps(
    model: nn.Module, source: Tensor, target: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """A Transformer's weights for one pair (1, S), (1, T): of the encoder (L, S, H, S), of the
    decoder to itself (L, T, H, T) and to the source (L, T, H, S). They are computed beside the
    model, from what each layer is given.
    """
    from reference_impl.layers.attention import MultiHeadAttention, attention_weights, split_heads
    from reference_impl.layers.masks import causal_mask

    seen: list[Tensor] = []

    def look(layer: MultiHeadAttention, given: tuple, options: dict, _: Tensor) -> None:
        x, memory = given if len(given) > 1 else (given[0], given[0])
        weights = attention_weights(
            split_heads(layer.query(x), layer.num_heads),
            layer.keys_values(memory)[0],
            causal_mask(x.shape[1]) if options.get("causal") else None,
        )
        seen.append(weights[0].transpose(0, 1))  # (T, H, S)

    hooks = [
        layer.register_forward_hook(look, with_kwargs=True)
        for layer in model.modules()
        if isinstance(layer, MultiHeadAttention)
    ]
    model(source, target)
    for hook in hooks:
        hook.remove()
    reads, decoder = seen[: len(model.encoder)], seen[len(model.encoder) :]
    return torch.stack(reads), torch.stack(decoder[::2]), torch.stack(decoder[1::2])


@torch.no_grad()
def filled(
    name: str, texts: Iterable[str], most: int = 7, specials: bool = False
) -> list[dict[str, Any]]:
    """For each text with a mask its tokens and the mask's position; and by side what is predicted
    and what the position attends to (L, H, T).

    `left` and `right` are texts whose left or right side was cut off: a stretch of training begins
    and ends anywhere. With `specials`, [CLS] and [SEP] stay.
    """
    kept, found = small_model(name), []
    mask = kept.tokenizer.vocabulary.id("[MASK]")
    for text in texts:
        encoded = kept.tokenizer.encode(text, add_specials=specials)
        ids, at = encoded.ids, encoded.ids.index(mask)
        before, after = (ids[:1], ids[-1:]) if specials else ([], [])
        seen = {
            "both": ([], ids, []),
            "left": (before, ids[at:], []),
            "right": ([], ids[: at + 1], after),
        }
        sides = {side: _filled(kept, *parts, mask, most) for side, parts in seen.items()}
        found.append({"text": text, "tokens": encoded.tokens, "at": at, "sides": sides})
    return found


def _filled(
    kept: SmallModel, before: list[int], ids: list[int], after: list[int], mask: int, most: int
) -> dict[str, Any]:
    """What is predicted for the mask of one text, and its attention to `ids` alone."""
    at, row = len(before) + ids.index(mask), torch.tensor([[*before, *ids, *after]])
    best = kept.model(row)[0, at].softmax(-1).topk(most)
    weights = encoder_weights(kept.model.bert, row)[:, :, at, len(before) :][..., : len(ids)]
    tokens = [kept.tokenizer.vocabulary.token(id) for id in best.indices.tolist()]
    return {
        "fillings": [list(pair) for pair in zip(tokens, best.values.tolist(), strict=True)],
        "looks": weights.tolist(),
    }


@torch.no_grad()
def encoder_weights(bert: nn.Module, ids: Tensor) -> Tensor:
    """The weights of all heads of a BERT for one text without padding (1, T): (L, H, T, T)."""
    from reference_impl.layers.attention import attention_weights, split_heads

    seen: list[Tensor] = []
    hooks = [
        block.attention.register_forward_pre_hook(
            lambda layer, given: seen.append(
                attention_weights(
                    split_heads(layer.query(given[0]), layer.num_heads),
                    layer.keys_values(given[0])[0],
                )
            )
        )
        for block in bert.blocks
    ]
    bert(ids)
    for hook in hooks:
        hook.remove()
    return torch.cat(seen)


@torch.no_grad()
def queries_keys_values(
    bert: nn.Module, ids: Tensor, layer: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """What the heads of one layer of a BERT make of one text (1, T): queries, keys and values, (H,
    T, D) each.
    """
    from reference_impl.layers.attention import split_heads

    own, seen = bert.blocks[layer].attention, []
    hook = own.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    bert(ids)
    hook.remove()
    return tuple(
        x[0] for x in (split_heads(own.query(seen[0]), own.num_heads), *own.keys_values(seen[0]))
    )


@torch.no_grad()
def suspected(name: str, texts: Iterable[str]) -> list[dict[str, Any]]:
    """For each text its tokens, and by a discriminator the chance of each to have been replaced."""
    kept = small_model(name)
    found = []
    for text in texts:
        ids = kept.tokenizer.encode(text, add_specials=False).ids
        chances = kept.model(torch.tensor([ids]))[0].sigmoid().tolist()
        found.append(
            {
                "text": text,
                "tokens": [kept.tokenizer.vocabulary.token(id) for id in ids],
                "chances": [round(chance, 5) for chance in chances],
            }
        )
    return found


@torch.no_grad()
def means_of_rows(kept: SmallModel, texts: Sequence[str], longest: int) -> Tensor:
    """A unit vector a text, (N, C), by an encoder to which all texts are one packed row."""
    rows = [kept.tokenizer.encode(text, max_length=longest).ids for text in texts]
    lengths = torch.tensor([len(row) for row in rows])
    packing = Packing.of(nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0)))
    tokens = kept.model(torch.tensor([sum(rows, [])]), packing=packing)[0]
    return nn.functional.normalize(
        torch.stack([part.mean(0) for part in tokens.split(lengths.tolist())]), dim=-1
    )


def asked(
    name: str,
    texts: Sequence[str],
    asks: Sequence[str],
    longest_ask: int,
    longest_text: int,
    most: int = 5,
) -> dict[str, Any]:
    """The texts' vectors as signed bytes times `step`, and for each question its best texts with
    their cosines.
    """
    kept = small_model(name)
    vectors = means_of_rows(kept, texts, longest_text)
    found = search(means_of_rows(kept, asks, longest_ask), vectors, most)
    step = float(vectors.abs().max()) / 127
    return {
        "step": step,
        "vectors": (
            base64.b64encode((vectors / step).round().to(torch.int8).numpy().tobytes()).decode()
        ),
        "first": {
            "encoder": [
                [[place, round(cosine, 3)] for place, cosine in zip(*pair, strict=True)]
                for pair in zip(found.places.tolist(), found.cosines.tolist(), strict=True)
            ]
        },
    }
