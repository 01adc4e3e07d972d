"""GGUF files, made with the `gguf` package's writer or by hand, byte for byte; the real models,
read once.
"""

import struct

import gguf
import numpy as np
import pytest

from reference_impl import corpora
from reference_impl.models.bert import Bert
from reference_impl.models.llama import Llama
from reference_impl.tokenizers.gguf_tokenizer import tokenizer_from_metadata
from reference_impl.weights.gguf_files import read_gguf
from reference_impl.weights.gguf_llama import from_gguf

TYPES = {"<u4": 4, "<i4": 5, "<f4": 6, "<u8": 10}


def text(value: str | bytes) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(content)) + content


def gguf_bytes(
    values=(),
    tensors=(),
    *,
    magic=b"GGUF",
    version=3,
    num_values=None,
    num_tensors=None,
    content=b"",
    alignment=32,
) -> bytes:
    """A file: `values` are (name, type, bytes), `tensors` (name, sizes, type, offset), each taken
    as it is.
    """
    head = magic + struct.pack(
        "<IQQ",
        version,
        len(tensors) if num_tensors is None else num_tensors,
        len(values) if num_values is None else num_values,
    )
    for name, type_, value in values:
        head += text(name) + struct.pack("<I", type_) + value
    for name, sizes, type_, offset in tensors:
        head += text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, type_, offset)
    return head + b"\0" * (-len(head) % alignment) + content


@pytest.fixture(scope="session")
def write_llama(tmp_path_factory):
    """Write a tiny transformers LLaMA as llama.cpp's converter does: its names, q and k permuted.

    Gives the path.
    """

    def permuted(weight, heads):
        # As in llama.cpp's convert_hf_to_gguf.py, LlamaModel.permute.
        pairs = weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:]).swapaxes(
            1, 2
        )
        return pairs.reshape(weight.shape)

    def write(model, factors=None, **more):
        config = model.config
        path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        writer.add_embedding_length(config.hidden_size)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_block_count(config.num_hidden_layers)
        writer.add_head_count(config.num_attention_heads)
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_context_length(config.max_position_embeddings)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
        for key, value in more.items():
            writer.add_string(key, value)
        if factors is not None:
            writer.add_tensor("rope_freqs.weight", factors)
        names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
        for name, tensor in model.state_dict().items():
            if name == "lm_head.weight" and config.tie_word_embeddings:
                continue
            weight = tensor.float().numpy()
            if "q_proj" in name:
                weight = permuted(weight, config.num_attention_heads)
            if "k_proj" in name:
                weight = permuted(weight, config.num_key_value_heads)
            writer.add_tensor(names.get_name(name, (".weight",)), np.ascontiguousarray(weight))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


@pytest.fixture(scope="session")
def smollm2_path():
    return corpora.path("smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def smollm2_file(smollm2_path):
    return read_gguf(smollm2_path)


@pytest.fixture(scope="session")
def their_smollm2_file(smollm2_path):
    """The same file as the `gguf` package reads it."""
    return gguf.GGUFReader(smollm2_path)


@pytest.fixture(scope="session")
def smollm2(smollm2_path):
    return from_gguf(Llama, smollm2_path)


@pytest.fixture(scope="session")
def smollm2_tokenizer(smollm2_file):
    return tokenizer_from_metadata(smollm2_file.metadata)


@pytest.fixture(scope="session")
def minilm():
    return Bert.from_pretrained(corpora.path("minilm"))
