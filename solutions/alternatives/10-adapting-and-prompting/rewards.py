"""Differently written correct solutions of chapter 10, part 4."""

import numpy as np
import torch

from autograder.checks.mistakes.registry import alternative


@alternative("10.advantages", "row-by-row-in-plain-python")
def _(rewards, values, mask, discount, decay):
    found, returns = [], []
    for r, v, own in zip(rewards.tolist(), values.tolist(), mask.tolist()):
        row, ahead, following = [0.0] * len(r), 0.0, 0.0
        for t in range(len(r) - 1, -1, -1):
            if own[t]:
                ahead = r[t] + discount * following - v[t] + discount * decay * ahead
                row[t], following = ahead, v[t]
        found.append(row)
        returns.append([a + b if here else 0.0 for a, b, here in zip(row, v, own)])
    return torch.tensor(found), torch.tensor(returns)


@alternative("10.advantages", "a-matrix-of-powers")
def _(rewards, values, mask, discount, decay):
    r, v = (torch.where(mask, one, 0.0).double() for one in (rewards, values))
    later = torch.cat((v[:, 1:], torch.zeros_like(v[:, :1])), 1)
    errors = torch.where(mask, r + discount * later - v, 0.0)
    places = torch.arange(r.shape[1])
    ahead = places - places[:, None]
    weights = torch.where(
        ahead >= 0,
        torch.tensor(float(discount * decay), dtype=torch.float64) ** ahead.clamp(min=0),
        0.0,
    )
    found = torch.where(mask, errors @ weights.T, 0.0)
    return found.float(), (found + v).float()


@alternative("10.advantages", "returns-first")
def _(rewards, values, mask, discount, decay):
    rows, following = [], torch.zeros(len(rewards))
    total = following
    for reward, value, own in zip(rewards.flip(1).T, values.flip(1).T, mask.flip(1).T):
        total = torch.where(own, reward + discount * ((1 - decay) * following + decay * total), 0.0)
        following = torch.where(own, value, 0.0)
        rows.append(total)
    returns = torch.stack(rows, 1).flip(1)
    return torch.where(mask, returns - values, 0.0), returns


@alternative("10.clipped_loss", "the-larger-loss")
def _(logprobs, old, advantages, clip):
    ratio = torch.exp(logprobs - old)
    free, held = (
        -advantages[:, None] * ratio,
        -advantages[:, None] * torch.clip(ratio, 1 - clip, 1 + clip),
    )
    return torch.max(free, held).mean()


@alternative("10.clipped_loss", "by-the-sign-of-the-advantage")
def _(logprobs, old, advantages, clip):
    ratio = (logprobs.double() - old.double()).exp()
    weight = advantages.double().reshape(-1, 1).expand_as(ratio)
    bounded = torch.where(weight > 0, ratio.clamp(max=1 + clip), ratio.clamp(min=1 - clip))
    return -(bounded * weight).sum().float() / ratio.numel()


@alternative("10.group_advantages", "numpy-group-by-group")
def _(rewards):
    rows = rewards.double().numpy()
    return torch.from_numpy(
        np.stack(
            [
                np.zeros(len(row)) if np.ptp(row) == 0 else (row - row.mean()) / row.std()
                for row in rows
            ]
        )
    ).float()


@alternative("10.group_advantages", "root-of-the-mean-square")
def _(rewards):
    lowest = rewards.min(dim=1, keepdim=True).values
    above = rewards - lowest  # exactly 0 where all are alike
    centred = above - above.mean(1, keepdim=True)
    size = centred.square().mean(1, keepdim=True).sqrt()
    return centred / size.masked_fill(above.sum(1, keepdim=True) == 0, 1.0)


@alternative("10.group_advantages", "k3-by-expm1", replaces="k3")
def _(logprobs, reference):
    return torch.expm1(reference - logprobs) - (reference - logprobs)


@alternative("10.group_advantages", "k3-in-double", replaces="k3")
def _(logprobs, reference):
    away = logprobs.double() - reference.double()
    return (torch.exp(-away) + away - 1.0).to(torch.float32)


@alternative("10.dapo_loss", "the-answers-tokens-alone")
def _(logprobs, old, advantages, mask, low, high):
    ratio = torch.exp(logprobs[mask] - old[mask])
    weight = advantages[:, None].expand_as(mask)[mask]
    return torch.max(-ratio * weight, -ratio.clip(1 - low, 1 + high) * weight).mean()


@alternative("10.dapo_loss", "by-the-sign-of-the-advantage")
def _(logprobs, old, advantages, mask, low, high):
    ratio = torch.where(mask, logprobs.double() - old.double(), 0.0).exp()
    weight = advantages.double().reshape(-1, 1).expand_as(ratio)
    bounded = torch.where(weight > 0, ratio.clamp(max=1 + high), ratio.clamp(min=1 - low))
    return -(bounded * weight)[mask].sum().float() / int(mask.sum())
