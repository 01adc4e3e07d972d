"""Adapters that peft made, in one batch; the oracles are peft's own model and the model with the
update merged in.
"""

import copy
import json

import pytest
import torch
import transformers

from reference_impl.engine.adapters import CONFIG
from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.loading import load
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.generation.sampling_params import SamplingParams
from reference_impl.models.gpt import GPT
from reference_impl.models.llama import Llama
from reference_impl.weights.shards import WeightsError

PROMPT = [5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
GREEDY = SamplingParams(temperature=0, max_tokens=9, logprobs=0, ignore_eos=True)
KINDS = {
    "all": {
        "r": 3,
        "lora_alpha": 12,
        "target_modules": ["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj", "lm_head"],
    },
    "two": {
        "r": 2,
        "lora_alpha": 7,
        "target_modules": ["k_proj", "up_proj"],
        "use_rslora": True,
        "rank_pattern": {"k_proj": 4},
    },
}


def fill(adapted):
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return adapted.eval()


def by_peft(adapted):
    said = adapted.generate(
        input_ids=torch.tensor([PROMPT]),
        max_new_tokens=9,
        min_new_tokens=9,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=None,
    )
    with torch.no_grad():
        logprobs = adapted(input_ids=said).logits[0, len(PROMPT) - 1 : -1].log_softmax(-1)
    tokens = said[0, len(PROMPT) :].tolist()
    return tokens, [float(row[token]) for row, token in zip(logprobs, tokens, strict=True)]


@pytest.fixture(scope="module")
def adapters(their_tiny, tmp_path_factory):
    """For each kind its folder, and what peft's model says with which log-probabilities."""
    import peft  # which loads for seconds: only the process that runs these tests needs it

    found = {}
    for name, settings in KINDS.items():
        adapted = fill(peft.get_peft_model(copy.deepcopy(their_tiny), peft.LoraConfig(**settings)))
        folder = tmp_path_factory.mktemp(name)
        adapted.save_pretrained(folder)
        found[name] = folder, by_peft(adapted)
    found[None] = None, by_peft(their_tiny)
    return found


def engine_with(tiny_folder, adapters, **limits):
    limits = SchedulerConfig(
        **{"max_num_seqs": 8, "max_num_batched_tokens": 16, "max_model_len": 64, **limits}
    )
    return Engine(
        load(tiny_folder).model,
        EngineConfig(num_blocks=80, block_size=4, scheduler=limits),
        adapters={name: folder for name, (folder, _) in adapters.items() if name},
    )


def serve(engine, names):
    """Tokens and log-probabilities of the same prompt for each of these adapters, all at once."""
    asked = {engine.add_request(PROMPT, GREEDY, adapter=name): name for name in names}
    said = {request: [] for request in asked}
    while engine.has_work:
        for output in engine.step():
            said[output.request_id] += output.tokens
    engine.scheduler.check()
    return [
        ([token.id for token in tokens], [token.logprob for token in tokens])
        for tokens in said.values()
    ]


@pytest.mark.parametrize(
    "names", [["all"], ["two"], [None], ["all", None, "two", "all", None, "two", "two"]]
)
def test_each_request_gets_pefts_tokens_and_numbers_alone_and_beside_others(
    tiny_folder, adapters, names
):
    expected = [adapters[name][1] for name in names]
    assert (
        len({tuple(tokens) for _, (tokens, _) in adapters.values()}) == 3
    )  # the adapters do change what is said
    for (tokens, logprobs), (their_tokens, their_logprobs) in zip(
        serve(engine_with(tiny_folder, adapters), names), expected, strict=True
    ):
        assert tokens == their_tokens
        torch.testing.assert_close(
            torch.tensor(logprobs), torch.tensor(their_logprobs), rtol=1e-4, atol=1e-4
        )


def test_a_merged_model_says_the_same(tiny_folder, adapters):
    served, merged = engine_with(tiny_folder, adapters), load(tiny_folder).model
    with torch.no_grad():
        for name, module in served.runner.model.named_modules():
            if "two" in getattr(module, "updates", ()):
                a, b = module.updates["two"]
                merged.get_submodule(name).weight.add_(b @ a)
    said = Engine(merged, served.config).generate([PROMPT], GREEDY)[0][0].ids
    assert serve(served, ["all", "two"])[1][0] == said == adapters["two"][1][0]


def test_a_prefix_is_found_by_requests_for_the_same_adapter_only(tiny_folder, adapters):
    engine = engine_with(tiny_folder, adapters)
    for name, cached in (("all", 0), ("two", 0), (None, 0), ("all", 8), (None, 8)):
        engine.add_request(PROMPT, GREEDY, adapter=name)
        said = []
        while engine.has_work:
            said += engine.step()
        assert said[0].num_cached_tokens == cached, name
        assert [output.tokens[0].id for output in said] == adapters[name][1][0]


def test_gpt2s_transposed_layers_take_an_adapter_too(tmp_path):
    import peft

    torch.manual_seed(0)
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=97,
            n_embd=32,
            n_layer=2,
            n_head=4,
            n_positions=64,
            bos_token_id=0,
            eos_token_id=0,
        )
    ).eval()
    theirs.save_pretrained(tmp_path / "base")
    adapted = fill(
        peft.get_peft_model(
            theirs,
            peft.LoraConfig(
                r=2, lora_alpha=4, fan_in_fan_out=True, target_modules=["c_attn", "mlp.c_proj"]
            ),
        )
    )
    adapted.save_pretrained(tmp_path / "adapter")
    limits = SchedulerConfig(max_model_len=64)
    engine = Engine(
        GPT.from_pretrained(tmp_path / "base"),
        EngineConfig(num_blocks=20, block_size=4, scheduler=limits),
        adapters={"it": tmp_path / "adapter"},
    )
    assert serve(engine, ["it", "it"])[1][0] == by_peft(adapted)[0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"use_dora": True}, "use_dora to True"),
        ({"bias": "all"}, "bias to 'all'"),
        ({"peft_type": "IA3"}, "peft_type"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"alpha_pattern": {"q_proj": 3}}, "alpha_pattern"),
        ({"r": 5}, "the rank 5"),
        ({"r": 0}, "r 0"),
        ({"something_new": 1}, "something_new"),
    ],
)
def test_what_would_give_other_numbers_is_refused_by_name(
    change, says, adapters, tiny_folder, tmp_path
):
    source = adapters["all"][0]
    (tmp_path / "adapter_model.safetensors").write_bytes(
        (source / "adapter_model.safetensors").read_bytes()
    )
    (tmp_path / CONFIG).write_text(
        json.dumps({**json.loads((source / CONFIG).read_text()), **change})
    )
    with pytest.raises(WeightsError, match=says):
        engine_with(tiny_folder, {"bad": (tmp_path, None)})


def test_an_adapter_of_another_model_and_an_unknown_name_are_refused(
    adapters, tiny_folder, tmp_path
):
    other = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=97,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
        )
    )
    other.save_pretrained(tmp_path)
    with pytest.raises(WeightsError, match="neither an update|shapes"):
        Engine(
            Llama.from_pretrained(tmp_path),
            EngineConfig(scheduler=SchedulerConfig(max_model_len=64)),
            adapters={"two": adapters["two"][0]},
        )
    with pytest.raises(ValueError, match="'polite' is not served"):
        engine_with(tiny_folder, adapters).add_request(PROMPT, GREEDY, adapter="polite")


def test_a_client_chooses_an_adapter_by_model_and_finds_it_listed(start, adapters):
    with start(
        adapters={name: folder for name, (folder, _) in adapters.items() if name}
    ) as running:
        with running.client() as client:
            models = {model.id: model.parent for model in client.models.list()}
            assert models == {"tiny": None, "all": "tiny", "two": "tiny"}
            for name in ("all", None, "two"):
                answer = client.completions.create(
                    model=name or "tiny",
                    prompt=PROMPT,
                    max_tokens=9,
                    temperature=0,
                    logprobs=0,
                    extra_body={"ignore_eos": True},
                )
                assert answer.model == (name or "tiny")
                torch.testing.assert_close(
                    torch.tensor(answer.choices[0].logprobs.token_logprobs),
                    torch.tensor(adapters[name][1][1]),
                    rtol=1e-4,
                    atol=1e-4,
                )
        running.wait_until_idle()
