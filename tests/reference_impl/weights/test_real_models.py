"""MiniLM in our BERT, SmolLM2's vocabulary in our tokenizer: the same vectors and ids as the
libraries give.
"""

import pytest
import tokenizers
import torch
from transformers import BertModel

from reference_impl import corpora
from reference_impl.models.bert import Bert
from reference_impl.tokenizers.chat import render_chat
from reference_impl.weights import safetensors_files
from reference_impl.weights.shards import WeightsError

SENTENCES = [
    "She sat on the bank of the river and watched the water.",
    "The bank lent him the money.",
    "A loan from a lender.",
    "Ünïcode, emoji \U0001f389 and 12,345.67!",
]


@pytest.fixture(scope="module")
def batch():
    """Ids, segments and mask of the sentences, as the published tokenizer.json makes them."""
    library = tokenizers.Tokenizer.from_file(str(corpora.path("minilm") / "tokenizer.json"))
    library.no_truncation()
    library.enable_padding()
    encoded = library.encode_batch(SENTENCES)
    return torch.tensor([one.ids for one in encoded]), torch.tensor(
        [one.attention_mask for one in encoded]
    ).bool()


def test_minilm_gives_the_vectors_of_transformers(minilm, batch):
    ids, mask = batch
    theirs = BertModel.from_pretrained(corpora.path("minilm")).eval()
    with torch.no_grad():
        ours, expected = minilm(ids, mask=mask), theirs(ids, attention_mask=mask.long())
    assert sum(p.numel() for p in minilm.parameters()) == 22_713_216
    torch.testing.assert_close(
        ours.tokens[mask], expected.last_hidden_state[mask], rtol=0, atol=1e-5
    )
    torch.testing.assert_close(ours.pooled, expected.pooler_output, rtol=0, atol=1e-5)


def test_minilm_puts_the_bank_that_lends_nearer_to_a_loan_than_to_a_river(minilm, batch):
    ids, mask = batch
    with torch.no_grad():
        tokens = minilm(ids, mask=mask).tokens
    means = (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)  # (B, C)
    river, money, loan = torch.nn.functional.normalize(means, dim=-1)[:3]
    assert money @ loan > money @ river


def test_our_bert_tokenizer_makes_the_same_batch(batch):
    ours = corpora.load("bert_tokenizer")
    assert [ours.encode(sentence).ids for sentence in SENTENCES] == [
        row[seen].tolist() for row, seen in zip(*batch, strict=True)
    ]


def test_minilm_cut_into_shards_is_the_same_model_and_from_torchs_own_file_too(minilm, tmp_path):
    weights = safetensors_files.read_weights(corpora.path("minilm"))
    config = (corpora.path("minilm") / "config.json").read_text()
    for name in ("shards", "pickled", "wrong"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(config)
    safetensors_files.write_weights(tmp_path / "shards", weights, max_bytes=40_000_000)
    torch.save(weights, tmp_path / "pickled" / "pytorch_model.bin")
    for name in ("shards", "pickled"):
        again = Bert.from_pretrained(tmp_path / name)
        assert all(
            torch.equal(p, q) for p, q in zip(again.parameters(), minilm.parameters(), strict=True)
        ), name
    (tmp_path / "wrong" / "config.json").write_text(
        config.replace('"hidden_size": 384', '"hidden_size": 12000000')
    )
    (tmp_path / "wrong" / "model.safetensors").symlink_to(
        corpora.path("minilm") / "model.safetensors"
    )
    # 12 million squared would be 576 TB a matrix: refused by the shapes, before anything is
    # allocated.
    with pytest.raises(WeightsError, match="in the checkpoint but"):
        Bert.from_pretrained(tmp_path / "wrong")


@pytest.mark.parametrize(
    "change, says",
    [
        ('"hidden_size": "384"', "sets hidden_size to '384': BertConfig expects int"),
        ('"hidden_size": true', "sets hidden_size to True"),
        ('"hidden_size": 1e400', "sets hidden_size to inf"),
        ('"hidden_size": -384', "sets hidden_size to -384"),
        ('"hidden_size": 36893488147419103232', "sets hidden_size to"),
        ('"hidden_size": [384]', "sets hidden_size to"),
        ('"hidden_size": 0', "sets hidden_size to 0: BertConfig expects int, 1 or more"),
        ('"hidden_size": 384, "num_hidden_layers": 1000000000', "sets num_layers to 1000000000"),
        ('"hidden_size": 384, "num_hidden_layers": 7', "lacks"),
        ('"hidden_size": 384, "vocab_size": 2147483647', "in the checkpoint but"),
        ('"hidden_size": 385', "heads"),
    ],
)
def test_a_config_that_lies_is_refused(tmp_path, change, says):
    config = (corpora.path("minilm") / "config.json").read_text()
    # Of two equal keys JSON takes the last.
    config = config.replace("\n}", "").rstrip() + f",\n {change}\n}}"
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "model.safetensors").symlink_to(corpora.path("minilm") / "model.safetensors")
    with pytest.raises(WeightsError, match=says):
        Bert.from_pretrained(tmp_path)


TEXTS = [
    "1234567890 and 3.14",
    "Hello world  two  spaces\n\n\ttabs",
    "naïve 日本語 \U0001f389\u200d\U0001f680 \x00\ufeff",
    "",
    "It's they'll I'VE",
    "def f(x):\n    return x ** 2  # ½²",
    "x" * 200,
    "<|im_start|>user\n12<|im_end|> <|endoftext|>",
]


def test_smollm2s_ids_are_those_of_tokenizers_with_digits_cut(smollm2_file, smollm2_tokenizer):
    table = smollm2_file.metadata
    tokens = table["tokenizer.ggml.tokens"]
    library = tokenizers.Tokenizer(
        tokenizers.models.BPE(
            {token: id for id, token in enumerate(tokens)},
            [tuple(m.split(" ")) for m in table["tokenizer.ggml.merges"]],
        )
    )
    library.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    library.decoder = tokenizers.decoders.ByteLevel()
    library.add_special_tokens(
        [token for token, kind in zip(tokens, table["tokenizer.ggml.token_type"]) if kind == 3]
    )
    chat = render_chat(
        table["tokenizer.chat_template"], [{"role": "user", "content": "Add 123 and 4567."}], True
    )
    for text in [*TEXTS, chat, corpora.load("kjv")[:20_000]]:
        assert smollm2_tokenizer.encode(text).ids == library.encode(text).ids, text[:50]
    assert len(smollm2_tokenizer.encode("1234567890").ids) == 10
    ids = smollm2_tokenizer.encode(TEXTS[2]).ids
    assert smollm2_tokenizer.decode(ids) == library.decode(ids) == TEXTS[2]
