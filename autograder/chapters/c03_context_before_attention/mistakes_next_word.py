"""Plausible wrong solutions of chapter 3, part 1."""

import math

import torch

from autograder.checks.mistakes.registry import mistake

BIGRAMS, KNESER, JUDGE = "03.bigram_counts", "03.kneser_ney", "03.judge"


def _counted(texts, vocab_size, cells, rows=1):
    """A table in which each pair that `cells(text)` gives adds 1."""
    counts = torch.zeros(vocab_size + rows, vocab_size)
    for text in texts:
        for before, after in cells(text):
            counts[before, after] += 1
    return counts


@mistake(
    BIGRAMS,
    "rows-and-columns-exchanged",
    caught_by="bigram counts",
    loses=4,
    misconception=(
        "You exchange rows and columns: the row is the context, the column the next token."
    ),
)
def _(texts, vocab_size):
    inner = _counted(texts, vocab_size, lambda text: zip(text[1:], text))
    inner[-1] = _counted(texts, vocab_size, lambda text: [(vocab_size, word) for word in text[:1]])[
        -1
    ]
    return inner


@mistake(
    BIGRAMS,
    "table-transposed",
    caught_by="starts of texts",
    loses=5,
    misconception=(
        "Your table is transposed: it has a column for each context. Rows are contexts, columns the"
        " tokens that follow."
    ),
)
def _(texts, vocab_size):
    pairs = _counted(texts, vocab_size, lambda text: zip([vocab_size, *text], text))
    return pairs.T.contiguous()


@mistake(
    BIGRAMS,
    "texts-joined",
    caught_by="text boundaries",
    loses=1,
    misconception=(
        "You count the last token of a text as the context of the next text's first token. Texts"
        " are independent."
    ),
)
def _(texts, vocab_size):
    counts, last = torch.zeros(vocab_size + 1, vocab_size), None
    for text in texts:
        for before, after in zip([vocab_size, *text], text):
            counts[before, after] += 1
        if last is not None and text:
            counts[last, text[0]] += 1
        last = text[-1] if text else last
    return counts


@mistake(
    BIGRAMS,
    "one-long-text",
    caught_by="starts of texts",
    loses=2,
    misconception="You join all texts into one, so that only the first of them has a start.",
)
def _(texts, vocab_size):
    joined = [token for text in texts for token in text]
    return _counted([joined], vocab_size, lambda text: zip([vocab_size, *text], text))


@mistake(
    BIGRAMS,
    "start-left-out",
    caught_by="starts of texts",
    loses=2,
    misconception="You count pairs inside the texts only, and leave out the start of each.",
)
def _(texts, vocab_size):
    return _counted(texts, vocab_size, lambda text: zip(text, text[1:]))


@mistake(
    BIGRAMS,
    "start-in-the-first-row",
    caught_by="starts of texts",
    loses=5,
    misconception=(
        "You put the start into the first row. It is the last one, and token 0 has row 0."
    ),
)
def _(texts, vocab_size):
    return _counted(texts, vocab_size, lambda text: zip([0, *(token + 1 for token in text)], text))


@mistake(
    BIGRAMS,
    "no-row-for-the-start",
    caught_by="starts of texts",
    loses=5,
    misconception="Your table has V rows. It has one more, the last, for the start of a text.",
)
def _(texts, vocab_size):
    return _counted(texts, vocab_size, lambda text: zip(text, text[1:]), rows=0)


@mistake(
    BIGRAMS,
    "seen-or-not",
    caught_by="starts of texts",
    loses=3.5,
    misconception="You write 1 where a pair was seen, however often. Add 1 each time.",
)
def _(texts, vocab_size):
    return (_counted(texts, vocab_size, lambda text: zip([vocab_size, *text], text)) > 0).float()


@mistake(
    BIGRAMS,
    "added-at-once",
    caught_by="repeated bigrams",
    loses=2.5,
    misconception=(
        "`table[rows, columns] += 1` adds 1 once for a cell that stands twice in the index. Add one"
        " by one, or with index_put_."
    ),
)
def _(texts, vocab_size):
    counts = torch.zeros(vocab_size + 1, vocab_size)
    for text in texts:
        if text:
            counts[torch.tensor([vocab_size, *text[:-1]]), torch.tensor(text)] += 1
    return counts


@mistake(
    BIGRAMS,
    "probabilities",
    caught_by="starts of texts",
    loses=3.5,
    misconception="You divide each row by its sum. Counts were asked for.",
)
def _(texts, vocab_size):
    counts = _counted(texts, vocab_size, lambda text: zip([vocab_size, *text], text))
    return counts / counts.sum(1, keepdim=True).clamp(min=1)


@mistake(
    BIGRAMS,
    "both-neighbours",
    caught_by="bigram counts",
    loses=4,
    misconception=(
        "You count a pair in both directions. The token before is the row, the one after the"
        " column, and no more."
    ),
)
def _(texts, vocab_size):
    return _counted(
        texts, vocab_size, lambda text: [*zip([vocab_size, *text], text), *zip(text[1:], text)]
    )


@mistake(
    BIGRAMS,
    "end-counted-too",
    caught_by="bigram counts",
    loses=4,
    misconception=(
        "You count the first token after the last one of a text. Nothing follows the last."
    ),
)
def _(texts, vocab_size):
    return _counted(
        texts, vocab_size, lambda text: [*zip([vocab_size, *text], text), *zip(text[-1:], text)]
    )


@mistake(
    BIGRAMS,
    "repeats-skipped",
    caught_by="repeated bigrams",
    loses=2.5,
    misconception="You leave out a token that follows itself. It is a pair like any other.",
)
def _(texts, vocab_size):
    return _counted(
        texts,
        vocab_size,
        lambda text: [pair for pair in zip([vocab_size, *text], text) if pair[0] != pair[1]],
    )


@mistake(
    BIGRAMS,
    "empty-text-crashes",
    caught_by="text boundaries",
    loses=1,
    misconception="You take the first token of a text that has none.",
)
def _(texts, vocab_size):
    return _counted(texts, vocab_size, lambda text: [(vocab_size, text[0]), *zip(text, text[1:])])


@mistake(
    BIGRAMS,
    "short-texts-left-out",
    caught_by="starts of texts",
    loses=2,
    misconception="You leave out texts of one token. They begin too.",
)
def _(texts, vocab_size):
    return _counted(
        [text for text in texts if len(text) > 1],
        vocab_size,
        lambda text: zip([vocab_size, *text], text),
    )


@mistake(
    BIGRAMS,
    "eight-bits",
    caught_by="repeated bigrams",
    loses=2.5,
    misconception="You count in 8 bits, which end at 255.",
)
def _(texts, vocab_size):
    return (
        _counted(texts, vocab_size, lambda text: zip([vocab_size, *text], text))
        .to(torch.uint8)
        .float()
    )


@mistake(
    BIGRAMS,
    "whole-numbers",
    caught_by="starts of texts",
    loses=1,
    misconception="Your table holds integers. Counts are float32 here.",
)
def _(texts, vocab_size):
    return _counted(texts, vocab_size, lambda text: zip([vocab_size, *text], text)).long()


@mistake(
    BIGRAMS,
    "end-column",
    caught_by="starts of texts",
    loses=5,
    misconception="You count an end after each text. Nothing is added at the end of a text.",
)
def _(texts, vocab_size):
    counts = torch.zeros(vocab_size + 1, vocab_size + 1)
    for text in texts:
        for before, after in zip([vocab_size, *text], [*text, vocab_size]):
            counts[before, after] += 1
    return counts


@mistake(
    BIGRAMS,
    "size-from-the-largest-id",
    caught_by="starts of texts",
    loses=5,
    misconception="You take the table's size from the largest id that occurs. It is `vocab_size`.",
)
def _(texts, vocab_size):
    size = max(max(text) for text in texts if text) + 1
    return _counted(texts, size, lambda text: zip([size, *text], text))


@mistake(
    BIGRAMS,
    "last-before-first",
    caught_by="starts of texts",
    loses=5,
    misconception=(
        "For the first token `text[i - 1]` is `text[-1]`, the last one. Its context is the start."
    ),
)
def _(texts, vocab_size):
    return _counted(texts, vocab_size, lambda text: zip([*text[-1:], *text], text))


@mistake(
    BIGRAMS,
    "no-text-fails",
    caught_by="text boundaries",
    loses=1,
    misconception="Your code fails where there is no text at all. The table is all zeros then.",
)
def _(texts, vocab_size):
    pairs = torch.cat([torch.tensor([[vocab_size, *text[:-1]], text]) for text in texts if text], 1)
    counts = torch.zeros(vocab_size + 1, vocab_size)
    return counts.index_put((pairs[0], pairs[1]), torch.ones(pairs.shape[1]), accumulate=True)


@mistake(
    BIGRAMS,
    "last-pair-missed",
    caught_by="bigram counts",
    loses=4,
    misconception="You miss the last pair of each text: n tokens have n - 1 pairs.",
)
def _(texts, vocab_size):
    return _counted(texts, vocab_size, lambda text: zip([vocab_size, *text[:-2]], text))


def _smoothed(
    counts,
    discount,
    lower=None,
    cut=lambda c, d: (c - d).clamp(min=0),
    kinds=lambda c: (c > 0).sum(1, keepdim=True).float(),
    empty=True,
    base=None,
):
    """Kneser-Ney with one part of it replaced.

    lower: of `counts`, what a token's contexts are counted by; base: step 1.
    """
    size = counts.shape[1]
    shares = torch.full((1, size), 1 / size)
    contexts = (counts > 0).sum(0, keepdim=True).float() if lower is None else lower(counts)
    for level, number in enumerate((contexts, counts)):
        total = number.sum(1, keepdim=True)
        mixed = (cut(number, discount) + discount * kinds(number) * shares) / total
        if level == 0 and base is not None:
            mixed = base(number, discount)
        shares = torch.where(total > 0, mixed, shares) if empty or level == 0 else mixed
    return shares


@mistake(
    KNESER,
    "no-clamp",
    caught_by="discounted counts",
    loses=7,
    misconception="You take the discount from counts of 0 too, which become negative. They stay 0.",
)
def _(counts, discount):
    return _smoothed(counts, discount, cut=lambda c, d: c - d)


@mistake(
    KNESER,
    "mass-by-tokens",
    caught_by="freed probability mass",
    loses=5.5,
    misconception=(
        "You free the discount for every occurrence of a token. It is freed once for each"
        " different token."
    ),
)
def _(counts, discount):
    return _smoothed(counts, discount, kinds=lambda c: c.sum(1, keepdim=True))


@mistake(
    KNESER,
    "mass-by-vocabulary",
    caught_by="freed probability mass",
    loses=5.5,
    misconception=(
        "You free the discount for all V tokens. It is freed only for those that were seen in the"
        " row."
    ),
)
def _(counts, discount):
    return _smoothed(counts, discount, kinds=lambda c: torch.full((len(c), 1), float(c.shape[1])))


@mistake(
    KNESER,
    "plain-unigram",
    caught_by="continuation counts",
    loses=4,
    misconception=(
        "In step 1 you count how often a token occurs. Count after how many different contexts: the"
        " rows above 0."
    ),
)
def _(counts, discount):
    return _smoothed(counts, discount, lower=lambda c: c.sum(0, keepdim=True))


@mistake(
    KNESER,
    "uniform-left-out",
    caught_by="uniform distribution",
    loses=2,
    misconception="Step 1 is n / S in your code. It frees mass as well, which all V tokens share.",
)
def _(counts, discount):
    return _smoothed(counts, discount, base=lambda n, d: n / n.sum())


@mistake(
    KNESER,
    "saved-and-not-given",
    caught_by="uniform distribution",
    loses=2,
    misconception="In step 1 you subtract the discount and do not redistribute it.",
)
def _(counts, discount):
    size = counts.shape[1]
    return _smoothed(
        counts,
        discount,
        base=lambda n, d: (
            torch.where((n > 0).all(), n / n.sum(), (n - d).clamp(min=0) / n.sum()) + 0 * size
        ),
    )


@mistake(
    KNESER,
    "empty-rows-nan",
    caught_by="unseen contexts",
    loses=1,
    misconception="A row without counts is divided by 0. It gets p of step 1.",
)
def _(counts, discount):
    return _smoothed(counts, discount, empty=False)


@mistake(
    KNESER,
    "empty-rows-zero",
    caught_by="unseen contexts",
    loses=1,
    misconception="A row without counts stays 0 in your table. It gets p of step 1.",
)
def _(counts, discount):
    return torch.where(counts.sum(1, keepdim=True) > 0, _smoothed(counts, discount), 0.0)


@mistake(
    KNESER,
    "empty-rows-uniform",
    caught_by="unseen contexts",
    loses=1,
    misconception="A row without counts is uniform in your table. It gets p of step 1.",
)
def _(counts, discount):
    return torch.where(
        counts.sum(1, keepdim=True) > 0, _smoothed(counts, discount), 1 / counts.shape[1]
    )


@mistake(
    KNESER,
    "nothing-saved",
    caught_by="discounted counts",
    loses=7,
    misconception="You divide the counts by their sum, without a discount.",
)
def _(counts, discount):
    return counts / counts.sum(1, keepdim=True).clamp(min=1)


@mistake(
    KNESER,
    "share-in-place-of-discount",
    caught_by="discounted counts",
    loses=7,
    misconception=(
        "You interpolate with a fixed weight, as Jelinek and Mercer do. Here the discount is"
        " subtracted from each count."
    ),
)
def _(counts, discount):
    p = _smoothed(torch.zeros_like(counts), discount) + 0 * counts
    contexts = (counts > 0).sum(0, keepdim=True).float()
    p = torch.where(contexts.sum() > 0, contexts / contexts.sum().clamp(min=1), p)
    total = counts.sum(1, keepdim=True)
    return torch.where(total > 0, (1 - discount) * counts / total.clamp(min=1) + discount * p, p)


@mistake(
    KNESER,
    "only-the-unseen",
    caught_by="discounted counts",
    loses=7,
    misconception="You give the freed mass to the unseen tokens alone. All tokens share it.",
)
def _(counts, discount):
    p = _smoothed(torch.zeros_like(counts), discount) * 0 + _smoothed(counts, discount)
    total = counts.sum(1, keepdim=True)
    seen = (counts - discount).clamp(min=0) / total.clamp(min=1)
    return torch.where((total > 0) & (counts > 0), seen, p)


@mistake(
    KNESER,
    "divided-twice",
    caught_by="freed probability mass",
    loses=5.5,
    misconception="You divide the freed mass by the sum of the row twice.",
)
def _(counts, discount):
    return _smoothed(
        counts,
        discount,
        kinds=lambda c: (c > 0).sum(1, keepdim=True) / c.sum(1, keepdim=True).clamp(min=1),
    )


@mistake(
    KNESER,
    "discount-once-for-a-row",
    caught_by="freed probability mass",
    loses=5.5,
    misconception=(
        "You free the discount once for each row. It is freed once for each different token in it."
    ),
)
def _(counts, discount):
    return _smoothed(counts, discount, kinds=lambda c: (c.sum(1, keepdim=True) > 0).float())


@mistake(
    KNESER,
    "start-is-no-context",
    caught_by="continuation counts",
    loses=4,
    misconception="You leave the last row out of n. The start is a context like any other.",
)
def _(counts, discount):
    return _smoothed(counts, discount, lower=lambda c: (c[:-1] > 0).sum(0, keepdim=True).float())


@mistake(
    KNESER,
    "counts-above-one",
    caught_by="continuation counts",
    loses=4,
    misconception="You count contexts after which a token was seen more than once. Once is enough.",
)
def _(counts, discount):
    return _smoothed(counts, discount, lower=lambda c: (c > 1).sum(0, keepdim=True).float())


@mistake(
    KNESER,
    "kinds-after-the-discount",
    caught_by="freed probability mass",
    loses=3.5,
    misconception=(
        "You count K(r) after discounting. A count that the discount reduces to 0 was seen all the"
        " same."
    ),
)
def _(counts, discount):
    return _smoothed(counts, discount, kinds=lambda c: (c > discount).sum(1, keepdim=True).float())


@mistake(
    KNESER,
    "divided-by-the-contexts",
    caught_by="freed probability mass",
    loses=5.5,
    misconception="In step 1 you divide by the number of contexts. V is the number of tokens.",
)
def _(counts, discount):
    def base(contexts, discount):
        kept = (contexts - discount).clamp(min=0)
        kinds = (contexts > 0).sum(1, keepdim=True)
        return (kept + discount * kinds / len(counts)) / contexts.sum(1, keepdim=True)

    return _smoothed(counts, discount, base=base)


@mistake(
    KNESER,
    "uniform-in-step-2",
    caught_by="continuation counts",
    loses=4,
    misconception="In step 2 you share the freed mass equally. It goes to p of step 1.",
)
def _(counts, discount):
    return _smoothed(counts, discount, base=lambda n, d: torch.full_like(n, 1 / n.shape[1]))


def _judged(
    log_probs,
    mask,
    num_bytes,
    mean=None,
    perplexity=math.exp,
    bits=lambda nats, count, size: nats / math.log(2) / size,
):
    """The three numbers with one part replaced. mean: from log_probs and mask to nats per token."""
    nats = -log_probs[mask].double().sum().item()
    count = int(mask.sum())
    loss = nats / count if mean is None else float(mean(log_probs.double(), mask))
    return {
        "nats_per_token": loss,
        "perplexity": perplexity(loss),
        "bits_per_byte": bits(nats, count, num_bytes),
    }


def _exp(value):
    return math.exp(value) if value < 700 else math.inf


@mistake(
    JUDGE,
    "sign",
    caught_by="mean loss",
    loses=3,
    misconception="You leave out the minus: the loss is the mean of -log_probs.",
)
def _(log_probs, mask, num_bytes):
    return _judged(log_probs, mask, num_bytes, mean=lambda p, m: p[m].mean())


@mistake(
    JUDGE,
    "no-minus-anywhere",
    caught_by="mean loss",
    loses=4,
    misconception="You leave out the minus in all three: log-probabilities are at most 0.",
)
def _(log_probs, mask, num_bytes):
    return _judged(
        log_probs,
        mask,
        num_bytes,
        mean=lambda p, m: p[m].mean(),
        bits=lambda nats, count, size: -nats / math.log(2) / size,
    )


@mistake(
    JUDGE,
    "minus-in-two-of-three",
    caught_by="mean loss",
    loses=2,
    misconception="You leave out the minus in nats_per_token: it is the mean of -log_probs.",
)
def _(log_probs, mask, num_bytes):
    right = _judged(log_probs, mask, num_bytes, perplexity=_exp)
    return right | {"nats_per_token": -right["nats_per_token"]}


@mistake(
    JUDGE,
    "sum-for-the-mean",
    caught_by="mean loss",
    loses=3,
    misconception="You give the sum over all tokens. Divide it by their number.",
)
def _(log_probs, mask, num_bytes):
    return _judged(log_probs, mask, num_bytes, mean=lambda p, m: -p[m].sum(), perplexity=_exp)


@mistake(
    JUDGE,
    "exp-before-the-mean",
    caught_by="perplexity formula",
    loses=2,
    misconception="You take exp of every token and then the mean. The mean comes first.",
)
def _(log_probs, mask, num_bytes):
    return {
        **_judged(log_probs, mask, num_bytes),
        "perplexity": (-log_probs[mask].double()).exp().mean().item(),
    }


@mistake(
    JUDGE,
    "mean-of-means",
    caught_by="padding excluded",
    loses=1,
    misconception=(
        "You take the mean of each text and then the mean of those. Every token counts alike, so"
        " long texts weigh more."
    ),
)
def _(log_probs, mask, num_bytes):
    return _judged(
        log_probs,
        mask,
        num_bytes,
        mean=lambda p, m: (
            -torch.stack([row[there].mean() for row, there in zip(p, m) if there.any()]).mean()
        ),
        perplexity=_exp,
    )


@mistake(
    JUDGE,
    "mean-of-means-in-bits-too",
    caught_by="padding excluded",
    loses=2,
    misconception=(
        "You take the mean of each text and then the mean of those, for the bits as well. Every"
        " token counts alike."
    ),
)
def _(log_probs, mask, num_bytes):
    means = [-p[m].double().mean() for p, m in zip(log_probs, mask) if m.any()]
    loss = float(sum(means)) / len(means)
    return {
        "nats_per_token": loss,
        "perplexity": math.exp(loss),
        "bits_per_byte": loss * int(mask.sum()) / math.log(2) / num_bytes,
    }


@mistake(
    JUDGE,
    "mean-of-perplexities",
    caught_by="perplexity formula",
    loses=2,
    misconception=(
        "You take the perplexity of each text and then their mean. One mean over all tokens, then"
        " one exp."
    ),
)
def _(log_probs, mask, num_bytes):
    each = [
        math.exp(-row[there].double().mean().item())
        for row, there in zip(log_probs, mask)
        if there.any()
    ]
    return {**_judged(log_probs, mask, num_bytes), "perplexity": sum(each) / len(each)}


@mistake(
    JUDGE,
    "filling-counted",
    caught_by="padding excluded",
    loses=1,
    misconception="You divide by the number of all positions. Divide by the number of tokens.",
)
def _(log_probs, mask, num_bytes):
    return _judged(
        log_probs, mask, num_bytes, mean=lambda p, m: -p[m].sum() / m.numel(), perplexity=_exp
    )


@mistake(
    JUDGE,
    "filling-summed",
    caught_by="padding excluded",
    loses=2,
    misconception="You use all positions and ignore mask.",
)
def _(log_probs, mask, num_bytes):
    mean = -log_probs.double().mean().item()
    nats = -log_probs.double().sum().item()
    return {
        "nats_per_token": mean,
        "perplexity": _exp(mean),
        "bits_per_byte": nats / math.log(2) / num_bytes,
    }


@mistake(
    JUDGE,
    "times-the-mask",
    caught_by="padding excluded",
    loses=1,
    misconception=(
        "You multiply by mask. Padding may be minus infinity or NaN, and times 0 that is NaN."
    ),
)
def _(log_probs, mask, num_bytes):
    return _judged(
        log_probs, mask, num_bytes, mean=lambda p, m: -(p * m).sum() / m.sum(), perplexity=_exp
    )


@mistake(
    JUDGE,
    "loss-in-bits",
    caught_by="mean loss",
    loses=3,
    misconception="Your loss is in bits: it is divided by ln 2. Nats were asked for.",
)
def _(log_probs, mask, num_bytes):
    return _judged(
        log_probs,
        mask,
        num_bytes,
        mean=lambda p, m: -p[m].mean() / math.log(2),
        perplexity=lambda bits: 2 ** min(bits, 1e3),
    )


@mistake(
    JUDGE,
    "two-to-the-nats",
    caught_by="perplexity formula",
    loses=2,
    misconception=(
        "You take 2 to the power of the nats. The perplexity is e to the nats, or 2 to the bits."
    ),
)
def _(log_probs, mask, num_bytes):
    return _judged(log_probs, mask, num_bytes, perplexity=lambda nats: 2**nats)


@mistake(
    JUDGE,
    "root-of-the-product",
    caught_by="perplexity formula",
    loses=1,
    misconception=(
        "You multiply the probabilities first. The product of hundreds of them is 0 in any float."
    ),
)
def _(log_probs, mask, num_bytes):
    product = torch.prod(log_probs[mask].exp()).item()
    return {
        **_judged(log_probs, mask, num_bytes),
        "perplexity": product ** (-1 / int(mask.sum())) if product else math.inf,
    }


@mistake(
    JUDGE,
    "bits-per-token",
    caught_by="bits per byte",
    loses=1,
    misconception="You divide the bits by the number of tokens. Divide by num_bytes.",
)
def _(log_probs, mask, num_bytes):
    return _judged(
        log_probs, mask, num_bytes, bits=lambda nats, count, size: nats / math.log(2) / count
    )


@mistake(
    JUDGE,
    "nats-per-byte",
    caught_by="bits per byte",
    loses=1,
    misconception="You give nats per byte. A bit is ln 2 nats, so divide by ln 2.",
)
def _(log_probs, mask, num_bytes):
    return _judged(log_probs, mask, num_bytes, bits=lambda nats, count, size: nats / size)


@mistake(
    JUDGE,
    "mean-over-bytes",
    caught_by="bits per byte",
    loses=1,
    misconception="You divide the bits per token by num_bytes. Take the sum over all tokens.",
)
def _(log_probs, mask, num_bytes):
    return _judged(
        log_probs, mask, num_bytes, bits=lambda nats, count, size: nats / count / math.log(2) / size
    )


@mistake(
    JUDGE,
    "bits-in-a-byte",
    caught_by="bits per byte",
    loses=1,
    misconception=(
        "You divide by 8 times num_bytes. It is the model's bits for each byte, not for each bit of"
        " the text."
    ),
)
def _(log_probs, mask, num_bytes):
    return _judged(
        log_probs, mask, num_bytes, bits=lambda nats, count, size: nats / math.log(2) / size / 8
    )


@mistake(
    JUDGE,
    "times-ln-2",
    caught_by="bits per byte",
    loses=1,
    misconception="You multiply by ln 2. From nats to bits you divide.",
)
def _(log_probs, mask, num_bytes):
    return _judged(
        log_probs, mask, num_bytes, bits=lambda nats, count, size: nats * math.log(2) / size
    )
