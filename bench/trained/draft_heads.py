"""Train draft heads for the small GPT: how many of their draft tokens does it accept?

    python bench/trained/draft_heads.py [--steps 350]      after gpt.py; four minutes on one core

The text is that of `gpt.py`, whose model is the target and stays as it is. A head is trained on the
target's own distributions (soft cross-entropy), three drafts deep, each depth from the head's own
result at the one before ("training-time test", Li et al. 2025). Three seeds. An ablation is trained
next to the first: the same head with zeros in place of the hidden state, which so knows nothing but
one token. Held against them: the separate draft model of `draft.py`.

Measured on held-out text: the mean over positions of sum min(p, q) at each depth, along the text as
it is. And in use, for seed 0: 40 texts of 48 tokens, drawn, with a chain of three draft tokens and
with a tree three deep (3, 2 and 1 children a node): passes of the target, and draft tokens that it
reads. No weights are kept.
"""

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import torch  # noqa: E402  (threads are set before torch starts)
from gpt import CONTEXT, load_trained  # noqa: E402
from record import save  # noqa: E402
from strategies import verses  # noqa: E402
from texts import as_tokens, scripture, split, stretches_of  # noqa: E402
from torch import Tensor  # noqa: E402

from reference_impl.engine.draft_heads import DraftHead, draft_logits  # noqa: E402
from reference_impl.engine.draft_trees import DraftTree, verify_tree  # noqa: E402
from reference_impl.models.gpt import GPT  # noqa: E402
from reference_impl.objectives.causal_lm import cut_chunks  # noqa: E402

SEEDS, DEPTH, SIZE, BATCH, ROWS = 3, 3, 256, 8, 20
PROMPTS, GIVEN, NEW = 40, 8, 48
SHAPES = {"chain": (1, 1, 1), "tree": (3, 2, 1)}


def drafts_and_targets(
    head: DraftHead, large: GPT, ids: Tensor, states_known: bool = True
) -> list[tuple[Tensor, Tensor]]:
    """At each depth the head's logits and the target's, for the same tokens."""
    with torch.no_grad():
        states = large.hidden(ids)
        logits = large.output(states)
    known = states if states_known else torch.zeros_like(states)
    drafts = draft_logits(head, large, known, ids, DEPTH)
    return [(draft, logits[:, d + 1 :]) for d, draft in enumerate(drafts)]


def trained(large: GPT, tokens: Tensor, seed: int, steps: int, states_known: bool) -> DraftHead:
    """A head after so many steps."""
    torch.manual_seed(seed)
    head = DraftHead(large.config.hidden_size, SIZE)
    optimizer = torch.optim.AdamW(head.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    batches = stretches_of(tokens, CONTEXT, BATCH, seed)
    for step in range(steps):
        ids = batches(step)["ids"][:, :CONTEXT]
        pairs = drafts_and_targets(head, large, ids, states_known)
        loss = sum(
            -(target.softmax(-1) * draft.log_softmax(-1)).sum(-1).mean() for draft, target in pairs
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return head.eval()


@torch.no_grad()
def overlaps(head: DraftHead, large: GPT, rows: Tensor, states_known: bool = True) -> list[float]:
    """The mean of sum min(p, q) at each depth."""
    pairs = drafts_and_targets(head, large, rows[:, :CONTEXT], states_known)
    return [
        round(float(torch.minimum(draft.softmax(-1), target.softmax(-1)).sum(-1).mean()), 4)
        for draft, target in pairs
    ]


@torch.no_grad()
def drafted(
    head: DraftHead, large: GPT, state: Tensor, last: int, widths: tuple[int, ...], generator
) -> DraftTree:
    """A tree of draft tokens; all children of a node are drawn from one distribution."""
    ids, parents, rows = [], [], []
    level = [(-1, state, last)]
    for width in widths:
        below = []
        for node, before, token in level:
            here = head(before, large.embedding.weight[token])
            q = large.output(here).softmax(-1)
            for child in torch.multinomial(q, width, True, generator=generator).tolist():
                ids.append(child)
                parents.append(node)
                rows.append(q)
                below.append((len(ids) - 1, here, child))
        level = below
    return DraftTree(ids, parents, torch.stack(rows))


@torch.no_grad()
def probabilities(large: GPT, text: list[int], tree: DraftTree) -> tuple[Tensor, Tensor]:
    """The target's distributions after the text and after each node, and its hidden states.

    Each branch is a row here; an engine reads all nodes in one row, under the tree's mask.
    """
    branches = [text]
    for token, parent in zip(tree.ids, tree.parents, strict=True):
        branches.append([*branches[parent + 1], token])
    longest = max(map(len, branches))
    rows = torch.tensor([branch + [0] * (longest - len(branch)) for branch in branches])
    states = large.hidden(rows)[range(len(rows)), [len(branch) - 1 for branch in branches]]
    return large.output(states).softmax(-1), states


def in_use(head: DraftHead, large: GPT, prompts: list[list[int]], widths: tuple[int, ...]) -> dict:
    """Texts generated one at a time: passes after the prompt's, and draft tokens read."""
    passes = tokens = read = 0
    for seed, prompt in enumerate(prompts):
        generator, text = torch.Generator().manual_seed(seed), list(prompt)
        with torch.no_grad():
            state = large.hidden(torch.tensor([text]))[0, -1]
        text.append(int(torch.multinomial(large.output(state).softmax(-1), 1, generator=generator)))
        while len(text) < len(prompt) + NEW:
            tree = drafted(head, large, state, text[-1], widths, generator)
            p, states = probabilities(large, text, tree)
            said = verify_tree(p, tree, generator)
            node = -1
            for token in said[:-1]:
                node = next(
                    i
                    for i, (own, parent) in enumerate(zip(tree.ids, tree.parents, strict=True))
                    if (own, parent) == (token, node)
                )
            state, passes, read = states[node + 1], passes + 1, read + len(tree.ids)
            text += said[: len(prompt) + NEW - len(text)]
        tokens += len(text) - len(prompt) - 1
    return {"passes": passes, "tokens": tokens, "drafts_read": read}


def main() -> None:
    """Train, measure, write bench/results/trained_draft_heads.json."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=350)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    text, held_out = split(scripture())
    large, tokenizer = load_trained()
    large.eval().requires_grad_(False)
    tokens = as_tokens(tokenizer, text)
    rows = cut_chunks(as_tokens(tokenizer, held_out), CONTEXT)[::ROWS]
    prompts = [list(ids) for ids, _ in verses(tokenizer, PROMPTS, GIVEN)]
    found, use, blind = [], {}, []
    for seed in range(SEEDS):
        started = time.process_time()
        head = trained(large, tokens, seed, steps, True)
        seconds = round(time.process_time() - started)
        untrained = DraftHead(large.config.hidden_size, SIZE).eval()
        found.append(
            {
                "seed": seed,
                "overlap": overlaps(head, large, rows),
                "untrained": overlaps(untrained, large, rows),
                "cpu_seconds": seconds,
            }
        )
        print(found[-1], flush=True)
        if seed == 0:
            blind = overlaps(trained(large, tokens, seed, steps, False), large, rows, False)
            use = {name: in_use(head, large, prompts, widths) for name, widths in SHAPES.items()}
            print(use, flush=True)
    save(
        "trained_draft_heads",
        versions=("torch",),
        seed=list(range(SEEDS)),
        steps=steps,
        places=rows[:, :CONTEXT].numel(),
        parameters=sum(p.numel() for p in head.parameters()),
        heads=found,
        without_state=blind,
        shapes={name: list(widths) for name, widths in SHAPES.items()},
        prompts=PROMPTS,
        new_tokens=NEW,
        in_use=use,
    )


if __name__ == "__main__":
    main()
