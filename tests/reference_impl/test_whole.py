"""The one file does what the package does: ids, logits, tokens and blocks are compared."""

import socket
import threading

import openai
import pytest
import torch

from reference_impl import corpora, whole
from reference_impl.engine.block_manager import BlockManager
from reference_impl.engine.scheduler import Scheduler, SchedulerConfig
from reference_impl.engine.sequence import Sequence
from reference_impl.generation.loop import generate
from reference_impl.generation.processors import keep_top_p
from reference_impl.generation.sampler import choose
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.llama import Llama, LlamaConfig
from reference_impl.tokenizers.byte_level import train_byte_level_bpe

CONFIG = whole.Config(
    vocab_size=300, hidden_size=32, intermediate_size=48, num_layers=2, head_dim=8
)


@pytest.fixture(scope="module")
def text():
    return corpora.load("kjv")[:60_000]


@pytest.fixture(scope="module")
def tokenizer(text):
    return whole.Tokenizer(text, CONFIG.vocab_size)


@pytest.fixture(scope="module")
def models():
    """The small model, and the package's with the same weights."""
    torch.manual_seed(0)
    small = whole.Llama(CONFIG).eval()
    for weight in small.parameters():  # logits far apart: no ties
        weight.data.mul_(10) if weight.ndim == 2 else weight.data.uniform_(0.5, 1.5)
    names = {"num_layers": 2, "num_heads": 4, "num_kv_heads": 2, "tie_word_embeddings": True}
    config = LlamaConfig(
        vocab_size=300, hidden_size=32, intermediate_size=48, max_position_embeddings=512, **names
    )
    weights = {}
    for name, weight in small.state_dict().items():
        part = name.rsplit(".", 2)[-2]
        if part in ("query", "key", "value", "output"):
            name = name.replace(part, f"attention.{part}")
        elif part in ("gate", "up", "down"):
            name = name.replace(part, f"feed_forward.{part}")
        weights[name] = weight
    reference = Llama(config).eval()
    reference.load_state_dict({**weights, "output.weight": weights["embedding.weight"]})
    return small, reference


def run(engine, prompts, max_tokens=12):
    requests = [whole.Request(list(ids), len(ids) + max_tokens, 0.0) for ids in prompts]
    engine.waiting.extend(requests)
    while engine.waiting or engine.running:
        engine.step()
    return [request.ids[-max_tokens:] for request in requests]


def greedy(reference, prompts, max_tokens=12):
    """One by one, without a cache of blocks."""
    params = SamplingParams(temperature=0.0, max_tokens=max_tokens)
    return [list(generate(reference, [ids], params)[0].ids) for ids in prompts]


def test_it_has_at_most_three_hundred_lines():
    with open(whole.__file__, encoding="utf-8") as file:
        assert len(file.readlines()) <= 300


def test_the_ids_are_those_of_the_package(text, tokenizer):
    reference = train_byte_level_bpe([text], CONFIG.vocab_size)
    for each in (text, "We sat on the bank of the Fluß in 1869.", "  \n\n x’s नदी 🌊"):
        ids = tokenizer.encode(each)
        assert ids == reference.encode(each)
        assert b"".join(tokenizer.tokens[id] for id in ids).decode() == each


def test_the_logits_are_those_of_the_package(models):
    small, reference = models
    ids = torch.randint(300, (3, 40), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        ours, theirs = small(ids, torch.arange(40)), reference(ids)
    assert theirs.std() > 1
    torch.testing.assert_close(ours, theirs, atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize("temperature, top_p", [(1.0, 1.0), (0.5, 0.9), (2.0, 0.3), (1.0, 0.0)])
def test_a_draw_chooses_the_token_that_the_package_chooses(temperature, top_p):
    generator = torch.Generator().manual_seed(2)
    for _ in range(200):
        logits = 3 * torch.randn(50, generator=generator)
        draw = float(torch.rand((), generator=generator, dtype=torch.double))
        kept = keep_top_p(logits[None] / temperature, torch.tensor([top_p]))
        assert whole.sample(logits, temperature, top_p, draw) == choose(kept, [draw]).item()


def test_temperature_zero_is_greedy_also_where_logits_are_close():
    assert whole.sample(torch.tensor([1.0, 1.000001, 0.999999]), 0.0, 1.0, 0.0) == 1


def test_requests_that_are_served_together_get_the_tokens_of_each_alone(models):
    small, reference = models
    generator = torch.Generator().manual_seed(3)
    lengths = (1, 3, 4, 5, 17, 30)
    prompts = [torch.randint(300, (n,), generator=generator).tolist() for n in lengths]
    expected = greedy(reference, prompts)
    assert run(whole.Engine(small, num_blocks=64, block_size=4), prompts) == expected
    assert (
        run(whole.Engine(small, num_blocks=64, block_size=4, max_num_seqs=2), prompts) == expected
    )


def test_a_request_that_was_preempted_goes_on_where_it_was(models):
    small, reference = models
    prompts = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
    engine, preempted = whole.Engine(small, num_blocks=9, block_size=4), []
    release = engine.release

    def watched(request):
        preempted.append(len(request.ids) < request.end)
        release(request)

    engine.release = watched
    assert run(engine, prompts) == greedy(reference, prompts)
    assert any(preempted) and sorted(engine.free) == list(range(9))


def test_it_holds_as_many_blocks_as_the_package_at_every_step(models):
    small, _ = models
    prompts = [[1] * 3, [2] * 9, [3] * 16]
    engine = whole.Engine(small, num_blocks=40, block_size=4)
    blocks = BlockManager(40, 4, prefix_caching=False)
    limits = SchedulerConfig(max_num_seqs=16, max_num_batched_tokens=64, max_model_len=64)
    scheduler = Scheduler(limits, blocks)
    for number, ids in enumerate(prompts):
        engine.waiting.append(whole.Request(list(ids), len(ids) + 8, 0.0))
        scheduler.add(Sequence(str(number), list(ids), SamplingParams(max_tokens=8)))
    while engine.waiting or engine.running:
        step = scheduler.schedule()
        held, take = [], engine.schedule
        engine.schedule = lambda: (take(), held.append(len(engine.free)))
        engine.step()
        engine.schedule = take
        assert held == [blocks.num_free_blocks]
        for item in step.scheduled:
            blocks.commit(item.sequence, item.num_tokens)
            item.sequence.ids.append(0)
            if len(item.sequence.ids) == len(item.sequence.prompt_ids) + 8:
                scheduler.finish(item.sequence, "length")
    assert len(engine.free) == blocks.num_free_blocks == 40


@torch.no_grad()
def loss(model, ids):
    logits = model(ids[None, :-1], torch.arange(len(ids) - 1))[0]
    return torch.nn.functional.cross_entropy(logits, ids[1:]).item()


def test_training_lowers_the_loss_of_text_that_it_has_not_read(text, tokenizer):
    torch.manual_seed(0)
    ids, model = torch.tensor(tokenizer.encode(text)), whole.Llama(CONFIG)
    untrained = loss(model, ids[-400:])
    whole.train(model, ids[:-400], steps=100, B=8, T=32)
    assert untrained > 5.6  # nats; ln 300 = 5.70
    assert loss(model, ids[-400:]) < 4.6


@pytest.fixture(scope="module")
def client(models, tokenizer):
    """OpenAI's, of a server with two sequences in a batch."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    engine = whole.Engine(models[0], num_blocks=64, max_num_seqs=2)
    arguments = (engine, tokenizer, port)
    threading.Thread(target=whole.serve, args=arguments, daemon=True).start()
    url = f"http://127.0.0.1:{port}/v1"
    with openai.OpenAI(base_url=url, api_key="-", max_retries=10) as client:
        yield client


def complete(client, prompt, **settings):
    return client.completions.create(model="whole", prompt=prompt, **settings)


def test_a_stream_is_the_answer_in_pieces(client, tokenizer, models):
    prompt = "In the beginning"
    (expected,) = greedy(models[1], [tokenizer.encode(prompt)])
    whole_text = complete(client, prompt, max_tokens=12, temperature=0).choices[0].text
    assert whole_text == b"".join(tokenizer.tokens[id] for id in expected).decode(
        "utf-8", "replace"
    )
    pieces = [
        c.choices[0].text
        for c in complete(client, prompt, max_tokens=12, temperature=0, stream=True)
    ]
    assert len(pieces) == 12
    one = complete(client, prompt, max_tokens=12, seed=5).choices[0].text
    assert one == complete(client, prompt, max_tokens=12, seed=5).choices[0].text


def test_ten_clients_at_once_get_what_each_gets_alone(client):
    prompts = [f"And {name}" for name in "Adam Eve Cain Abel Seth Noah Shem Ham Lot Moses".split()]
    alone = [complete(client, p, max_tokens=8, temperature=0).choices[0].text for p in prompts]
    together = {}

    def ask(prompt):
        together[prompt] = complete(client, prompt, max_tokens=8, temperature=0).choices[0].text

    threads = [threading.Thread(target=ask, args=(prompt,)) for prompt in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[prompt] for prompt in prompts] == alone


@pytest.mark.parametrize(
    "settings",
    [
        {"prompt": ""},
        {"prompt": "a", "max_tokens": 1000},
        {"prompt": "a", "max_tokens": 0},
    ],
)
def test_a_request_that_cannot_be_served_is_refused_with_its_reason(client, settings):
    with pytest.raises(openai.BadRequestError, match="prompt|string"):
        client.completions.create(model="whole", **settings)
