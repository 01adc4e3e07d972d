"""Mixture of experts against transformers' Mixtral, Qwen3-MoE and DeepSeek-V3, and by hand."""

import pytest
import torch
from torch.testing import assert_close
from transformers import DeepseekV3Config, MixtralConfig, Qwen3MoeConfig
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE
from transformers.models.mixtral.modeling_mixtral import (
    MixtralSparseMoeBlock,
    load_balancing_loss_func,
)
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

from reference_impl.layers.checks import ModelInputError
from reference_impl.layers.moe import (
    MixtureOfExperts,
    Router,
    Routing,
    load,
    load_balancing_loss,
    update_bias,
    within_capacity,
)

CLOSE = {"rtol": 1e-5, "atol": 1e-6}
SIZES = {"hidden_size": 6, "intermediate_size": 5, "num_experts_per_tok": 2}


def mixtral():
    config = MixtralConfig(**SIZES, num_local_experts=4)
    return MixtralSparseMoeBlock(config), MixtureOfExperts(Router(6, 4, 2), 5)


def qwen(normalize):
    config = Qwen3MoeConfig(**SIZES, num_experts=5, moe_intermediate_size=3)
    config.norm_topk_prob = normalize
    return Qwen3MoeSparseMoeBlock(config), MixtureOfExperts(Router(6, 5, 2, normalize=normalize), 3)


def deepseek():
    config = DeepseekV3Config(
        **SIZES,
        n_routed_experts=4,
        moe_intermediate_size=3,
        n_shared_experts=2,
        n_group=1,
        topk_group=1,
        norm_topk_prob=True,
        routed_scaling_factor=2.5,
    )
    router = Router(6, 4, 2, scoring="sigmoid", scale=2.5)
    return DeepseekV3MoE(config), MixtureOfExperts(router, 3, shared_size=6)


def copy_weights(ours, theirs):
    """Random weights into theirs, and the same into ours."""
    torch.manual_seed(1)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        ours.router.proj.weight.copy_(theirs.gate.weight)
        for expert, gate_up, down in zip(
            ours.experts, theirs.experts.gate_up_proj, theirs.experts.down_proj, strict=True
        ):
            gate, up = gate_up.chunk(2)
            for layer, weight in ((expert.gate, gate), (expert.up, up), (expert.down, down)):
                layer.weight.copy_(weight)
        if ours.shared is not None:
            for name in ("gate", "up", "down"):
                shared = getattr(theirs.shared_experts, f"{name}_proj")
                getattr(ours.shared, name).weight.copy_(shared.weight)
            ours.router.bias.copy_(torch.randn(4))
            theirs.gate.e_score_correction_bias.copy_(ours.router.bias)


@pytest.mark.parametrize("pair", [mixtral, lambda: qwen(True), lambda: qwen(False), deepseek])
def test_outputs_and_gradients_are_transformers(pair):
    theirs, ours = pair()
    copy_weights(ours, theirs)
    x = torch.randn(2, 7, 6)
    mine, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    out, expected = ours(mine), theirs(other)
    assert_close(out, expected, **CLOSE)
    out.square().sum().backward()
    expected.square().sum().backward()
    assert_close(mine.grad, other.grad, **CLOSE)
    assert_close(ours.router.proj.weight.grad, theirs.gate.weight.grad, rtol=1e-4, atol=1e-5)
    for e, expert in enumerate(ours.experts):
        gate_up = torch.cat((expert.gate.weight.grad, expert.up.weight.grad))
        assert_close(gate_up, theirs.experts.gate_up_proj.grad[e], rtol=1e-4, atol=1e-5)
        assert_close(
            expert.down.weight.grad, theirs.experts.down_proj.grad[e], rtol=1e-4, atol=1e-5
        )


def test_the_load_balancing_loss_is_transformers():
    torch.manual_seed(0)
    router, x = Router(6, 5, 2), 3 * torch.randn(40, 6)
    routing = router(x)
    loss = load_balancing_loss(routing)
    assert_close(loss, load_balancing_loss_func((router.proj(x),), num_experts=5, top_k=2))
    assert loss > 2
    loss.backward()
    assert router.proj.weight.grad.abs().max() > 0


def routing_by(experts, num_experts):
    scores = torch.full((len(experts), num_experts), 1 / num_experts)
    experts = torch.tensor(experts)
    return Routing(experts, torch.full(experts.shape, 0.5), scores)


def test_a_balanced_load_has_a_loss_of_k():
    routing = routing_by([[0, 1], [2, 3]], 4)
    assert load(routing).tolist() == [0.5] * 4
    assert float(load_balancing_loss(routing)) == 2


def test_what_comes_later_is_dropped_and_first_choices_come_first():
    experts = torch.tensor([[0, 1], [0, 1], [0, 2], [1, 0]])
    assert within_capacity(experts, 2).tolist() == [
        [True, True],
        [True, False],
        [False, True],
        [True, False],
    ]
    assert within_capacity(experts, 4).all()


def test_a_dropped_token_gets_nothing_from_that_expert():
    torch.manual_seed(0)
    layer = MixtureOfExperts(Router(4, 2, 1), 3)
    x = torch.randn(1, 1, 4).expand(1, 6, 4)  # all go to one expert
    full = layer(x)
    layer.capacity_factor = 1.0  # three of six find room
    out = layer(x)
    assert_close(out[:, :3], full[:, :3])
    assert not out[:, 3:].any() and full.any()


def test_the_bias_moves_towards_balance_and_leaves_the_weights():
    torch.manual_seed(0)
    router, x = Router(6, 4, 2, scoring="sigmoid"), torch.randn(400, 6) + 1
    before = load(router(x))
    scores = router(x).scores
    for _ in range(300):
        update_bias(router, router(x), 0.01)
    after = router(x)
    assert before.max() > 0.75 and load(after).max() < 0.55
    chosen = scores.gather(1, after.experts)
    assert_close(after.weights, chosen / chosen.sum(1, keepdim=True))


@pytest.mark.parametrize("top_k", [0, 5])
def test_more_experts_per_token_than_there_are_is_refused(top_k):
    with pytest.raises(ModelInputError, match="experts per token of 4"):
        Router(6, 4, top_k)
