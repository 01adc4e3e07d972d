"""LLaMA from GGUF: a tiny one against the transformers model it was written from, SmolLM2 against
transformers.
"""

import gguf
import numpy as np
import pytest
import torch
from transformers import LlamaConfig as TheirConfig
from transformers import LlamaForCausalLM
from transformers.modeling_gguf_pytorch_utils import LlamaTensorProcessor
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from reference_impl.models.llama import Llama
from reference_impl.weights.gguf_files import read_gguf
from reference_impl.weights.gguf_llama import from_gguf, published_config, unpermute
from reference_impl.weights.shards import WeightsError
from tests.reference_impl.weights.conftest import gguf_bytes, text

IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7, 9, 3]])


def tiny(**changes):
    torch.manual_seed(0)
    settings = {
        "vocab_size": 11,
        "hidden_size": 24,
        "intermediate_size": 20,
        "num_hidden_layers": 12,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 16,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500.0,
        "tie_word_embeddings": True,
        **changes,
    }
    return LlamaForCausalLM(TheirConfig(**settings)).eval()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tie_word_embeddings": False, "num_key_value_heads": 4},
        {"num_key_value_heads": 1, "hidden_size": 40},
    ],
)
def test_a_model_as_llama_cpp_converts_it_gives_the_logits_of_the_original(write_llama, changes):
    theirs = tiny(**changes)
    ours = from_gguf(Llama, write_llama(theirs))
    assert not ours.training
    assert (ours.output.weight is ours.embedding.weight) == theirs.config.tie_word_embeddings
    with torch.no_grad():
        torch.testing.assert_close(ours(IDS), theirs(IDS).logits, rtol=0, atol=1e-5)


def test_rows_of_a_head_go_from_pairs_to_halves():
    rows = torch.arange(12.0)[:, None]
    assert unpermute(rows, 2).flatten().tolist() == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]
    with pytest.raises(WeightsError, match="12 rows can't be 4 heads of pairs"):
        unpermute(rows, 4)


@pytest.mark.parametrize(
    "damage, says",
    [
        (
            lambda content: content.replace(b"\5\0\0\0\0\0\0\0llama", b"\5\0\0\0\0\0\0\0mamba"),
            "of the architecture 'mamba'",
        ),
        (
            lambda content: content.replace(b"llama.block_count", b"llama.block_coins"),
            "has no llama.block_count",
        ),
        (
            lambda content: content.replace(b"blk.3.attn_q.weight", b"blk.3.attn_x.weight"),
            "'blk.3.attn_x.weight' is no tensor",
        ),
        (
            lambda content: content.replace(b"blk.3.attn_q.weight", b"blk.99.attn_q.weigh"),
            "'blk.99.attn_q.weigh' is no tensor",
        ),
        (
            lambda content: content.replace(b"blk.3.attn_q.weight", b"blk.x.attn_q.weight"),
            "'blk.x.attn_q.weight' is no tensor",
        ),
        (
            lambda content: content.replace(b"token_embd.weight", b"token_embe.weight"),
            "no tensor 'token_embd.weight'",
        ),
        (
            lambda content: content.replace(b"blk.11.attn_q.weight", b"blk.77.attn_q.weight"),
            "lacks 'blocks.77|has 'blocks.77",
        ),
        (
            lambda content: content.replace(
                b"feed_forward_length\4\0\0\0\x14", b"feed_forward_length\4\0\0\0\x15"
            ),
            r"shape \(20, 24\) in the checkpoint but \(21, 24\)",
        ),
        (
            lambda content: content.replace(
                b"embedding_length\4\0\0\0\x18\0\0\0", b"embedding_length\4\0\0\0\x18\0\0\x40"
            ),
            "in the checkpoint but",
        ),
        (
            lambda content: content.replace(
                b"block_count\4\0\0\0\x0c\0\0\0", b"block_count\4\0\0\0\x0c\0\0\x40"
            ),
            "sets num_layers to 1073741836: LlamaConfig expects int, below 1,000",
        ),
        (
            lambda content: content.replace(b"head_count\4\0\0\0\4", b"head_count\4\0\0\0\0"),
            "does not make a|0",
        ),
        (
            lambda content: content.replace(b"head_count\4\0\0\0\4", b"head_count\6\0\0\0\4"),
            "sets num_heads to",
        ),
    ],
)
def test_a_file_that_is_no_llama_or_does_not_fit_itself_is_refused(
    write_llama, tmp_path, damage, says
):
    content = write_llama(tiny()).read_bytes()
    damaged = damage(content)
    assert damaged != content
    (tmp_path / "x.gguf").write_bytes(damaged)
    with pytest.raises(WeightsError, match=says):
        from_gguf(Llama, tmp_path / "x.gguf")


def test_scaled_rotary_positions_are_refused(write_llama):
    with pytest.raises(WeightsError, match="scales rotary positions by 'yarn'"):
        from_gguf(Llama, write_llama(tiny(), **{"llama.rope.scaling.type": "yarn"}))


def test_factors_of_rotary_frequencies_are_refused_unless_they_change_nothing(write_llama):
    theirs, ones = tiny(), np.ones(3, dtype=np.float32)
    from_gguf(Llama, write_llama(theirs, factors=ones))
    with pytest.raises(WeightsError, match="rescales rotary positions by rope_freqs.weight"):
        from_gguf(Llama, write_llama(theirs, factors=8 * ones))


def test_a_file_of_values_alone_is_no_model(tmp_path):
    (tmp_path / "x.gguf").write_bytes(gguf_bytes([("general.architecture", 8, text("llama"))]))
    with pytest.raises(WeightsError, match="is it a language model"):
        published_config(read_gguf(tmp_path / "x.gguf"))


@pytest.fixture(scope="session")
def their_smollm2(their_smollm2_file):
    """transformers' LLaMA with the numbers, names and un-permutation of the gguf package and of
    transformers.

    As `from_pretrained(gguf_file=...)` does it, part for part, without the minute that it takes.
    """
    value = {
        name: field.contents()
        for name, field in their_smollm2_file.fields.items()
        if len(field.data) == 1
    }
    config = TheirConfig(
        vocab_size=value["llama.vocab_size"],
        hidden_size=value["llama.embedding_length"],
        intermediate_size=value["llama.feed_forward_length"],
        num_hidden_layers=value["llama.block_count"],
        num_attention_heads=value["llama.attention.head_count"],
        num_key_value_heads=value["llama.attention.head_count_kv"],
        max_position_embeddings=value["llama.context_length"],
        rms_norm_eps=value["llama.attention.layer_norm_rms_epsilon"],
        rope_theta=value["llama.rope.freq_base"],
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    their_names = {
        gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 30).get_name(name, (".weight",)): name
        for name in model.state_dict()
        if name != "lm_head.weight"
    }
    processor = LlamaTensorProcessor(config=config.to_dict())
    state = {}
    for tensor in their_smollm2_file.tensors:
        weight = processor.process(
            gguf.quants.dequantize(tensor.data, tensor.tensor_type), tensor.name
        ).weights
        state[their_names[tensor.name]] = torch.from_numpy(np.array(weight))
    model.load_state_dict(
        {**state, "lm_head.weight": state["model.embed_tokens.weight"]}, assign=True
    )
    model.model.rotary_emb = LlamaRotaryEmbedding(config)
    return model.eval()


CHATS = [
    "What is the capital of France?",
    "Count from 1 to 12, with commas.",
    "Write one sentence about a river bank.",
]


@pytest.fixture(scope="session")
def prompts(smollm2_file, smollm2_tokenizer):
    """Three chats as ids, ready for the model's answer."""
    from reference_impl.tokenizers.chat import render_chat

    return [
        smollm2_tokenizer.encode(
            render_chat(
                smollm2_file.metadata["tokenizer.chat_template"],
                [{"role": "user", "content": chat}],
                add_generation_prompt=True,
            )
        ).ids
        for chat in CHATS
    ]


def test_smollm2_gives_the_logits_of_transformers(smollm2, their_smollm2, prompts):
    assert sum(p.numel() for p in smollm2.parameters()) == 134_515_008
    ids = torch.tensor([prompts[2]])
    with torch.no_grad():
        ours, theirs = smollm2(ids), their_smollm2(ids).logits
    assert theirs.std() > 1
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-3)


def test_smollm2_writes_the_greedy_text_of_transformers(
    smollm2, their_smollm2, prompts, smollm2_tokenizer
):
    """All three at once, padded on the left; 40 tokens each, whatever comes."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[2] * (longest - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor(
        [[False] * (longest - len(prompt)) + [True] * len(prompt) for prompt in prompts]
    )
    theirs = their_smollm2.generate(
        ids,
        attention_mask=mask.long(),
        do_sample=False,
        max_new_tokens=40,
        eos_token_id=None,
        pad_token_id=2,
    )[:, longest:]
    # Given the text up to each token, ours must choose the next: the same as generating, in one
    # forward pass.
    whole = torch.cat([ids, theirs], 1)
    positions = (
        torch.cat([mask, torch.ones_like(theirs, dtype=torch.bool)], 1).cumsum(1) - 1
    ).clamp(min=0)
    with torch.no_grad():
        seen = torch.cat([mask, torch.ones_like(theirs, dtype=torch.bool)], 1)
        logits = smollm2(whole, mask=seen, positions=positions)
    assert torch.equal(logits[:, longest - 1 : -1].argmax(-1), theirs)
    assert "Paris" in smollm2_tokenizer.decode(theirs[0].tolist())
