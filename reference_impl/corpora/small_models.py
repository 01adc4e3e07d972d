"""The small models that were trained here and travel with the code: weights, tokenizer,
and a card for each.

    names()                         what there is
    small_model("gpt_kjv")          the model in evaluation mode, its tokenizer, its
                                    card
    keep("gpt_kjv", ...)            what a script of bench/trained does at its end

A model's folder, beside this module, holds `model.safetensors` (float16, under our own
names), its tokenizer's file, and `card.json`: the script that trains it, seed, hash of
the corpus, configuration, what was measured from the very numbers in the file, and the
losses of the first twenty steps. So anybody can measure again, and train again.

Numbers are stored in half precision and computed in single precision. Whole numbers
keep their type.
"""

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reference_impl.corpora.cache import CorpusError, written_whole
from reference_impl.corpora.entries import entry

FOLDER = Path(__file__).resolve().parent / "trained"
LARGEST = 4_000_000
"""Bytes a file of weights may have: a model that a page loads must be small."""


@dataclass(frozen=True)
class SmallModel:
    """A trained model with all that is needed to use it.

    `tokenizer` is what its kind reads: see `small_model`.
    """

    name: str
    model: Any
    tokenizer: Any
    card: dict[str, Any]


def names() -> tuple[str, ...]:
    """Every model that is kept, in alphabetical order."""
    return tuple(sorted(path.parent.name for path in FOLDER.glob("*/card.json")))


def card(name: str) -> dict[str, Any]:
    """What is known of a model without loading it.

    CorpusError lists the names that exist.
    """
    file = FOLDER / name / "card.json"
    if name not in names():
        raise CorpusError(
            f"there is no small model {name!r}; there are: {', '.join(names())}"
        )
    return json.loads(file.read_text(encoding="utf-8"))


def small_model(name: str) -> SmallModel:
    """Load a model with its tokenizer; a module comes in evaluation mode, in float32.

    "gpt", "llama", "unmasked", "lstm", "ngram", "modernbert" and "placed" have a
    ByteLevelBPE ("placed" may have the list of its words), "bert", "electra" and
    "encoder" a Tokenizer, "seq2seq" and "transformer" the symbols of both sides as a
    dict of lists; "vectors" are a Vectors, and their words are the tokenizer; "lora" is
    the model that it was trained on, with the update beside its matrices, and that
    model's tokenizer; "fill-mask" is a published encoder with a head that was trained
    here, and BERT's Tokenizer; "elmo" has the function from texts as lists of words to
    characters and mask. Raises CorpusError if a file is missing or its tensors are not
    those of the model.
    """
    found = card(name)
    kind, config = found["kind"], found["config"]
    weights = read(name)
    if kind == "ngram":
        from reference_impl.models.ngram_table import BackoffTable

        return SmallModel(
            name, BackoffTable.from_tensors(weights, **config), tokenizer(name), found
        )
    if kind == "vectors":
        from reference_impl.embeddings.vectors import Vectors

        words = tokenizer(name)
        return SmallModel(name, Vectors(words, weights["matrix"]), words, found)
    if kind == "lora":
        from reference_impl.layers.lora import add_lora, load_lora

        base = small_model(config["base"])
        add_lora(
            base.model, config["targets"], rank=config["rank"], alpha=config["alpha"]
        )
        load_lora(base.model, weights)
        return SmallModel(name, base.model.eval(), base.tokenizer, found)
    if kind == "fill-mask":
        from reference_impl.corpora.readers import load

        model = _adapted_masked_lm(
            load(config["base"]), weights, config["mask_id"], config["rank"]
        )
        return SmallModel(name, model, load("bert_tokenizer"), found)
    model = _model(kind, config)
    _load(model, weights, name)
    if kind == "elmo":
        from reference_impl.models.elmo import characters_of

        return SmallModel(
            name,
            model.eval(),
            partial(characters_of, max_characters=config["max_characters"]),
            found,
        )
    return SmallModel(name, model.eval(), tokenizer(name), found)


def read(name: str) -> dict[str, Tensor]:
    """The tensors of a model's file; half precision comes as float32."""
    from reference_impl.weights.safetensors_files import read_weights

    return {
        key: tensor.float() if tensor.is_floating_point() else tensor
        for key, tensor in read_weights(FOLDER / name).items()
    }


def tokenizer(name: str) -> Any:
    """The tokenizer that lies beside a model's weights, by the file that is there."""
    from reference_impl.tokenizers.byte_level import ByteLevelBPE
    from reference_impl.tokenizers.files import load_bert
    from reference_impl.tokenizers.vocabulary import Vocabulary

    folder = FOLDER / name
    if (folder / "bpe.json").is_file():
        stored = json.loads((folder / "bpe.json").read_text(encoding="utf-8"))
        return ByteLevelBPE(
            Vocabulary(stored["tokens"]), [tuple(pair) for pair in stored["merges"]]
        )
    if (folder / "vocab.txt").is_file():
        return load_bert(folder / "vocab.txt")
    if (folder / "words.txt").is_file():
        return (
            (folder / "words.txt")
            .read_text(encoding="utf-8")
            .removesuffix("\n")
            .split("\n")
        )
    if (folder / "symbols.json").is_file():
        return json.loads((folder / "symbols.json").read_text(encoding="utf-8"))
    raise CorpusError(
        f"{folder} has no tokenizer: no bpe.json, vocab.txt, words.txt or symbols.json"
    )


def keep(
    name: str,
    kind: str,
    config: Any,
    weights: nn.Module | dict[str, Tensor],
    *,
    script: str,
    seed: int,
    corpora: Iterable[str],
    first_losses: Iterable[float],
    **more: Any,
) -> None:
    """Write weights in float16 and a card without figures; `add_figures` says what was
    measured from the file.

    `config` is a dataclass or a dict of what builds the model. Raises CorpusError above
    LARGEST bytes.
    """
    from reference_impl.weights.safetensors_files import write_weights

    state = own_state(weights) if isinstance(weights, nn.Module) else weights
    half = {
        key: tensor.half() if tensor.is_floating_point() else tensor
        for key, tensor in state.items()
    }
    size = sum(tensor.nbytes for tensor in half.values())
    if size > LARGEST:
        raise CorpusError(
            f"{name} has {size:,} bytes of weights: at most {LARGEST:,} are kept, make"
            " it smaller"
        )
    write_weights(FOLDER / name, half)
    settings = config if isinstance(config, dict) else dataclasses.asdict(config)
    _write_card(
        name,
        {
            "name": name,
            "kind": kind,
            "config": settings,
            "script": script,
            "seed": seed,
            "corpora": {
                corpus: [file.sha256 for file in entry(corpus).files]
                for corpus in corpora
            },
            "parameters": sum(
                tensor.numel() for tensor in half.values() if tensor.is_floating_point()
            ),
            "bytes": size,
            "first_losses": [round(loss, 5) for loss in first_losses],
            **more,
        },
    )


def add_figures(name: str, figures: dict[str, Any], of_slice: dict[str, Any]) -> None:
    """Put what was measured from the kept file into its card: over all held-out text,
    and over a fixed slice of it.
    """
    _write_card(name, {**card(name), "figures": figures, "figures_of_slice": of_slice})


def own_state(model: nn.Module) -> dict[str, Tensor]:
    """A model's tensors under its own names, each once: of shared ones the first name
    only.
    """
    state: dict[str, Tensor] = {}
    seen: set[int] = set()
    for key, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            state[key] = tensor
    return state


def _adapted_masked_lm(
    encoder: nn.Module, weights: dict[str, Tensor], mask_id: int, rank: int
) -> nn.Module:
    from reference_impl.models import adapted_masked_lm

    model = adapted_masked_lm.adapted_masked_lm(encoder, mask_id, rank)
    adapted_masked_lm.load_trained_parts(model, weights)
    return model.eval()


def _model(kind: str, config: dict[str, Any]) -> nn.Module:
    from reference_impl.models import (
        bert,
        electra,
        elmo,
        gpt,
        llama,
        lstm,
        modernbert,
        placed_decoder,
        seq2seq,
        transformer,
        unmasked,
    )

    made = {
        "gpt": (gpt.GPT, gpt.GPTConfig),
        "llama": (llama.Llama, llama.LlamaConfig),
        "unmasked": (unmasked.UnmaskedGPT, gpt.GPTConfig),
        "bert": (bert.BertForMaskedLM, bert.BertConfig),
        "electra": (electra.ElectraForPreTraining, electra.ElectraConfig),
        "elmo": (elmo.ELMo, elmo.ELMoConfig),
        "encoder": (modernbert.ModernBert, modernbert.ModernBertConfig),
        "modernbert": (modernbert.ModernBertForMaskedLM, modernbert.ModernBertConfig),
        "placed": (placed_decoder.PlacedDecoders, placed_decoder.PlacedConfig),
        "lstm": (lstm.LSTMLanguageModel, lstm.LSTMConfig),
        "seq2seq": (seq2seq.Seq2Seq, seq2seq.Seq2SeqConfig),
        "transformer": (transformer.Transformer, transformer.TransformerConfig),
    }
    if kind not in made:
        raise CorpusError(
            f"a card says kind {kind!r}; there are: fill-mask, lora, ngram,"
            f" vectors, {', '.join(made)}"
        )
    model_class, config_class = made[kind]
    return model_class(
        config_class(**{key: _without_lists(value) for key, value in config.items()})
    )


def _without_lists(value: Any) -> Any:
    """A setting as its configuration has it: JSON has no tuples, and no configuration
    has lists.
    """
    return tuple(map(_without_lists, value)) if isinstance(value, list) else value


def _load(model: nn.Module, weights: dict[str, Tensor], name: str) -> None:
    wanted = own_state(model)
    if wrong := sorted(wanted.keys() ^ weights.keys()):
        raise CorpusError(
            f"{FOLDER / name}/model.safetensors: {wrong[0]} is on one side only (and"
            f" {len(wrong) - 1} more); train it anew with the script that its card"
            " names"
        )
    with torch.no_grad():
        for key, tensor in wanted.items():
            if tensor.shape != weights[key].shape:
                raise CorpusError(
                    f"{FOLDER / name}/model.safetensors: {key} is"
                    f" {tuple(weights[key].shape)}, the model's is"
                    f" {tuple(tensor.shape)}; train it anew with the script of its card"
                )
            tensor.copy_(weights[key])


def _write_card(name: str, value: dict[str, Any]) -> None:
    with written_whole(FOLDER / name / "card.json") as temporary:
        temporary.write_text(
            json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
