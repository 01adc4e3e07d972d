"""The reinforcement stage: GRPO on sums, with a reward that a program checks.

The tuned model works out about half of its sums and answers the others at once. A right last
number is rewarded, however it was reached; what the model learns is to work sums out. Two controls
change the reward and nothing else:

- shuffled: the same rewards, dealt out at random within each group; they carry no information;
- hacked: a reward for short answers that end with a number. It rises, and the sums become wrong.

The student's own `group_advantages` and `k3` (chapter 10) and `sum_reward` (chapter 17) are used
where they exist.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course.capstone import tasks
from course.capstone.pretrain import chunk_batch, held_out_bits, make_model
from course.capstone.report.decode import decode, text_of
from course.capstone.stages import Clock, Run
from course.capstone.tokenizer import END, SPECIALS, load_text
from course.capstone.tune import Examples, part_of, prefixed
from reference_impl.corpora.cache import read_json, write_json
from reference_impl.measure.flops import count_flops
from reference_impl.objectives.batches import Batch
from reference_impl.objectives.causal_lm import causal_lm
from reference_impl.objectives.grpo import distance, group_batch
from reference_impl.objectives.logprobs import answer_logprobs, answered
from reference_impl.objectives.ppo import clipped_policy_loss
from reference_impl.objectives.supervised import answer_example, supervised_batch
from reference_impl.objectives.terms import Terms
from reference_impl.training.loop import TrainingConfig, prepare, train

Reward = Callable[[tasks.Item, str, int], float]
"""From a sum, an answer and its tokens to a reward; 0 tokens if the answer did not end."""
SHORT = 9


def right_number(item: tasks.Item, said: str, tokens: int) -> float:
    """1 if the answer ended with the right number."""
    return float(tokens > 0 and item.is_right(said))


def short_number(item: tasks.Item, said: str, tokens: int) -> float:
    """1 for a short answer that ends with any number: a proxy that can be hacked."""
    return float(0 < tokens <= SHORT and said.split(" ")[-1].isdigit())


def reward_of(run: Run) -> Reward:
    """The student's own `sum_reward` if there is one, else `right_number`."""
    own = run.parts.own("sum_reward")
    if own is None:
        return right_number

    def reward(item: tasks.Item, said: str, tokens: int) -> float:
        return float(own(item.question, said + (SPECIALS[END] if tokens else "")))

    return reward


@dataclass(frozen=True)
class Reinforcement:
    """One run of GRPO: where it keeps its checkpoints, what it rewards, for how many steps."""

    stage: str
    name: str
    reward: Reward = right_number
    shuffled: bool = False
    steps: int = 20


class Sampler:
    """Samples the answers of each step from the model as it is, and rewards them."""

    def __init__(self, run: Run, model: nn.Module, plan: Reinforcement):
        self.run, self.model, self.plan = run, model, plan
        self.settings, self.examples = run.recipe.reinforce, Examples(run)
        self.text = load_text(run)
        self.reference = run.load_weights("tune", make_model(run)).eval()
        self.log = run.path(plan.stage, f"{plan.name}/rewards.json")
        self._step, self._sampled = -1, {}

    def batch(self, number: int) -> Batch:
        """The batch of a pass: passes of one step share the sampled answers."""
        step = number // self.settings.passes
        if step != self._step:
            self._step, self._sampled = step, self._sample(step)
        draw = random.Random(f"replay {self.run.seed} {number}")
        settings = self.settings
        items = [tasks.character(draw) for _ in range(settings.character)]
        items += [tasks.reversing(draw) for _ in range(settings.reversing)]
        seed = 9_000_000_000 + self.run.seed * 1_000_000 + number
        return prefixed(
            group=self._sampled,
            chat=supervised_batch([self.examples.of(item) for item in items]),
            replay=chunk_batch(self.text, settings.replay, seed),
        )

    def _sample(self, step: int) -> Batch:
        settings, draw = self.settings, random.Random(f"sums {self.run.seed} {step}")
        items = [tasks.sums(draw) for _ in range(settings.prompts)]
        asked = [item for item in items for _ in range(settings.group)]
        prompts = [self.examples.prompt(item.question) for item in asked]
        seed = self.run.seed * 10_000 + step + 1
        answers = decode(self.model, prompts, tasks.LONGEST["sums"], 1.0, seed)
        said = [text_of(self.examples.tokenizer, ids) for ids in answers]
        tokens = [len(ids) if ids[-1] == END else 0 for ids in answers]
        scored = zip(asked, said, tokens, strict=True)
        rewards = torch.tensor([self.plan.reward(*one) for one in scored])
        rewards = rewards.view(settings.prompts, settings.group)
        if self.plan.shuffled:
            generator = torch.Generator().manual_seed(seed)
            rewards = rewards.gather(1, torch.rand(rewards.shape, generator=generator).argsort(1))
        self._write_log(step, asked, said, tokens, rewards)
        pairs = zip(prompts, answers, strict=True)
        batch = supervised_batch([answer_example(prompt, ids) for prompt, ids in pairs])
        return self._with_advantages(batch, rewards)

    def _with_advantages(self, batch: Batch, rewards: Tensor) -> Batch:
        device = next(self.model.parameters()).device
        batch = {name: tensor.to(device) for name, tensor in batch.items()}
        found = group_batch(self.model, self.reference, batch, rewards.to(device))
        own = self.run.parts.own("group_advantages")
        if own is not None:
            found["advantages"] = torch.as_tensor(own(rewards)).flatten().to(device)
        return found

    def _write_log(self, step, asked, said, tokens, rewards) -> None:
        right = [right_number(*one) for one in zip(asked, said, tokens, strict=True)]
        worked = [tasks.is_worked_out(one) for one in said]
        row = {
            "reward": round(float(rewards.mean()), 4),
            "right": round(sum(right) / len(right), 4),
            "worked_out": round(sum(worked) / len(worked), 4),
            "tokens": round(sum(tokens) / len(tokens), 2),
        }
        write_json(self.log, read_json(self.log) | {f"{step:04d}": row})


def reinforce_objective(run: Run):
    """GRPO's loss with replay of conversations and of pre-training text."""
    settings = run.recipe.reinforce
    penalty = run.parts.own("k3") or distance

    def objective(model: nn.Module, batch: Batch) -> Terms:
        group = part_of(batch, "group")
        mask, logprobs = answered(group["labels"]), answer_logprobs(model, group)
        losses = clipped_policy_loss(
            logprobs, group["old_logprobs"], group["advantages"][:, None], settings.clip
        )
        losses = losses + settings.beta * penalty(logprobs, group["reference_logprobs"])
        means = (losses * mask).sum(1) / mask.sum(1)  # (M G,)
        terms = Terms(means.sum(), len(means))
        for name in ("chat", "replay"):
            terms = terms.plus(causal_lm(model, part_of(batch, name)), settings.replay_weight)
        return terms

    return objective


def improve(run: Run, plan: Reinforcement) -> tuple[nn.Module, dict]:
    """The tuned model after GRPO, and what was recorded: rewards of each step, FLOPs."""
    settings = run.recipe.reinforce
    model = run.load_weights("tune", make_model(run))
    sampler, objective = Sampler(run, model, plan), reinforce_objective(run)
    config = TrainingConfig(
        num_steps=plan.steps * settings.passes,
        learning_rate=settings.learning_rate,
        warmup_steps=min(settings.warmup, plan.steps) * settings.passes,
        schedule="constant",
        weight_decay=0.0,
        # whole steps: the passes of one step share answers that no checkpoint keeps
        checkpoint_every=settings.checkpoint_every * settings.passes,
        seed=run.seed,
    )
    folder = run.path(plan.stage, f"{plan.name}/training")
    train(model, objective, sampler.batch, config, folder=folder)
    last = plan.steps * settings.passes
    flops = count_flops(lambda: _pass(run, model, sampler, objective, last))
    rewards = read_json(sampler.log)
    rewards.pop(f"{plan.steps:04d}", None)  # sampled to count operations
    found = {"rewards": list(rewards.values()), "flops": plan.steps * flops}
    return model.eval(), found


def _pass(run: Run, model: nn.Module, sampler: Sampler, objective, number: int) -> None:
    """Sampling and the first pass of a step, forward and backward, to be counted."""
    batch = prepare(sampler.batch, number, model, run.seed)
    objective(model, batch).total.backward()


def run_stage(run: Run, clock: Clock) -> None:
    """Reinforce the tuned model from the last checkpoint on; write its parameters."""
    steps = run.recipe.reinforce.steps
    plan = Reinforcement("reinforce", "right", reward_of(run), steps=steps)
    model, found = improve(run, plan)
    run.save_weights("reinforce", model)
    run.finish("reinforce", clock, bits_per_byte=held_out_bits(run, model, load_text(run)), **found)
