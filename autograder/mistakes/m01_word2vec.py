"""Plausible wrong solutions of chapter 1, part 2: subsampling and its test, the noise, skip-gram, CBOW."""
import math

import torch

from autograder.mistakes.registry import mistake

KEEP = "01.keep_probability"


@mistake(KEEP, "without-root", caught_by="formula", loses=1,
         misconception="You forgot the square root: t / f thins frequent words far too much.")
def keep_without_root(counts, threshold):
    return (threshold / (counts.float() / counts.sum())).clamp(max=1)


@mistake(KEEP, "raw-counts", caught_by="formula", loses=2,
         misconception="You put the counts where their shares belong: divide by the sum of all counts first.")
def keep_raw_counts(counts, threshold):
    return (threshold / counts.float()).sqrt().clamp(max=1)


@mistake(KEEP, "share-of-largest", caught_by="formula", loses=1,
         misconception="You divide by the largest count. A share is relative to the sum of all counts.")
def keep_share_of_largest(counts, threshold):
    return (threshold * counts.max() / counts.float()).sqrt().clamp(max=1)


@mistake(KEEP, "released-program", caught_by="formula", loses=1,
         misconception="You add t / f to the root. The released C program does that; the paper and this exercise do not.")
def keep_released(counts, threshold):
    ratio = threshold / (counts.float() / counts.sum())
    return (ratio.sqrt() + ratio).clamp(max=1)


@mistake(KEEP, "discards", caught_by="formula", loses=3,
         misconception="You return the probability of dropping a word, as the paper prints it. Keeping is 1 minus that.")
def keep_discards(counts, threshold):
    return 1 - (threshold / (counts.float() / counts.sum())).sqrt().clamp(max=1)


@mistake(KEEP, "upside-down", caught_by="formula", loses=3,
         misconception="Your fraction is upside down: f / t keeps the frequent words and drops the rare ones.")
def keep_upside_down(counts, threshold):
    return (counts.float() / counts.sum() / threshold).sqrt().clamp(max=1)


@mistake(KEEP, "no-limit", caught_by="limit", loses=2,
         misconception="You forgot the minimum with 1: for rare words the root is above 1, which is no probability.")
def keep_no_limit(counts, threshold):
    return (threshold / (counts.float() / counts.sum())).sqrt()


@mistake(KEEP, "unseen-dropped", caught_by="unseen", loses=1,
         misconception="You guard against the division by 0 with a 0. A word with count 0 is infinitely rare: its probability is 1.")
def keep_unseen_zero(counts, threshold):
    share = counts.float() / counts.sum()
    return torch.where(share > 0, (threshold / share).sqrt().clamp(max=1), 0.0)


WRITE = "01.test_keep"


@mistake(WRITE, "only-a-range", caught_by="formula", loses=3,
         misconception="A test that asks only whether every value lies between 0 and 1 lets most wrong functions through.")
def test_range(candidate):
    keep = candidate(torch.tensor([60.0, 25.0, 10.0, 5.0]), 0.09)
    assert ((keep > 0) & (keep <= 1)).all()


@mistake(WRITE, "only-the-order", caught_by="formula", loses=3,
         misconception="A test that asks only whether rare words are kept more often than frequent ones never looks at a number.")
def test_order(candidate):
    keep = candidate(torch.tensor([60.0, 25.0, 5.0]), 0.09)
    assert keep[0] < keep[1] < keep[2]


@mistake(WRITE, "counts-sum-to-one", caught_by="shares", loses=1,
         misconception="With counts that sum to 1, counts and shares are the same numbers: nobody can tell them apart.")
def test_sum_one(candidate):
    keep = candidate(torch.tensor([0.6, 0.25, 0.1, 0.05]), 0.09)
    right = torch.tensor([math.sqrt(0.15), math.sqrt(0.36), math.sqrt(0.9), 1.0])
    assert torch.allclose(keep, right, atol=1e-4)


@mistake(WRITE, "only-frequent-words", caught_by="limit", loses=1,
         misconception="All words of the test are above the threshold, so the limit at 1 is never reached.")
def test_frequent(candidate):
    keep = candidate(torch.tensor([60.0, 25.0, 15.0]), 0.09)
    assert torch.allclose(keep, torch.tensor([math.sqrt(0.15), math.sqrt(0.36), math.sqrt(0.6)]), atol=1e-4)


@mistake(WRITE, "only-rare-words", caught_by="formula", loses=1,
         misconception="All words of the test are below the threshold, so the formula is never used.")
def test_rare(candidate):
    assert torch.allclose(candidate(torch.tensor([1.0, 2.0, 1.0]), 0.9), torch.ones(3), atol=1e-4)


@mistake(WRITE, "no-assert", caught_by="formula", loses=4,
         misconception="A comparison without `assert` throws its answer away: the test never complains.")
def test_no_assert(candidate):
    torch.allclose(candidate(torch.tensor([9.0, 1.0]), 0.1), torch.tensor([0.3333, 1.0]), atol=1e-4)


@mistake(WRITE, "exactly-equal", caught_by="formula", loses=4,
         misconception="Two right functions differ in the last digit. Compare with a tolerance.")
def test_exact(candidate):
    counts = torch.arange(1.0, 40.0)
    assert torch.equal(candidate(counts, 0.001), (0.001 / (counts / counts.sum())).sqrt().clamp(max=1))


NOISE = "01.noise_distribution"


@mistake(NOISE, "no-power", caught_by="three-quarters", loses=2,
         misconception="You return the shares of the text. The noise raises each count to a power first.")
def noise_shares(counts, power=0.75):
    return counts.float() / counts.sum()


@mistake(NOISE, "power-fixed", caught_by="argument", loses=1,
         misconception="You wrote 0.75 into the formula. It is only the default: use the argument `power`.")
def noise_fixed(counts, power=0.75):
    bent = counts.float() ** 0.75
    return bent / bent.sum()


@mistake(NOISE, "normalised-before", caught_by="lottery", loses=1,
         misconception="You normalise first and bend afterwards. After bending the sum is no longer 1: bend first.")
def noise_normalised_before(counts, power=0.75):
    return (counts.float() / counts.sum()) ** power


@mistake(NOISE, "sum-of-counts", caught_by="lottery", loses=1,
         misconception="You divide the bent counts by the sum of the counts. Divide by the sum of the bent ones.")
def noise_sum_of_counts(counts, power=0.75):
    return counts.float() ** power / counts.sum()


@mistake(NOISE, "one-added", caught_by="lottery", loses=3,
         misconception="You add 1 to every count. Then words that never occurred are drawn too.")
def noise_one_added(counts, power=0.75):
    weight = (counts.float() + 1) ** power
    return weight / weight.sum()


@mistake(NOISE, "softmax", caught_by="three-quarters", loses=2,
         misconception="A softmax exponentiates. Here the counts are raised to a power and divided by their sum.")
def noise_softmax(counts, power=0.75):
    return torch.softmax(counts.float() * power, 0)


@mistake(NOISE, "root-turned-round", caught_by="three-quarters", loses=2,
         misconception="You raise to the power 1 / power. That makes frequent words even more frequent.")
def noise_inverse_power(counts, power=0.75):
    bent = counts.float() ** (1 / power) if power != 1 else counts.float() ** 2
    return bent / bent.sum()


@mistake(NOISE, "rounds-down", caught_by="three-quarters", loses=2,
         misconception="You turn the bent counts back into integers, which cuts off what is behind the point.")
def noise_integers(counts, power=0.75):
    bent = (counts.float() ** power).long()
    return bent / bent.sum()


LOSS = "01.sgns_loss"


def _scores(center, context, negatives):
    """The scores of the contexts (B,) and of the negatives (B, K)."""
    return (center * context).sum(-1), torch.einsum("bd,bkd->bk", center, negatives)


@mistake(LOSS, "sum-over-batch", caught_by="batch", loses=1,
         misconception="You sum over the batch. The loss is the mean over its pairs.")
def loss_sum(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).sum(-1)).sum()


@mistake(LOSS, "mean-over-negatives", caught_by="untrained", loses=2,
         misconception="You average over the K negatives. Inside one pair they are summed; only the batch is averaged.")
def loss_mean_negatives(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).mean(-1)).mean()


@mistake(LOSS, "negatives-pulled", caught_by="negatives", loses=2,
         misconception="You treat negatives like true contexts. Their score belongs into the sigmoid with a minus.")
def loss_negatives_pulled(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(bad).sum(-1)).mean()


@mistake(LOSS, "one-minus-log", caught_by="negatives", loses=2,
         misconception="You subtract the negatives' log-sigmoid as a whole. The minus belongs inside the sigmoid, in front of the score.")
def loss_minus_outside(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    log_two = math.log(2)
    return (-torch.nn.functional.logsigmoid(good) + (2 * log_two + torch.nn.functional.logsigmoid(bad)).sum(-1)).mean()


@mistake(LOSS, "maximises", caught_by="untrained", loses=4,
         misconception="You return what the paper maximises. The loss is its negative, so that smaller is better.")
def loss_maximised(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return (torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).sum(-1)).mean()


@mistake(LOSS, "negatives-against-context", caught_by="negatives", loses=2,
         misconception="You compare the negatives with the context. They are compared with the centre.")
def loss_against_context(center, context, negatives):
    good, _ = _scores(center, context, negatives)
    bad = torch.einsum("bd,bkd->bk", context, negatives)
    return -(torch.nn.functional.logsigmoid(good) + torch.nn.functional.logsigmoid(-bad).sum(-1)).mean()


@mistake(LOSS, "log-of-sigmoid", caught_by="large-scores", loses=1,
         misconception="You take the logarithm of the sigmoid in two steps. In float32 sigmoid(-200) is 0, and log 0 is minus infinity.")
def loss_naive(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -(torch.sigmoid(good).log() + torch.sigmoid(-bad).log().sum(-1)).mean()


@mistake(LOSS, "epsilon", caught_by="large-scores", loses=1,
         misconception="A small number inside the log keeps it finite, but then no score can cost more than about 23. The true cost of -200 is 200.")
def loss_epsilon(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    return -((torch.sigmoid(good) + 1e-10).log() + (torch.sigmoid(-bad) + 1e-10).log().sum(-1)).mean()


GRADIENTS = "01.sgns_gradients"


def _gradients(center, context, negatives, pull=None, push=None):
    """The right gradients, with the two errors replaced where given."""
    good, bad = _scores(center, context, negatives)
    pull = (torch.sigmoid(good) - 1) / len(center) if pull is None else pull(good) / len(center)
    push = torch.sigmoid(bad) / len(center) if push is None else push(bad) / len(center)
    return (pull[:, None] * context + torch.einsum("bk,bkd->bd", push, negatives), pull[:, None] * center,
            push[:, :, None] * center[:, None])


@mistake(GRADIENTS, "batch-forgotten", caught_by="batch", loses=1,
         misconception="These are the gradients of the sum over the batch. The loss is a mean: divide by B.")
def gradients_of_sum(center, context, negatives):
    return tuple(len(center) * part for part in _gradients(center, context, negatives))


@mistake(GRADIENTS, "sigmoid-without-minus-one", caught_by="context", loses=2,
         misconception="For the true context the error is sigmoid(s) - 1, not sigmoid(s): a good score must leave little to do.")
def gradients_no_minus_one(center, context, negatives):
    return _gradients(center, context, negatives, pull=torch.sigmoid)


@mistake(GRADIENTS, "minus-one-everywhere", caught_by="negatives", loses=2,
         misconception="You use sigmoid(s) - 1 for the negatives too. They should score low: their error is sigmoid(s).")
def gradients_minus_one_everywhere(center, context, negatives):
    return _gradients(center, context, negatives, push=lambda score: torch.sigmoid(score) - 1)


@mistake(GRADIENTS, "centre-forgets-negatives", caught_by="centre-from-negatives", loses=1,
         misconception="The centre takes part in every negative's score too, so its gradient also has the sum over the negatives.")
def gradients_centre_context_only(center, context, negatives):
    _, d_context, d_negatives = _gradients(center, context, negatives)
    good, _ = _scores(center, context, negatives)
    return (torch.sigmoid(good) - 1)[:, None] * context / len(center), d_context, d_negatives


@mistake(GRADIENTS, "first-negative-only", caught_by="centre-from-negatives", loses=1,
         misconception="The centre's gradient takes only the first negative. All K are summed.")
def gradients_first_negative(center, context, negatives):
    _, d_context, d_negatives = _gradients(center, context, negatives)
    return _gradients(center, context, negatives[:, :1])[0], d_context, d_negatives


@mistake(GRADIENTS, "uphill", caught_by="context", loses=4,
         misconception="All signs are turned round: this is the direction of the step, not the gradient of the loss.")
def gradients_uphill(center, context, negatives):
    return tuple(-part for part in _gradients(center, context, negatives))


@mistake(GRADIENTS, "centre-and-context-swapped", caught_by="context", loses=3,
         misconception="The gradients of centre and context are swapped: each vector receives the *other* one, times the error.")
def gradients_swapped(center, context, negatives):
    d_center, d_context, d_negatives = _gradients(center, context, negatives)
    return d_context, d_center, d_negatives


@mistake(GRADIENTS, "negatives-averaged", caught_by="negatives", loses=2,
         misconception="You divide by K as well. Inside one pair the negatives are summed, only the batch is averaged.")
def gradients_averaged(center, context, negatives):
    return _gradients(center, context, negatives, push=lambda score: torch.sigmoid(score) / score.shape[1])


@mistake(GRADIENTS, "own-vector", caught_by="context", loses=4,
         misconception="You multiply each error by the vector itself. A dot product passes on the *other* vector.")
def gradients_own_vector(center, context, negatives):
    good, bad = _scores(center, context, negatives)
    pull, push = (torch.sigmoid(good) - 1)[:, None] / len(center), torch.sigmoid(bad)[:, :, None] / len(center)
    return pull * center + (push * center[:, None]).sum(1), pull * context, push * negatives


CBOW = "01.cbow_scores"


@mistake(CBOW, "not-repaired", caught_by="repaired", loses=2,
         misconception="This is still the function of the statement: it divides by the number of slots, empty ones included.")
def cbow_unrepaired(word_vectors, output_vectors, contexts):
    rows = word_vectors[contexts.clamp(min=0)] * (contexts >= 0).unsqueeze(-1)
    return rows.sum(1) / contexts.shape[1] @ output_vectors.T


@mistake(CBOW, "sum-instead", caught_by="repaired", loses=2,
         misconception="You took the division away. CBOW averages, so that a long context does not score higher than a short one.")
def cbow_sum(word_vectors, output_vectors, contexts):
    rows = word_vectors[contexts.clamp(min=0)] * (contexts >= 0).unsqueeze(-1)
    return rows.sum(1) @ output_vectors.T


@mistake(CBOW, "word-zero-is-empty", caught_by="repaired", loses=2,
         misconception="You count slots with a number above 0. Word 0 is a word like any other; only -1 is empty.")
def cbow_no_word_zero(word_vectors, output_vectors, contexts):
    rows = word_vectors[contexts.clamp(min=0)] * (contexts >= 0).unsqueeze(-1)
    return rows.sum(1) / (contexts > 0).sum(1, keepdim=True).clamp(min=1) @ output_vectors.T


@mistake(CBOW, "batch-average", caught_by="repaired", loses=2,
         misconception="You divide every row by the same number. Each row has its own number of words: sum over the slots only.")
def cbow_batch_average(word_vectors, output_vectors, contexts):
    present = (contexts >= 0).unsqueeze(-1)
    rows = word_vectors[contexts.clamp(min=0)] * present
    return rows.sum(1) / (present.sum() / len(contexts)) @ output_vectors.T


@mistake(CBOW, "mask-removed", caught_by="repaired", loses=2,
         misconception="Empty slots must play no part. Without the mask of line 3 each of them adds the vector of word 0.")
def cbow_no_mask(word_vectors, output_vectors, contexts):
    present = (contexts >= 0).unsqueeze(-1)
    return word_vectors[contexts.clamp(min=0)].sum(1) / present.sum(1) @ output_vectors.T


@mistake(CBOW, "line-three", caught_by="line", loses=1, replaces="wrong_line",
         misconception="Line 3 is right: it sets the rows of empty slots to zero, so that they add nothing to the sum.")
def line_three():
    return 3


@mistake(CBOW, "line-two", caught_by="line", loses=1, replaces="wrong_line",
         misconception="Line 2 is right: an empty slot takes the vector of word 0 for a moment, and line 3 takes it out again.")
def line_two():
    return 2


@mistake(CBOW, "line-four", caught_by="line", loses=1, replaces="wrong_line",
         misconception="Line 4 is right: it sums over the slots (axis 1), and the batch (axis 0) stays.")
def line_four():
    return 4
