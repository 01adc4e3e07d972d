"""Plausible wrong solutions of chapter 15, part 2: which nodes of a draft tree are accepted."""

import torch

from autograder.checks.mistakes.registry import mistake

TREE = "15.accept_tree"


def _residual(r, q, token):
    """max(r - q, 0), normalized."""
    left = (r - q).clamp(min=0)
    return left / left.sum()


def _without(q, token):
    """q without the token, normalized."""
    left = q.clone()
    left[token] = 0
    return left / left.sum()


def _children(parents, node):
    """The children of a node, in the order of their numbers."""
    return [child for child, parent in enumerate(parents) if parent == node]


def _accepted(
    parents,
    tokens,
    p,
    q,
    u,
    keep=lambda u, q, r: u * q < r,
    rest=_residual,
    draft=_without,
    children=_children,
    row=lambda node, child: node + 1,
    tested=lambda p, r: r,
    target=lambda node: node + 1,
    number=lambda u, child: u[child],
    sampled=lambda p, r, node, parent: r,
    last=lambda u, child: u[-1],
    after=lambda u, node: None,
    below=lambda sums, u: sums <= u,
    path=lambda nodes, tokens: nodes,
):
    """The walk down a tree with parts replaced."""
    found, node, above, tries = [], -1, -1, 0
    while True:
        r, now, child = None, None, -1
        for child in children(parents, node):
            place = row(node, child)
            r, now = (p[target(place - 1)], q[place]) if r is None else (r, now)
            token = tokens[child]
            tries += 1
            if keep(number(u, child), now[token], tested(p[place], r)[token]):
                found.append(child)
                above, node = node, child
                break
            r, now = rest(r, now, token), draft(now, token)
        else:
            r = p[target(node)] if r is None else r
            r = sampled(p, r, node, above)
            by = after(u, node)
            drawn = int(below(r.cumsum(0), last(u, child) if by is None else by).sum())
            return path(found, tokens), min(drawn, p.shape[1] - 1)


def _tree(name, caught_by, loses, misconception, **options):
    """Register a mistake with parts replaced."""

    @mistake(TREE, name, caught_by=caught_by, loses=loses, misconception=misconception)
    def _(parents, tokens, p, q, u):
        return _accepted(parents, tokens, p, q, u, **options)


_tree(
    "q-not-renormalized",
    "rejected siblings",
    3.5,
    "Your q keeps its values after a rejection. Without the rejected token, divide the others"
    " by what is left.",
    draft=lambda q, token: q,
)
_tree(
    "siblings-against-p",
    "rejected siblings",
    3.5,
    "You test every sibling against p. After a rejection, test the next one against the residual.",
    tested=lambda p, r: p,
)
_tree(
    "residual-not-normalized",
    "one child per node",
    5.5,
    "You do not divide the residual by its sum.",
    rest=lambda r, q, token: (r - q).clamp(min=0),
)
_tree(
    "p-after-rejections",
    "one child per node",
    5,
    "After the last rejection you sample from p. Sample from the residual.",
    sampled=lambda p, r, node, parent: p[node + 1],
)
_tree(
    "q-first",
    "one child per node",
    5.5,
    "You remove the rejected token from q before you compute the residual. Subtract the q that the"
    " token was drawn from.",
    rest=lambda r, q, token: _residual(r, _without(q, token), token),
)
_tree(
    "only-the-token-removed",
    "one child per node",
    5,
    "After a rejection you only remove the token from p. The residual is max(r - q, 0),"
    " normalized.",
    rest=lambda r, q, token: _without(r, token),
)
_tree(
    "absolute-residual",
    "one child per node",
    5.5,
    "You take |r - q|. The residual is max(r - q, 0).",
    rest=lambda r, q, token: (r - q).abs() / (r - q).abs().sum(),
)
_tree(
    "the-child-s-own-row",
    "one child per node",
    5.5,
    "You test node i with row i + 1. That row is for its children; use its parent's row.",
    row=lambda node, child: child + 1,
)
_tree(
    "row-of-the-parent-at-a-leaf",
    "one child per node",
    5.5,
    "After the last accepted node you sample from its parent's row of p. Use the node's own row,"
    " p[i + 1].",
    sampled=lambda p, r, node, parent: p[parent + 1] if torch.equal(r, p[node + 1]) else r,
)
_tree(
    "accepted-at-equality",
    "one child per node",
    4,
    "You accept where u q equals p. Rule 2 rejects there.",
    keep=lambda u, q, r: u * q <= r,
)
_tree(
    "by-p-alone",
    "one child per node",
    5,
    "You accept with probability p. It should be min(1, p / q).",
    keep=lambda u, q, r: u < r,
)
_tree(
    "upside-down",
    "one child per node",
    5.5,
    "You accept if u < q / p. The ratio is p / q.",
    keep=lambda u, q, r: u * r < q,
)
_tree(
    "always-accepted",
    "one child per node",
    5.5,
    "You accept the first child whatever its number. Compare u q with p.",
    keep=lambda u, q, r: True,
)
_tree(
    "tokens-in-the-path",
    "one child per node",
    5.5,
    "Your path holds tokens. Return the numbers of the nodes.",
    path=lambda nodes, tokens: [tokens[node] for node in nodes],
)
_tree(
    "first-child-only",
    "rejected siblings",
    4,
    "You stop when a node's first child is rejected. Test its siblings before you sample.",
    children=lambda parents, node: _children(parents, node)[:1],
)
_tree(
    "last-child-first",
    "rejected siblings",
    3.5,
    "You test siblings from the last to the first. Test them in the order of their numbers.",
    children=lambda parents, node: _children(parents, node)[::-1],
)
_tree(
    "the-child-s-number-again",
    "one child per node",
    5.5,
    "You sample with the rejected child's number, which is used up. Sample with u[N].",
    last=lambda u, child: u[child],
)
_tree(
    "one-number-for-all",
    "one child per node",
    5,
    "You test every node with u[0]. Node i has its own number, u[i].",
    number=lambda u, child: u[0],
)
_tree(
    "row-of-p-too-early",
    "one child per node",
    5.5,
    "You test a child of node i with row i of p. Its row is i + 1, because row 0 belongs to the"
    " root.",
    target=lambda node: node,
)
_tree(
    "number-of-the-next-node",
    "one child per node",
    5.5,
    "You sample with the number after the last accepted node's. Sample with the last one, u[N].",
    after=lambda u, node: u[node + 1],
)
_tree(
    "root-in-the-path",
    "empty tree",
    6,
    "Your path begins with the root. Return only the accepted nodes.",
    path=lambda nodes, tokens: [-1, *nodes],
)
_tree(
    "path-from-the-leaf",
    "one child per node",
    4,
    "Your path goes from the leaf to the root. Return it from the root downwards.",
    path=lambda nodes, tokens: nodes[::-1],
)
_tree(
    "p-after-an-acceptance",
    "one child per node",
    3.5,
    "Once a node was accepted you always sample from p. Where its children were rejected, sample"
    " from the residual.",
    sampled=lambda p, r, node, parent: r if node == -1 else p[node + 1],
)
_tree(
    "at-least-u",
    "empty tree",
    0.5,
    "You sample the first token whose cumulative probability is at least u. It must be larger.",
    below=lambda sums, u: sums < u,
)


@mistake(
    TREE,
    "every-node-tested",
    caught_by="one child per node",
    loses=4,
    misconception="You also test children of nodes that were not accepted. Test only the children"
    " of the current node.",
)
def _(parents, tokens, p, q, u):
    path, row, r, draft = [], 0, p[0], q[0]
    for child, token in enumerate(tokens):
        if path and parents[child] == parents[path[-1]]:
            continue
        if u[child] * draft[token] < r[token]:
            path.append(child)
            row = child + 1
            r, draft = p[row], q[row]
        else:
            r, draft = _residual(r, draft, token), _without(draft, token)
    return path, min(int((r.cumsum(0) <= u[-1]).sum()), p.shape[1] - 1)


@mistake(
    TREE,
    "numbers-in-order-of-tests",
    caught_by="deeper trees",
    loses=1,
    misconception="You use the numbers of u one after another. Node i is tested with u[i], whatever"
    " was tested before.",
)
def _(parents, tokens, p, q, u):
    numbers = iter(u)
    return _accepted(parents, tokens, p, q, u, number=lambda u, child: next(numbers))


@mistake(
    TREE,
    "residual-kept-below",
    caught_by="rejected siblings",
    loses=4,
    misconception="After an acceptance you keep the residual. The accepted node has its own"
    " rows of p and q.",
)
def _(parents, tokens, p, q, u):
    path, node, r, draft = [], -1, p[0], q[0]
    while True:
        for child in _children(parents, node):
            token = tokens[child]
            if u[child] * draft[token] < r[token]:
                path.append(child)
                rejected = _children(parents, node)[0] != child
                node = child
                r, draft = (r, draft) if rejected else (p[node + 1], q[node + 1])
                break
            r, draft = _residual(r, draft, token), _without(draft, token)
        else:
            return path, min(int((r.cumsum(0) <= u[-1]).sum()), p.shape[1] - 1)


@mistake(
    TREE,
    "argmax-of-p",
    caught_by="empty tree",
    loses=6,
    misconception="You accept the child that is the argmax of p. That is the rule for greedy"
    " decoding only.",
)
def _(parents, tokens, p, q, u):
    path, node = [], -1
    while True:
        best = int(p[node + 1].argmax())
        found = [child for child in _children(parents, node) if tokens[child] == best]
        if not found:
            return path, best
        node = found[0]
        path.append(node)


@mistake(
    TREE,
    "tensor-token",
    caught_by="empty tree",
    loses=1.2,
    misconception="Your sampled token is a tensor. It should be an int.",
)
def _(parents, tokens, p, q, u):
    path, token = _accepted(parents, tokens, p, q, u)
    return path, torch.tensor(token)


@mistake(
    TREE,
    "residual-of-p-each-time",
    caught_by="rejected siblings",
    loses=3.5,
    misconception="You subtract each sibling's q from p. Subtract it from the residual that the"
    " rejections before have left.",
)
def _(parents, tokens, p, q, u):
    path, node = [], -1
    while True:
        r, draft = p[node + 1], q[node + 1]
        for child in _children(parents, node):
            token = tokens[child]
            if u[child] * draft[token] < r[token]:
                path.append(child)
                node = child
                break
            r, draft = _residual(p[node + 1], draft, token), _without(draft, token)
        else:
            return path, min(int((r.cumsum(0) <= u[-1]).sum()), p.shape[1] - 1)


@mistake(
    TREE,
    "last-accepted-sibling",
    caught_by="rejected siblings",
    loses=3.5,
    misconception="You test more siblings after one was accepted. The first accepted child is"
    " the next node.",
)
def _(parents, tokens, p, q, u):
    path, node = [], -1
    while True:
        r, draft, chosen = p[node + 1], q[node + 1], None
        for child in _children(parents, node):
            token = tokens[child]
            if u[child] * draft[token] < r[token]:
                chosen = child
            elif chosen is None:
                r, draft = _residual(r, draft, token), _without(draft, token)
        if chosen is None:
            return path, min(int((r.cumsum(0) <= u[-1]).sum()), p.shape[1] - 1)
        path.append(chosen)
        node = chosen


@mistake(
    TREE,
    "numbers-in-test-order",
    caught_by="one child per node",
    loses=5,
    misconception="You take the uniform numbers one after another. Node i has u[i], and the sampled"
    " token u[N].",
)
def _(parents, tokens, p, q, u):
    numbers = iter(u)
    return _accepted(
        parents,
        tokens,
        p,
        q,
        u,
        number=lambda u, child: next(numbers),
        last=lambda u, child: next(numbers),
    )


@mistake(
    TREE,
    "token-removed-before-residual",
    caught_by="one child per node",
    loses=5,
    misconception="You remove the rejected token from q before you subtract q. Subtract q as it was"
    " in the test, then remove the token.",
)
def _(parents, tokens, p, q, u):
    def rest(r, q, token):
        left = q.clone()
        left[token] = 0
        return _residual(r, left / left.sum() if left.sum() > 0 else left, token)

    return _accepted(parents, tokens, p, q, u, rest=rest)


@mistake(
    TREE,
    "q-divided-by-the-first",
    caught_by="rejected siblings",
    loses=3.5,
    misconception="You divide by 1 minus the token's probability in the row of q. Divide by what is"
    " left of the current q.",
)
def _(parents, tokens, p, q, u):
    path, node = [], -1
    while True:
        r, draft = p[node + 1], q[node + 1]
        for child in _children(parents, node):
            token = tokens[child]
            if u[child] * draft[token] < r[token]:
                path.append(child)
                node = child
                break
            r, draft = _residual(r, draft, token), draft.clone()
            draft[token] = 0
            draft = draft / (1 - q[node + 1][token])
        else:
            return path, min(int((r.cumsum(0) <= u[-1]).sum()), p.shape[1] - 1)


_tree(
    "residual-normalized-for-the-sample-only",
    "rejected siblings",
    3.5,
    "You divide the residual by its sum for the sample only. Do it before the next sibling is"
    " tested, too.",
    rest=lambda r, q, token: (r - q).clamp(min=0),
    sampled=lambda p, r, node, parent: r / r.sum(),
)
