"""Checks of chapter 15, part 2: which nodes of a draft tree are accepted."""

from itertools import product

import torch

from autograder.chapters.c15_serving_engine.draft_trees import (
    Tree,
    accepted,
    clear_numbers,
    drawn_parents,
    drawn_tree,
    draws_of,
)
from autograder.chapters.c15_serving_engine.withholding import OURS, RIVALS
from autograder.checks.protocol import exercise, expect

BOOK = "15-serving-engine"

accept_tree = exercise(
    "15.accept_tree",
    function="accept_tree",
    points=6,
    see=f"{BOOK}/draft-heads#a-tree-instead-of-a-chain",
    withhold=OURS | RIVALS,
)

# After the text so far p is (7, 4, 5)/16 and q is (1/4, 1/2, 1/4); after a node, the rows below.
ROOT_P, ROOT_Q = [7 / 16, 4 / 16, 5 / 16], [0.25, 0.5, 0.25]
AFTER_P = [[0.25, 0.25, 0.5], [0.3125, 0.25, 0.4375], [0.125, 0.125, 0.75], [0.625, 0.25, 0.125]]
AFTER_Q = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.625, 0.125], [0.375, 0.125, 0.5]]


def by_hand(parents: list[int], tokens: list[int]) -> Tree:
    """A tree with the rows above."""
    nodes = range(len(parents))
    p = [ROOT_P, *(AFTER_P[node % 4] for node in nodes)]
    q = [ROOT_Q, *(AFTER_Q[node % 4] for node in nodes)]
    return Tree(parents, tokens, torch.tensor(p), torch.tensor(q))


def ask(student, tree: Tree, u: list[float], cause: str) -> None:
    """Compare the accepted nodes, and the sampled token."""
    right = accepted(tree, torch.tensor(u).tolist())
    given = f"{len(tree.parents)} nodes, a vocabulary of {tree.p.shape[1]}"
    if tree.p.numel() < 13:
        rows = f"p = {tree.p.tolist()}, q = {tree.q.tolist()}"
        given = f"parents = {tree.parents}, tokens = {tree.tokens}, {rows}, u = {u}"
    came = student.accept_tree(tree.parents, tree.tokens, tree.p, tree.q, torch.tensor(u))
    path, token = expect(came, given=given).unpacks(2)
    expect(path, "The accepted path", given).equals(right.path, cause=cause)
    expect(token, "The sampled token", given).equals(right.token, cause=cause)


def ask_drawn(student, rng: torch.Generator, trees: list[Tree], cause: str) -> None:
    """Ask each tree with numbers that rounding cannot change."""
    for tree in trees:
        u = clear_numbers(rng, tree)
        if u is not None:
            ask(student, tree, u, cause)


@accept_tree.stage("empty tree", points=0.5)
def test_without_nodes_one_token_is_sampled(student, rng):
    rule = (
        "Without nodes, sample one token from p[0]: the first whose cumulative probability is"
        " larger than u."
    )
    for row in ([0.25, 0.0, 0.25, 0.5, 0.0], [0.0, 0.5, 0.5], [1.0]):
        p = torch.tensor([row])
        for u in (0.0, 0.2, 0.25, 0.3, 0.5, 0.6, 0.999):
            ask(student, Tree([], [], p, p), [u], rule)
    ask_drawn(student, rng, [drawn_tree(rng, [], V) for V in (1, 2, 5, 40, 1000)], rule)


@accept_tree.stage("one child per node", points=1.5)
def test_a_chain_is_verified_from_the_root(student, rng):
    rule = (
        "A child is accepted where u q < p, with its parent's rows; after a rejection the residual"
        " is sampled, otherwise the last node's row of p."
    )
    one = by_hand([-1], [1])
    for u in ([0.4, 0.3], [0.4, 0.6], [0.4, 0.1], [0.0, 0.99]):
        ask(student, one, u, rule)
    for u in ([0.6, 0.3], [0.6, 0.74], [0.6, 0.76], [0.99, 0.1], [0.5, 0.3], [0.5, 0.9]):
        ask(student, one, u, rule)
    for token in (0, 2):
        for u in ([0.999, 0.3], [0.7, 0.9]):
            ask(student, by_hand([-1], [token]), u, rule)
    two = by_hand([-1, 0], [0, 0])
    for u in ([0.3, 0.4, 0.6], [0.3, 0.6, 0.6], [0.9, 0.2, 0.1], [0.9, 0.5, 0.1], [0.9, 0.5, 0.8]):
        ask(student, two, u, rule)
    for last in (0.1, 0.9):
        ask(student, by_hand([-1, 0], [1, 0]), [0.6, 0.2, last], rule)
    three = by_hand([-1, 0, 1], [2, 1, 0])
    for u in ([0.2, 0.8, 0.4, 0.3], [0.9, 0.8, 0.4, 0.9], [0.1, 0.2, 0.999, 0.7]):
        ask(student, three, u, rule)
    ask(student, Tree([-1], [1], one.p, one.q.roll(1, 1)), [0.6, 0.3], rule)
    fine = torch.tensor([[0.5953, 0.1870, 0.2177], [0.5398, 0.3302, 0.1300]])
    tree = Tree([-1], [1], fine[[0, 0]], fine[[1, 1]])
    ask(student, tree, [0.95, 0.3864], f"{rule} Use full float32.")
    never = Tree([-1], [1], torch.tensor([[0.5, 0.0, 0.5], AFTER_P[0]]), one.q)
    for last in (0.2, 0.7):
        ask(student, never, [0.0, last], f"{rule} With p = 0, always reject.")
    trees = [drawn_tree(rng, list(range(-1, N - 1)), V) for N, V in ((1, 2), (2, 5), (5, 30))]
    ask_drawn(student, rng, trees * 3, rule)


@accept_tree.stage("rejected siblings", points=1.5)
def test_each_rejection_changes_both_distributions(student, rng):
    rule = (
        "After each rejection the next sibling is tested with both new distributions: the residual,"
        " and q without the rejected token."
    )
    for tokens in ([1, 2], [1, 0]):
        for second in (0.3, 0.4, 0.6, 0.8, 0.99):
            for last in (0.3, 0.6):
                ask(student, by_hand([-1, -1], tokens), [0.6, second, last], rule)
    ask(student, by_hand([-1, -1], [1, 2]), [0.4, 0.9, 0.3], rule)
    p, q = torch.tensor([[6, 9, 1]]) / 16, torch.tensor([[4, 8, 4]]) / 16
    for u in ([0.3, 0.7, 0.6], [0.6, 0.2, 0.6], [0.6, 0.5, 0.9], [0.6, 0.9, 0.1]):
        ask(student, Tree([-1, -1], [2, 1], p.expand(3, 3), q.expand(3, 3)), u, rule)
    p, q = torch.tensor([[1, 2, 5, 8]]) / 16, torch.tensor([[8, 4, 2, 2]]) / 16
    for tokens in ([0, 1], [0, 1, 2], [1, 0, 3], [0, 1, 2, 3]):
        rows = len(tokens) + 1, 4
        tree = Tree([-1] * len(tokens), tokens, p.expand(rows), q.expand(rows))
        for third in (0.2, 0.5, 0.9):
            for last in (0.1, 0.5, 0.9):
                u = [0.9, 0.7, *[third] * (len(tokens) - 2), last]
                if accepted(tree, u).clear:
                    ask(student, tree, u, rule)
    forms = [(2, 4)] * 4 + [(3, 5)] * 4 + [(4, 9)] * 2 + [(3, 100), (2, 300)]
    ask_drawn(student, rng, [drawn_tree(rng, [-1] * width, V) for width, V in forms], rule)


@accept_tree.stage("deeper trees", points=1)
def test_the_walk_continues_from_the_accepted_child(student, rng):
    rule = (
        "An accepted child is the next node, with its own rows of p and q; only its children are"
        " tested, in the order of their numbers."
    )
    for parents in ([-1, -1], [-1, 0]):
        ask(student, by_hand(parents, [1, 2]), [0.4, 0.9, 0.3], rule)
    tree = by_hand([-1, -1, 1, 0, 1, 3], [1, 0, 1, 0, 0, 2])
    for u in (
        [0.4, 0.5, 0.5, 0.3, 0.5, 0.1, 0.6],
        [0.4, 0.5, 0.1, 0.9, 0.1, 0.5, 0.6],
        [0.6, 0.5, 0.2, 0.5, 0.5, 0.5, 0.3],
        [0.6, 0.5, 0.9, 0.1, 0.3, 0.1, 0.9],
        [0.6, 0.5, 0.9, 0.1, 0.9, 0.1, 0.1],
        [0.6, 0.5, 0.6, 0.1, 0.8, 0.1, 0.3],
    ):
        ask(student, tree, u, rule)
    p, q = torch.tensor([[1, 2, 5, 8]]) / 16, torch.tensor([[8, 4, 2, 2]]) / 16
    three = Tree([-1, 0, 0, 0], [3, 0, 1, 2], p.expand(5, 4), q.expand(5, 4))
    ask(student, three, [0.5, 0.5, 0.7, 0.5, 0.1], rule)
    for nodes in (3, 5, 8, 12, 20, 30):
        trees = [drawn_tree(rng, drawn_parents(rng, nodes), 7) for _ in range(4)]
        ask_drawn(student, rng, trees, rule)


@accept_tree.stage("greedy", points=0.5)
def test_greedy_decoding_accepts_the_token_of_the_target(student, rng):
    rule = (
        "Where p has all its probability on one token, the child with that token is accepted and"
        " any other rejected; q may be one-hot as well."
    )
    hot = torch.eye(4)
    q = torch.tensor([[0.25, 0.25, 0.25, 0.25]])
    for best, u in (([2, 0, 3], 0.9), ([1, 0, 3], 0.0), ([3, 1, 2], 0.5), ([0, 0, 1], 0.999)):
        tree = Tree([-1, -1], [1, 2], hot[best], q.expand(3, 4))
        ask(student, tree, [u, u, u], rule)
    for best in ([1, 2, 3], [1, 0, 3], [2, 1, 0]):
        for draft in (hot[[1, 2, 0]], q.expand(3, 4)):
            ask(student, Tree([-1, 0], [1, 2], hot[best], draft), [0.4, 0.4, 0.4], rule)
    ask(student, Tree([-1], [1], torch.full((2, 4), 0.25), hot[[1, 1]]), [0.9, 0.5], rule)


@accept_tree.stage("distribution", points=1, after="rejected siblings")
def test_the_generated_tokens_have_the_target_s_distribution(student):
    rule = (
        "Over all draws of a small tree, the generated tokens do not have the target's"
        " distribution."
    )
    siblings = ({(): [5 / 12, 3 / 12, 4 / 12]}, {(): [2 / 12, 2 / 12, 8 / 12]})
    for rows in siblings:
        rows.update({(token,): [0.25, 0.25, 0.5] for token in range(3)})
    chain = (
        {(): [0.75, 0.25], (0,): [0.25, 0.75], (1,): [0.625, 0.375]},
        {(): [0.5, 0.5], (0,): [0.5, 0.5], (1,): [0.25, 0.75]},
    )
    for rows in chain:
        rows.update({text: [0.5, 0.5] for text in product(range(2), repeat=2)})
    for parents, (target, draft) in (([-1, -1], siblings), ([-1, 0], chain)):
        V, nodes = len(target[()]), len(parents)
        found = torch.zeros(V, dtype=torch.float64)
        second = torch.zeros(V, V, dtype=torch.float64)
        form = Tree(parents, [], torch.zeros(0, V), torch.zeros(0, V))
        # A right answer changes at halves of a node's number and at quarters of the last.
        halves, quarters = (0.25, 0.75), (0.125, 0.375, 0.625, 0.875)
        grid = list(product(*[halves] * nodes, quarters))
        many = [(chance, tree, u) for chance, tree in draws_of(form, target, draft) for u in grid]
        calls = [
            ("accept_tree", tree.parents, tree.tokens, tree.p, tree.q, torch.tensor(u))
            for _, tree, u in many
        ]
        for (chance, tree, _), one in zip(many, student.script(calls), strict=True):
            expect(one.raised, "What `accept_tree` raised").equals(
                "", cause=f"`accept_tree` raises {one.raised}."
            )
            path, last = expect(one.value).unpacks(2)
            path = expect(path, "The accepted path").is_a(list)
            last = expect(last, "The sampled token").is_a(int)
            inside = all(type(node) is int and 0 <= node < nodes for node in path)
            expect(inside and 0 <= last < V).is_true(cause="A node or a token does not exist.")
            text = [*(tree.tokens[node] for node in path), last]
            found[text[0]] += chance / len(grid)
            if len(text) > 1:
                second[text[0], text[1]] += chance / len(grid)
        expect(found, "The probabilities of the first token").close(
            torch.tensor(target[()], dtype=torch.float64), cause=rule, atol=1e-6
        )
        for token in range(V):
            rest = second[token] / second[token].sum()
            expect(rest, f"The probabilities after token {token}").close(
                torch.tensor(target[token,], dtype=torch.float64), cause=rule, atol=1e-6
            )
