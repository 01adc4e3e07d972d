"""The models that travel with the code: what their cards say is measured again from the weights,
and trained again.
"""

import importlib
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from reference_impl import corpora
from reference_impl.corpora import CorpusError, small_models
from reference_impl.models.gpt import GPT, GPTConfig

ROOT = Path(__file__).resolve().parents[3]
SLICES = {
    "bank_reader": 2,
    "elmo_glosses": 5,
    "finder": 5,
    "gpt_kjv": 8,
    "gpt_chat": 4,
    "bert_kjv": 5,
    "bert_kjv_early": 5,
    "electra_kjv": 5,
    "electra_kjv_stages": 5,
    "lstm_spelling": 5,
    "gpt_definitions_lora": 20,
    "ngram_kjv": 10,
    "skipgram_glosses": 3,
    "svd_kjv": 3,
    "gpt_kjv_dpo": 8,
    "gpt_kjv_draft": 8,
    "lstm_kjv": 8,
    "transformer_spelling": 5,
    "positions_kjv": 20,
    "sums": 4,
    "sums_early": 4,
    "sums_grpo": 4,
    "rules": 5,
    "gpt_kjv_masked": 10,
    "gpt_kjv_unmasked": 10,
    "llama_kjv": 10,
    "modernbert_kjv": 20,
    "modernbert_kjv_global": 20,
    "induction": 4,
    "minilm_fill_mask": 8,
}
FALLS = {
    "gpt_kjv_dpo": 0.01,
    "modernbert_kjv": 0.01,
}  # DPO starts at log 2, and letters at their frequencies, with small steps
QUICK = [name for name in small_models.names() if small_models.card(name)["first_losses"]]
TINY = GPTConfig(vocab_size=7, hidden_size=8, num_layers=1, num_heads=2, max_position_embeddings=4)


@pytest.fixture
def script(monkeypatch):
    """`script("gpt_kjv")` is the module that trained a model, by its card."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "trained"))
    return lambda name: importlib.import_module(Path(small_models.card(name)["script"]).stem)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of models of this test's own."""
    monkeypatch.setattr(small_models, "FOLDER", tmp_path)
    return tmp_path


def keep_tiny(**change) -> nn.Module:
    torch.manual_seed(0)
    model = GPT(TINY)
    small_models.keep(
        **{
            "name": "tiny",
            "kind": "gpt",
            "config": TINY,
            "weights": model,
            "script": "s.py",
            "seed": 0,
            "corpora": ["kjv"],
            "first_losses": [1.234567],
            **change,
        }
    )
    return model


def test_every_kept_model_is_tested_here():
    assert set(small_models.names()) <= set(SLICES)


@pytest.mark.parametrize("name", small_models.names())
def test_weights_are_half_precision_small_and_from_a_corpus_that_is_pinned_today(name):
    card, file = small_models.card(name), small_models.FOLDER / name / "model.safetensors"
    assert {tensor.dtype for tensor in load_file(file).values()} <= {
        torch.float16,
        torch.int16,
        torch.int32,
    }
    assert file.stat().st_size <= 4_000_000
    assert (ROOT / card["script"]).is_file()
    for corpus, hashes in card["corpora"].items():
        assert hashes == [pinned.sha256 for pinned in corpora.entry(corpus).files]


def test_all_weights_together_are_at_most_32_megabytes():
    assert (
        sum(file.stat().st_size for file in small_models.FOLDER.rglob("*.safetensors"))
        <= 32_000_000
    )


@pytest.mark.parametrize("name", small_models.names())
@torch.no_grad()
def test_what_a_card_says_is_measured_again_from_the_weights(name, script):
    kept = small_models.small_model(name)
    found = script(name).figures(kept.model, kept.tokenizer, every=SLICES[name])
    assert found == pytest.approx(kept.card["figures_of_slice"], abs=2e-3)


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("steps", [5, pytest.param(20, marks=pytest.mark.long)])
def test_the_first_steps_of_a_training_give_the_recorded_losses(name, script, steps):
    recorded = small_models.card(name)["first_losses"]
    assert len(recorded) == 20 and recorded[0] > recorded[-1] + FALLS.get(name, 0.1)
    assert script(name).first_losses(steps) == pytest.approx(recorded[:steps], abs=1e-3)


def test_a_kept_model_comes_back_in_half_precision_with_its_tied_output(folder):
    model = keep_tiny()
    (folder / "tiny" / "symbols.json").write_text('{"source": []}')
    kept = small_models.small_model("tiny")
    assert kept.tokenizer == {"source": []} and not kept.model.training
    assert kept.card["parameters"] == sum(p.numel() for p in model.parameters())
    assert kept.model.output.weight is kept.model.embedding.weight
    for (name, mine), (_, found) in zip(
        model.named_parameters(), kept.model.named_parameters(), strict=True
    ):
        assert torch.equal(mine.half().float(), found), name
    assert kept.card["first_losses"] == [1.23457]


def test_figures_are_added_to_a_card_and_nothing_else_of_it_changes(folder):
    keep_tiny(steps=5)
    before = small_models.card("tiny")
    small_models.add_figures("tiny", {"bits": 1.5}, {"bits": 1.6})
    assert small_models.card("tiny") == {
        **before,
        "figures": {"bits": 1.5},
        "figures_of_slice": {"bits": 1.6},
    }


def test_a_model_that_is_too_large_is_refused_before_anything_is_written(folder):
    with pytest.raises(CorpusError, match="tiny has 4,000,002 bytes of weights: at most 4,000,000"):
        keep_tiny(weights={"w": torch.zeros(2_000_001)})
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "change, message",
    [
        ({"config": {**asdict(TINY), "num_layers": 2}}, "blocks.1.*is on one side only"),
        (
            {"config": {**asdict(TINY), "vocab_size": 9}},
            r"embedding.weight is \(7, 8\), the model's is \(9, 8\)",
        ),
        ({"kind": "gtp"}, "kind 'gtp'; there are: .*lora, ngram, vectors, gpt"),
    ],
)
def test_a_card_that_does_not_fit_its_weights_is_refused_by_name(folder, change, message):
    keep_tiny(**change)
    (folder / "tiny" / "symbols.json").write_text("{}")
    with pytest.raises(CorpusError, match=message):
        small_models.small_model("tiny")


def test_an_unknown_name_and_a_missing_tokenizer_are_named(folder):
    keep_tiny()
    with pytest.raises(CorpusError, match="no small model 'gpt'; there are: tiny"):
        small_models.small_model("gpt")
    with pytest.raises(CorpusError, match="tiny has no tokenizer: no bpe.json, vocab.txt"):
        small_models.small_model("tiny")
