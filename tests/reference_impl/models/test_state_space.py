"""The scan against a loop, scipy's filter and a convolution; the recurrence against the Mamba of
`transformers`.
"""

import pytest
import torch
from scipy.signal import lfilter

from reference_impl.models.state_space import scan_in_parallel, scan_in_steps, selective_ssm

LENGTHS = [1, 2, 3, 7, 8, 9, 64]


def drawn(T, *shape):
    torch.manual_seed(T)
    return torch.rand(2, T, *shape).double(), torch.randn(2, T, *shape).double()


@pytest.mark.parametrize("T", LENGTHS)
def test_the_parallel_scan_gives_the_states_of_the_loop(parity, T):
    decay, added = drawn(T, 3, 4)
    parity.assert_close(scan_in_parallel(decay, added), scan_in_steps(decay, added))


@pytest.mark.parametrize("T", LENGTHS)
@pytest.mark.parametrize("scan", [scan_in_steps, scan_in_parallel])
def test_with_one_decay_for_all_tokens_it_is_scipys_recursive_filter(parity, scan, T):
    _, added = drawn(T)
    found = scan(torch.full_like(added, 0.75), added)
    parity.assert_close(found, torch.from_numpy(lfilter([1.0], [1.0, -0.75], added.numpy())))


def test_with_constant_steps_it_is_a_convolution(parity):
    T, N = 12, 3
    torch.manual_seed(0)
    x, a = torch.randn(2, T, 1).double(), -torch.rand(1, N).double()
    b, c = torch.randn(N).double(), torch.randn(N).double()
    step = torch.full_like(x, 0.5)
    found = selective_ssm(x, step, a, b.expand(2, T, N), c.expand(2, T, N))
    powers = torch.exp(0.5 * a) ** torch.arange(T)[:, None]  # (T, N)
    kernel = (powers * (0.5 * b * c)).sum(-1).flip(0)
    padded = torch.nn.functional.pad(x.transpose(1, 2), (T - 1, 0))
    wanted = torch.nn.functional.conv1d(padded, kernel[None, None]).transpose(1, 2)
    parity.assert_close(found, wanted)


@pytest.mark.parametrize("scan", [scan_in_steps, scan_in_parallel])
def test_the_recurrence_is_that_of_transformers_mamba(parity, scan):
    from transformers import MambaConfig
    from transformers.models.mamba.modeling_mamba import MambaMixer

    torch.manual_seed(0)
    config = MambaConfig(hidden_size=4, state_size=3, intermediate_size=6, time_step_rank=2)
    mixer = MambaMixer(config, layer_idx=0).double()
    caught = {}
    mixer.in_proj.register_forward_hook(lambda *call: caught.update(projected=call[2]))
    mixer.out_proj.register_forward_hook(lambda *call: caught.update(before=call[1][0]))
    with torch.no_grad():
        mixer(torch.randn(2, 7, 4).double())
        before_conv, gate = caught["projected"].transpose(1, 2).chunk(2, dim=1)
        x = mixer.act(mixer.conv1d(before_conv)[..., :7]).transpose(1, 2)
        step, b, c = mixer.x_proj(x).split([2, 3, 3], dim=-1)
        step = torch.nn.functional.softplus(mixer.dt_proj(step))
        y = selective_ssm(x, step, -torch.exp(mixer.A_log), b, c, scan)
        y = (y + mixer.D * x) * mixer.act(gate.transpose(1, 2))
    torch.testing.assert_close(y, caught["before"], rtol=1e-5, atol=1e-6)


def test_a_scan_that_ignores_the_decay_of_later_tokens_is_noticed(parity):
    decay, added = drawn(8)
    assert (added.cumsum(1) - scan_in_steps(decay, added)).abs().max() > 0.1
