"""The cost model against torch's counters, published sizes and speeds, simulations in a few lines,
and worked numbers.
"""

from dataclasses import replace

import pytest
import torch

from reference_impl.engine.paged_cache import PagedCache
from reference_impl.generation.cache import cache_for
from reference_impl.layers.checks import ModelInputError
from reference_impl.measure.flops import count_flops
from reference_impl.measure.roofline import (
    A100,
    H100,
    H200,
    KERNELS_PER_BLOCK,
    LLAMA_3_8B,
    LLAMA_3_70B,
    Chunk,
    Machine,
    Work,
    all_reduce_seconds,
    attention_work,
    bubble,
    communication_seconds,
    matrix_work,
    max_sequences,
    num_weights,
    pipeline_seconds,
    step_memory,
    step_time,
)
from reference_impl.measure.tensors import TensorCounter
from reference_impl.models.llama import Llama, LlamaConfig

SMALL = LlamaConfig(
    vocab_size=50, hidden_size=24, num_heads=6, num_kv_heads=2, intermediate_size=40, num_layers=3
)
LLAMA_2_7B = LlamaConfig()
LLAMA_2_70B = LlamaConfig(32_000, 8192, 28_672, num_layers=80, num_heads=64, num_kv_heads=8)
BF16, FP32 = torch.bfloat16, torch.float32


@pytest.fixture(scope="module")
def model():
    return Llama(SMALL).eval()


def decode(batch, context):
    return [Chunk(1, context)] * batch


def operations(config, chunks):
    return matrix_work(config, chunks, FP32).flops + attention_work(config, chunks, FP32).flops


def test_operations_of_prefill_chunk_and_decode_are_what_torch_counts(model):
    ids, cache = torch.randint(50, (2, 10)), cache_for(model, 16)

    def step(start, end, samples):
        with torch.inference_mode():
            hidden = model.hidden(ids[:, start:end], cache=cache)
            if samples:
                model.output(hidden[:, -1])

    assert count_flops(lambda: step(0, 5, False)) == operations(
        SMALL, [Chunk(5, 5, samples=False)] * 2
    )
    assert count_flops(lambda: step(5, 9, True)) == operations(SMALL, [Chunk(4, 9)] * 2)
    assert count_flops(lambda: step(9, 10, True)) == operations(SMALL, [Chunk(1, 10)] * 2)


@pytest.mark.parametrize("tied", [False, True])
def test_weights_are_those_of_the_model_and_a_step_reads_all_but_an_embedding_of_its_own(tied):
    config = replace(SMALL, tie_word_embeddings=tied)
    model = Llama(config)
    num_bytes = sum(p.nbytes for p in model.parameters())
    assert step_memory(config, decode(1, 1), FP32).weights == num_bytes
    embedding = 0 if tied else model.embedding.weight.nbytes
    assert matrix_work(config, decode(7, 9), FP32).bytes == num_bytes - embedding


def test_published_models_have_their_published_sizes():
    assert num_weights(LLAMA_3_8B) == 8_030_261_248 and num_weights(LLAMA_3_70B) == 70_553_706_496
    assert step_memory(LLAMA_3_8B, decode(1, 1)).weights / 1e9 == pytest.approx(16.06, abs=0.005)
    assert (
        max_sequences(LLAMA_3_70B, 2048, H200)
        == 0
        < max_sequences(LLAMA_3_70B, 2048, H200, num_devices=2)
    )


@pytest.mark.parametrize(
    ("config", "tokens_per_second", "gbytes_per_second"),
    [(LLAMA_2_7B, 104.9, 1397.31), (LLAMA_3_8B, 93.89, 1410.76)],
)
def test_bytes_of_a_step_are_those_that_gpt_fast_reports(
    config, tokens_per_second, gbytes_per_second
):
    # meta-pytorch/gpt-fast, README, "Benchmarks", bf16 at batch 1: a prompt of 5 tokens and 200 new
    # ones, for which its cache has 208 places.
    work = [part(config, decode(1, 208), BF16) for part in (matrix_work, attention_work)]
    assert sum(part.bytes for part in work) == pytest.approx(
        1e9 * gbytes_per_second / tokens_per_second, rel=1e-3
    )


@pytest.mark.parametrize(
    ("config", "num_gpus", "tokens_per_second"),
    [
        (LLAMA_2_7B, 1, 104.9),
        (LLAMA_2_7B, 2, 168.84),
        (LLAMA_2_7B, 4, 254.02),
        (LLAMA_2_7B, 8, 328.43),
        (LLAMA_2_70B, 2, 21.32),
        (LLAMA_2_70B, 4, 38.01),
        (LLAMA_2_70B, 8, 62.50),
        (LLAMA_3_70B, 8, 58.78),
    ],
)
def test_no_published_speed_is_above_the_bound(config, num_gpus, tokens_per_second):
    # The same README, "Tensor Parallelism": A100 80 GB. What is missing there, mostly latency,
    # grows with the GPUs.
    bound = 1 / step_time(config, decode(1, 100), A100, num_devices=num_gpus).total
    assert 0.2 * bound < tokens_per_second < bound


def test_decoding_alone_is_bound_by_reading_the_weights():
    time = step_time(LLAMA_3_8B, decode(1, 1), H100)
    assert 1 / time.total == pytest.approx(
        3.35e12 / (2 * (8_030_261_248 - 128_256 * 4096)), rel=1e-4
    )  # 223 tokens/s


def test_matrices_turn_from_bytes_to_operations_at_the_ridge():
    assert H100.ridge == pytest.approx(
        295.3, abs=0.05
    )  # in bf16 two operations and two bytes a weight
    weights = matrix_work(LLAMA_3_8B, decode(1, 1), BF16).bytes / 3.35e12
    assert step_time(LLAMA_3_8B, decode(295, 1), H100).matrices == weights
    for batch in (296, 3000):
        operations_alone = (
            batch * 2 * (num_weights(LLAMA_3_8B, stored=False) - 65 * 4096) / 989.4e12
        )
        assert step_time(LLAMA_3_8B, decode(batch, 1), H100).matrices == pytest.approx(
            operations_alone
        )
        assert operations_alone > weights


def test_the_bound_of_a_part_worked_by_hand():
    machine = Machine("by hand", flops=100.0, bandwidth=10.0, memory=1000.0)
    assert [Work(200.0, n).seconds(machine) for n in (10.0, 20.0, 50.0)] == [2, 2, 5]


def test_decodings_attention_reads_and_writes_keys_and_values_whatever_the_batch():
    token = 2 * 3 * 2 * 4 * 2  # key and value, layers, heads, width, bytes
    assert attention_work(SMALL, decode(1, 100), BF16).bytes == 101 * token
    assert attention_work(SMALL, [Chunk(1, 100), Chunk(20, 50)], BF16).bytes == (101 + 70) * token
    long, longer = (step_time(LLAMA_3_8B, decode(64, n), H100) for n in (4096, 8192))
    assert (
        longer.attention == pytest.approx(2 * long.attention, rel=1e-3)
        and longer.matrices == long.matrices
    )
    assert step_time(LLAMA_3_8B, decode(128, 4096), H100).attention == pytest.approx(
        2 * long.attention
    )


def test_a_window_bounds_what_is_read():
    config = replace(SMALL, sliding_window=8)
    wide = attention_work(config, decode(1, 1000), BF16)
    assert wide == attention_work(SMALL, decode(1, 8), BF16)
    assert attention_work(config, [Chunk(4, 1000)], BF16) == attention_work(
        SMALL, [Chunk(4, 11)], BF16
    )


def test_overhead_is_paid_once_a_step_and_once_a_kernel():
    machine = replace(H100, step_overhead=1e-3, kernel_overhead=2e-6)
    time = step_time(LLAMA_3_8B, decode(4, 100), machine)
    assert time.overhead == pytest.approx(1e-3 + 32 * KERNELS_PER_BLOCK * 2e-6)
    assert time.total == pytest.approx(
        step_time(LLAMA_3_8B, decode(4, 100), H100).total + time.overhead
    )


def test_memory_of_activations_is_the_most_that_is_alive_in_a_forward_pass():
    for vocab_size in (64, 8192):  # the widest moment is the feed-forward, or the logits
        config = LlamaConfig(vocab_size, 256, 688, num_layers=2, num_heads=8, num_kv_heads=4)
        model, ids = Llama(config).eval(), torch.randint(64, (1, 48))
        with torch.inference_mode(), TensorCounter() as counter:
            model.output(model.hidden(ids)[0])
        formula = step_memory(config, [Chunk(1, 48)] * 48, FP32).activations
        assert formula <= counter.peak <= 1.02 * formula  # rotary tables and positions are left out


def test_memory_of_the_cache_is_that_of_its_blocks():
    cache = PagedCache(3, 40, 16, 2, 4, BF16)
    memory = step_memory(SMALL, [Chunk(1, 17), Chunk(5, 32), Chunk(1, 1)], BF16)
    assert memory.kv_cache == (2 + 2 + 1) * cache.bytes_per_block
    assert memory.total == memory.weights + memory.kv_cache + memory.activations
    assert step_memory(SMALL, [Chunk(1, 17)], BF16, num_devices=2).kv_cache == cache.bytes_per_block


@pytest.mark.parametrize("num_devices", [1, 2, 8])
def test_as_many_sequences_as_fit_and_not_one_more(num_devices):
    count = max_sequences(LLAMA_3_8B, 3000, H100, num_devices=num_devices)
    fit, no_fit = (
        step_memory(LLAMA_3_8B, decode(n, 3000), num_devices=num_devices).total
        for n in (count, count + 1)
    )
    assert fit <= H100.memory < no_fit


def ring(num_devices):
    """Add up vectors of one number a device in a ring; the messages that each device sent, and the
    sums that it has.
    """
    parts = [[10.0**device] * num_devices for device in range(num_devices)]
    num_turns = 2 * (num_devices - 1)
    for turn in range(num_turns):
        chosen = [(device - turn) % num_devices for device in range(num_devices)]
        values = [parts[device][part] for device, part in enumerate(chosen)]
        for device, (part, value) in enumerate(zip(chosen, values, strict=True)):
            target = parts[(device + 1) % num_devices]
            target[part] = target[part] + value if turn < num_turns // 2 else value
    return num_turns, parts


@pytest.mark.parametrize("num_devices", [1, 2, 4, 8])
def test_an_all_reduce_costs_what_a_simulated_ring_sends(num_devices):
    num_messages, parts = ring(num_devices)
    assert all(part == sum(10.0**d for d in range(num_devices)) for row in parts for part in row)
    machine = Machine("slow", 1.0, 1.0, 1.0, link_bandwidth=100.0, link_latency=0.5)
    assert all_reduce_seconds(800, num_devices, machine) == num_messages * (
        800 / num_devices / 100 + 0.5
    )


def test_tensor_parallelism_shares_out_matrices_and_cache_and_pays_two_all_reduces_a_block():
    one, four = (
        step_time(LLAMA_3_70B, decode(16, 1000), replace(H200, link_latency=1e-6), num_devices=n)
        for n in (1, 4)
    )
    assert (one.matrices / four.matrices, one.attention / four.attention) == pytest.approx(
        (4, 4), rel=1e-3
    )
    assert one.communication == 0
    prompt = [Chunk(4096, 32_768)]  # bound by operations
    one_prompt, four_prompts = (step_time(LLAMA_3_70B, prompt, H200, num_devices=n) for n in (1, 4))
    assert one_prompt.matrices == pytest.approx(4 * four_prompts.matrices)
    assert one_prompt.attention == pytest.approx(4 * four_prompts.attention)
    vectors, logits = 16 * 8192 * 2, 16 * 128_256 * 2
    by_hand = (2 * 80 + 1) * (1.5 * vectors / 450e9 + 6e-6) + 0.75 * logits / 450e9 + 3e-6
    assert four.communication == pytest.approx(by_hand)
    assert communication_seconds(
        LLAMA_3_70B, [Chunk(16, 16, samples=False)], H200, BF16, 4
    ) == pytest.approx(161 * 1.5 * vectors / 450e9)


def idle_share(num_stages, num_microbatches):
    """Microbatch i is in stage s at time i + s; the share of the places in which a stage
    has none.
    """
    length = num_microbatches + num_stages - 1
    busy = {(i + s, s) for i in range(num_microbatches) for s in range(num_stages)}
    return 1 - len(busy) / (length * num_stages)


@pytest.mark.parametrize(("num_stages", "num_microbatches"), [(1, 3), (4, 1), (4, 4), (8, 32)])
def test_a_pipelines_bubble_is_that_of_its_drawing(num_stages, num_microbatches):
    assert bubble(num_stages, num_microbatches) == pytest.approx(
        idle_share(num_stages, num_microbatches)
    )


def test_a_pipeline_does_not_shorten_a_token_and_its_bubble_shrinks_with_microbatches():
    config, machine = replace(LLAMA_3_8B, vocab_size=1), replace(H100, link_latency=1e-5)
    whole = step_time(config, decode(1, 500), machine).total
    assert pipeline_seconds(config, decode(1, 500), machine, 1, 1) == whole
    send = 4096 * 2 / 450e9 + 1e-5
    assert pipeline_seconds(config, decode(1, 500), machine, 4, 1) == pytest.approx(
        whole + 4 * send, rel=1e-4
    )
    compute_bound = [Chunk(2048, 2048, samples=False)] * 32
    ideal = step_time(config, compute_bound, H100).total / 4
    for count in (1, 4, 32):
        time = pipeline_seconds(config, compute_bound, replace(H100, link_bandwidth=1e30), 4, count)
        assert time == pytest.approx(ideal / (1 - bubble(4, count)), rel=1e-6)


def test_a_pipeline_waits_for_its_slowest_microbatch():
    short_first, long_first = [Chunk(1, 10), Chunk(1, 100_000)], [Chunk(1, 100_000), Chunk(1, 10)]
    slowest = (
        step_time(replace(LLAMA_3_8B, num_layers=16), [Chunk(1, 100_000)], H100).total
        + 4096 * 2 / 450e9
    )
    for chunks in (short_first, long_first):
        assert pipeline_seconds(LLAMA_3_8B, chunks, H100, 2, 2) == pytest.approx(3 * slowest)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: step_time(LLAMA_3_8B, decode(1, 1), H100, num_devices=3),
            "8 heads of keys .* 3 devices",
        ),
        (lambda: step_time(LLAMA_3_8B, [Chunk(3, 2)], H100), "3 new tokens in a context of 2"),
        (lambda: num_weights(replace(SMALL, head_dim=8)), "head_dim is 8"),
        (lambda: pipeline_seconds(LLAMA_3_8B, decode(2, 1), H100, 5, 1), "32 layers on 5 stages"),
        (
            lambda: pipeline_seconds(LLAMA_3_8B, decode(2, 1), H100, 4, 3),
            "2 sequences in 3 microbatches",
        ),
    ],
)
def test_what_the_formulas_are_not_for_is_refused(ask, words):
    with pytest.raises(ModelInputError, match=words):
        ask()
