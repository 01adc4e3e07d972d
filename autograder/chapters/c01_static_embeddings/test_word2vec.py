"""Checks of chapter 1, part 2: subsampling, a test for it, the noise, the skip-gram loss and gradient, CBOW."""
import torch
from torch.nn.functional import softplus

from autograder.chapters.c01_static_embeddings.keep_candidates import MISTAKEN, PROBES, RIGHT, WRONG
from autograder.checks.draws import counts, distinct, normal, uniform, whole
from autograder.checks.protocol import exercise, expect, expect_catches

PAGE = "01-static-embeddings/word2vec"
SKIPGRAM = ["reference_impl.embeddings.skipgram"]

keep_probability = exercise("01.keep_probability", function="keep_probability", points=3, see=f"{PAGE}#fewer-the",
                            withhold=SKIPGRAM)


def frequent_words(rng: torch.Generator) -> tuple[torch.Tensor, float]:
    """Counts of 4 to 7 words, neither rising nor falling, and a threshold below the share of each."""
    words = whole(rng, 4, 7)
    rising = counts(rng, 50, 70, words) + 60 * torch.arange(words)
    return rising.roll(2), 0.05 / words


@keep_probability.stage("formula", points=1)
def test_a_frequent_word_is_kept_with_the_root_of_threshold_over_share(student, rng):
    number, threshold = frequent_words(rng)
    rule = "A word above the threshold should be kept with probability sqrt(t / f), f its count divided by the sum of all."
    large = torch.cat([counts(rng, 50_000, 60_000_000, 6), torch.tensor([3_000_000_000])])
    tiny = torch.tensor([60_000_000, 2, 40])
    for given, t, cause in (
            (number, threshold, rule), (number.double(), threshold / 2, rule), (number[:1], 0.25, rule),
            (torch.tensor([0.5, 1.5, 2.25, 1.75]), 0.03, f"{rule} Counts may be fractions: cut to whole numbers they give other "
                                                         "shares."),
            (large, 1e-5, f"{rule} Here counts and their sum need more than 32 bits."),
            (large.float(), 1e-5, rule),
            (tiny, 1e-8, f"{rule} A share may be as small as one in ten millions, and so may t: a floor or a small number added "
                         "to the share changes the answer.")):
        right = (t * given.double().sum() / given.double()).sqrt().clamp(max=1).float()
        expect(student.keep_probability(given, t), given=f"{len(given)} counts of dtype {given.dtype}, t = {t:.3g}").equals(
            right, cause=cause)


@keep_probability.stage("limit", points=1)
def test_a_rare_word_is_always_kept(student, rng):
    for few in (2, 3):
        number = torch.cat([uniform(rng, 900, 999, 3), uniform(rng, 1, 3, few)])
        keep = expect(student.keep_probability(number, 0.01)).is_tensor(shape=(3 + few,), dtype=torch.float32)
        expect(keep[3:], "The probability of the rare words").equals(
            torch.ones(few), cause="A word below the threshold should be kept with probability exactly 1: never more, "
                                   "never less.")
        expect(bool((keep[:3] < 0.5).all())).is_true(cause="The frequent words should not be kept always.")
    expect(student.keep_probability(torch.tensor([3, 1]), 0.75), given="counts 3 and 1, t = 0.75").equals(
        torch.ones(2), cause="A word whose share is exactly the threshold should be kept always.")
    expect(student.keep_probability(torch.tensor([9]), 1.5), given="one word, t = 1.5").equals(
        torch.ones(1), cause="With a threshold above every share each word should be kept always.")


@keep_probability.stage("unseen", points=1)
def test_a_word_with_count_zero_gets_probability_one(student, rng):
    for dtype in (torch.int64, torch.float32):
        number, threshold = frequent_words(rng)
        place = whole(rng, 1, len(number) - 2)
        number[place] = 0
        keep = expect(student.keep_probability(number.to(dtype), threshold)).is_tensor(
            shape=tuple(number.shape), dtype=torch.float32)
        expect(keep[place], "The probability of a word with count 0").equals(
            torch.tensor(1.0), cause="A word that was never counted has share 0, and t / 0 is infinite: return 1 for it.")
        expect(bool((keep < 0.9).sum() == len(number) - 1)).is_true(
            cause="A word with count 0 should not change what happens to the others.")


writing_a_test = exercise("01.test_keep", function="test_keep", points=4, kind="write-test", see=f"{PAGE}#fewer-the",
                          withhold=SKIPGRAM)


def ask_test(student, kind: str, rng: torch.Generator, cause: str) -> None:
    """Show the student's test the right functions and both wrong ones of a kind."""
    expect_catches(student.test_keep, right=RIGHT, wrong=WRONG[kind], rng=rng, cause=cause, probes=PROBES, mistaken=MISTAKEN)


@writing_a_test.stage("formula", points=1)
def test_a_test_stops_a_wrong_formula(student, rng):
    ask_test(student, "formula", rng, "A wrong formula passes your test: compare a frequent word with a number worked out by "
                                      "hand.")


@writing_a_test.stage("shares", points=1)
def test_a_test_stops_wrong_shares(student, rng):
    ask_test(student, "shares", rng, "Wrong shares pass your test: use counts that do not sum to 1, none of them close to the "
                                     "whole text.")


@writing_a_test.stage("limit", points=1)
def test_a_test_stops_a_wrong_limit(student, rng):
    ask_test(student, "limit", rng, "A wrong limit passes your test: is there a word well below the threshold, and do you ask "
                                    "for exactly 1?")


@writing_a_test.stage("keep-or-drop", points=1)
def test_a_test_stops_confusing_keep_and_drop(student, rng):
    ask_test(student, "keep-or-drop", rng, "A function that drops what it should keep passes your test: ask for the numbers, "
                                           "not only for a range.")


noise_distribution = exercise("01.noise_distribution", function="noise_distribution", points=3,
                              see=f"{PAGE}#which-negatives", withhold=SKIPGRAM)


@noise_distribution.stage("lottery", points=1)
def test_the_noise_sums_to_one_and_never_draws_an_unseen_word(student, rng):
    for drawn in ([900, 400, 200], counts(rng, 200, 900, 1), counts(rng, 200, 900, whole(rng, 3, 7))):
        number = torch.cat([torch.as_tensor(drawn), counts(rng, 9, 90, 1), torch.zeros(1, dtype=torch.int64)])
        noise = expect(student.noise_distribution(number)).is_tensor(shape=tuple(number.shape), dtype=torch.float32)
        expect(noise[-1], "The probability of a word with count 0").equals(
            torch.tensor(0.0), cause="A word with count 0 should never be drawn.")
        expect(noise.sum(), "The sum of the probabilities").close(
            torch.tensor(1.0), atol=1e-5, cause="The probabilities should sum to 1: divide by the sum of the counts "
                                                "*after* they are raised to the power.")
        expect(bool((noise[:-2] > noise[-2] * 1.01).all())).is_true(
            cause="A word with a larger count should be drawn more often.")


def bent(number: torch.Tensor, power: float) -> torch.Tensor:
    """The right shares of the noise."""
    weight = number.double() ** power
    return (weight / weight.sum()).float()


@noise_distribution.stage("three-quarters", points=1)
def test_the_default_power_is_three_quarters(student, rng):
    number = counts(rng, 1, 900, whole(rng, 4, 8))
    rule = "Without a second argument the chance of a word should grow with its count to the power 0.75."
    large = torch.cat([counts(rng, 1, 60_000_000, 8), torch.tensor([5_000_000_000])])
    for given, cause in (
            (number, rule), (number[:1], rule), (number.double()[:3], rule),
            (torch.tensor([0.5, 1.5, 2.25, 1.75, 30.0]), f"{rule} Counts may be fractions: cut to whole numbers they give other "
                                                         "chances."),
            (large, f"{rule} Here counts and their sum need more than 32 bits.")):
        noise = expect(student.noise_distribution(given)).is_tensor(shape=tuple(given.shape), dtype=torch.float32)
        expect(noise / noise.sum(), "Your answer, divided by its sum,").equals(bent(given, 0.75), cause=cause)


@noise_distribution.stage("argument", points=1)
def test_the_power_can_be_chosen(student, rng):
    number = counts(rng, 1, 90, whole(rng, 4, 8))
    for power in (float(uniform(rng, 0.25, 0.5)), 1.0, 2.0):
        noise = expect(student.noise_distribution(number, power)).is_tensor(
            shape=tuple(number.shape), dtype=torch.float32)
        expect(noise / noise.sum(), "Your answer, divided by its sum,", given=f"power {power:.3g}").equals(
            bent(number, power), cause="The counts should be raised to the argument `power`.")
    floats = number.float()
    expect(student.noise_distribution(floats, 1.0), given="float counts and power 1").close(
        bent(floats, 1.0), rtol=1e-5, atol=1e-7, cause="The counts should be raised to the argument `power`, which is 1 here.")


sgns_loss = exercise("01.sgns_loss", function="sgns_loss", points=5, see=f"{PAGE}#one-step-by-hand", withhold=SKIPGRAM)
LOSS = {"rtol": 1e-4, "atol": 1e-4}


def true_loss(center: torch.Tensor, context: torch.Tensor, negatives: torch.Tensor) -> torch.Tensor:
    """The mean loss in float64, by softplus: -log sigmoid(x) = softplus(-x)."""
    center, context, negatives = center.double(), context.double(), negatives.double()
    wrong_pair = torch.einsum("bd,bkd->bk", center, negatives)
    return (softplus(-torch.einsum("bd,bd->b", center, context)) + softplus(wrong_pair).sum(1)).mean()


def ask_loss(student, parts: tuple, cause: str) -> None:
    """Compare the student's loss with the true one."""
    given = "B = {}, K = {}, D = {}".format(*parts[2].shape)
    expect(student.sgns_loss(*parts), "Your loss", given).close(true_loss(*parts).float(), **LOSS, cause=cause)


@sgns_loss.stage("untrained", points=0.5)
def test_zero_vectors_cost_log_two_for_each_score(student, rng):
    for negatives, dim in ((1, 1), (1, whole(rng, 2, 6)), (whole(rng, 3, 7), whole(rng, 2, 6))):
        zeros = torch.zeros(1, dim)
        ask_loss(student, (zeros, zeros, torch.zeros(1, negatives, dim)),
                 "With all vectors zero each of the 1 + K scores costs log 2 = 0.693; inside one pair they are summed.")


@sgns_loss.stage("true-context", points=1)
def test_a_true_context_should_score_high(student, rng):
    for dim in (1, whole(rng, 3, 6)):
        center, nothing = normal(rng, 1, dim) + 0.5, torch.zeros(1, 1, dim)
        for context in (center * 1.5, center * -0.5):
            ask_loss(student, (center, context, nothing), "The true context should cost -log sigmoid(v . u), with this "
                                                          "sign: the higher the score, the lower the loss.")
    parts = torch.tensor([[12 / 7]]), torch.tensor([[-23 / 9]]), torch.zeros(1, 1, 1)     # half precision errs by 0.0004
    ask_loss(student, parts, "The true context should cost -log sigmoid(v . u), to float32's digits.")


@sgns_loss.stage("negatives", points=1)
def test_every_negative_should_score_low(student, rng):
    for number, dim in ((1, 2), (2, 2), (whole(rng, 3, 6), whole(rng, 3, 6))):
        center, nothing = normal(rng, 1, dim) + 0.5, torch.zeros(1, dim)
        center = 2 * center / center.norm()     # scores of 6 at most: the large ones have a stage of their own
        negatives = center * uniform(rng, 0.3, 1.5, 1, number, 1)
        ask_loss(student, (center, nothing, negatives), "Each negative should cost -log sigmoid(-(v . n)): mind the minus "
                                                        "inside, the centre v, and the sum over K.")


def batches(rng: torch.Generator) -> list[tuple]:
    """Batches of several pairs: B equal to K and D, and B, K and D all different."""
    return [(normal(rng, b, d), normal(rng, b, d), normal(rng, b, k, d)) for b, k, d in (
        (2, 2, 2), (whole(rng, 5, 6), whole(rng, 3, 4), whole(rng, 7, 8)), (3, 1, 1))]


@sgns_loss.stage("every-pair", points=0.5, after="true-context", at_most=0.5)
def test_every_pair_of_a_batch_takes_part(student, rng):
    for center, context, negatives in batches(rng):
        nothing = torch.zeros_like(negatives)
        before = expect(student.sgns_loss(center, context, nothing), "Your loss of a batch").is_tensor(
            shape=(), dtype=torch.float32)
        for pair in range(len(center)):
            changed = context.clone()
            changed[pair] = -3 * center[pair] / center[pair].norm() ** 2
            after = expect(student.sgns_loss(center, changed, nothing), "Your loss of a batch").is_tensor(
                shape=(), dtype=torch.float32)
            moved = true_loss(center, changed, nothing) - true_loss(center, context, nothing)
            expect(bool((after - before).abs() > 0.3 * moved.abs())).is_true(
                cause="The loss of a batch of several pairs should change when any one of its pairs does.")


@sgns_loss.stage("batch", points=1, after="true-context")
def test_the_loss_of_a_batch_is_the_mean_of_its_pairs(student, rng):
    for parts in batches(rng):
        losses = [expect(student.sgns_loss(*(part[i:i + 1] for part in parts)), "Your loss of a single pair").is_tensor(
            shape=(), dtype=torch.float32) for i in range(len(parts[0]))]
        expect(bool(torch.stack(losses).abs().min() > 0)).is_true(cause="The loss of a random pair should not be 0.")
        expect(student.sgns_loss(*parts), "Your loss of a batch").close(
            torch.stack(losses).mean(), **LOSS, cause="The loss of a batch should be the mean of the losses of its pairs, "
                                                      "one by one.")


ONE_STEP = ("At scores of a few hundred the loss should be finite. In float32 exp of 89 is infinite, the sigmoid of -104 is 0, and "
            "1 - sigmoid of 17 is 0: take log-sigmoid in one step, by logsigmoid or softplus.")
LIMITED = ("A large score of the wrong sign should cost as much as its size. Yours costs less: an epsilon inside a logarithm, or a "
           "clamp, limits the cost.")
NOT_ZERO = "A large score of the right sign should cost nearly nothing."


@sgns_loss.stage("large-scores", points=1)
def test_large_scores_give_a_large_loss_and_not_infinity(student, rng):
    for score in (20, 95, 300, whole(rng, 150, 400)):
        center = torch.tensor([[1.0, 0.0]])
        for context, negative in ((-score, 0.0), (score, 0.0), (0.0, score), (0.0, -score)):
            parts = center, torch.tensor([[context, 0.0]]), torch.tensor([[[negative, 0.0]]])
            loss = expect(student.sgns_loss(*parts), "Your loss").is_tensor(shape=(), dtype=torch.float32)
            limited = bool(loss < true_loss(*parts) * 0.9999)
            expect(loss, "Your loss").close(true_loss(*parts).float(), **LOSS, cause=ONE_STEP if not loss.isfinite() else
                                            LIMITED if limited else NOT_ZERO)
    center = torch.tensor([[400.0, 400.0]])
    for last in (399.25, 400.75):                # products of 160,000, scores of 300 and -300
        parts = center, torch.tensor([[400.0, -last]]), torch.zeros(1, 1, 2)
        ask_loss(student, parts, "A score of 300 may be the sum of much larger products; half precision ends at 65,504.")


sgns_gradients = exercise("01.sgns_gradients", function="sgns_gradients", points=5,
                          see=f"{PAGE}#one-step-by-hand", withhold=SKIPGRAM)
NAMES = ("d_center", "d_context", "d_negatives")


def true_gradients(*parts: torch.Tensor) -> list[torch.Tensor]:
    """The three gradients of the mean loss, by autograd in float64."""
    leaves = [part.double().requires_grad_() for part in parts]
    return [gradient.float() for gradient in torch.autograd.grad(true_loss(*leaves), leaves)]


def gradients(student, parts: tuple, which: tuple[int, ...] = (0, 1, 2)) -> list[torch.Tensor]:
    """Those of the student's three gradients, after their type and shape were asked for."""
    answers = expect(student.sgns_gradients(*parts)).unpacks(3)
    return [expect(answers[one], f"`{NAMES[one]}`").is_tensor(shape=tuple(parts[one].shape), dtype=torch.float32)
            for one in which]


def ask_gradient(student, which: int, parts: tuple, cause: str) -> None:
    """Compare one of the student's three gradients with autograd's."""
    given = "B = {}, K = {}, D = {}".format(*parts[2].shape)
    expect(*gradients(student, parts, (which,)), f"`{NAMES[which]}`", given).close(
        true_gradients(*parts)[which], rtol=1e-4, atol=1e-5, cause=cause)


def single(rng: torch.Generator, zero: str = "") -> list[tuple]:
    """Batches of one pair: D and K 1, and drawn. zero: which part is all zeros."""
    found = []
    for number, dim in ((1, 1), (1, 3), (whole(rng, 2, 5), whole(rng, 4, 6))):
        parts = {"center": normal(rng, 1, dim) + 0.5, "context": normal(rng, 1, dim) + 0.5,
                 "negatives": normal(rng, 1, number, dim)}
        found.append(tuple(torch.zeros_like(part) if name == zero else part for name, part in parts.items()))
    return found


@sgns_gradients.stage("context", points=1)
def test_the_true_context_is_pulled_towards_the_centre(student, rng):
    for parts in single(rng):
        ask_gradient(student, 1, parts, "The gradient of the context should be (sigmoid(v . u) - 1) times the centre v, as it "
                                 "came: no other factor, no step taken before.")
    for score in (7.0, 12.0, -12.0):
        parts = torch.tensor([[1.0, -0.5]]), torch.tensor([[score, 0.0]]), torch.zeros(1, 1, 2)
        ask_gradient(student, 1, parts, "A score of 7 leaves an error of -0.0009, a score of 12 one of nearly 0, a score of -12 one "
                                        "of nearly -1: scores should not be cut before the sigmoid, and no error set to 0.")


@sgns_gradients.stage("negatives", points=1)
def test_each_negative_is_pushed_away_from_the_centre(student, rng):
    for parts in single(rng):
        ask_gradient(student, 2, parts, "The gradient of each negative should be sigmoid(v . n) times the centre v, "
                                        "without any minus.")
    small = torch.tensor([[1.0, -0.5]]), torch.zeros(1, 2), torch.tensor([[[-7.0, 0.0]]])
    ask_gradient(student, 2, small, "A negative with a score of -7 should still be pushed away a little, by 0.0009 times the centre.")


@sgns_gradients.stage("centre-from-context", points=0.5)
def test_the_centre_is_pulled_towards_its_context(student, rng):
    for parts in single(rng, zero="negatives"):
        ask_gradient(student, 0, parts, "With zero negatives the gradient of the centre should be (sigmoid(v . u) - 1) "
                                        "times the context u.")


@sgns_gradients.stage("centre-from-negatives", points=0.5)
def test_the_centre_is_pushed_away_from_all_its_negatives(student, rng):
    for parts in single(rng, zero="context"):
        ask_gradient(student, 0, parts, "With a zero context the gradient of the centre should be the sum over all "
                                        "negatives of sigmoid(v . n) times n.")


def together_and_alone(student, parts: tuple) -> list[tuple]:
    """For each of the three: the gradient of the batch, and those of its pairs asked one by one."""
    pairs = [tuple(part[i:i + 1] for part in parts) for i in range(len(parts[0]))]
    alone = zip(*(gradients(student, pair) for pair in pairs))
    return list(zip(NAMES, gradients(student, parts), map(torch.cat, alone)))


def direction(rows: torch.Tensor) -> torch.Tensor:
    """Each pair's gradient divided by its own length."""
    flat = rows.flatten(1)
    return flat / flat.norm(dim=1, keepdim=True).clamp(min=1e-12)


@sgns_gradients.stage("every-pair", points=0.5, after="context", at_most=0.5)
def test_every_pair_of_a_batch_gets_its_own_gradient(student, rng):
    for parts in batches(rng):
        for name, together, alone in together_and_alone(student, parts):
            expect(bool((together.flatten(1).norm(dim=1) > 0).all())).is_true(
                cause=f"In a batch of several pairs no row of `{name}` should be all 0.")
            expect(direction(together), f"The direction of each row of `{name}`").close(
                direction(alone), rtol=1e-3, atol=1e-3,
                cause=f"In a batch, row b of `{name}` should come from pair b alone.")


@sgns_gradients.stage("batch", points=1, after="context")
def test_the_gradients_of_a_mean_are_divided_by_the_batch(student, rng):
    for parts in batches(rng):
        for name, together, alone in together_and_alone(student, parts):
            expect(bool(alone.abs().sum() > 0)).is_true(cause=f"`{name}` of random vectors should not be all 0.")
            expect(together, f"`{name}`").close(
                alone / len(alone), rtol=1e-4, atol=1e-6,
                cause="The loss is a mean over the pairs of the batch, so every gradient should be that of the pair alone "
                      "divided by their number.")


@sgns_gradients.stage("large-scores", points=0.5)
def test_large_scores_give_finite_gradients(student, rng):
    for score in (95, 300, whole(rng, 150, 400)):
        center = torch.tensor([[1.0, 0.5]])
        for context, negative in ((-score, score), (score, -score)):
            parts = center, torch.tensor([[float(context), 0.0]]), torch.tensor([[[float(negative), 0.0]]])
            for which in range(3):
                ask_gradient(student, which, parts, "At scores of a few hundred the gradients should be finite and right: "
                                                    "exp of such a number is infinite in float32, torch.sigmoid of it is 0 "
                                                    "or 1, and its logarithm must not be needed.")


cbow_scores = exercise("01.cbow_scores", function="cbow_scores", also=["wrong_line"], points=3, kind="find-line",
                       see=f"{PAGE}#cbow-the-other-direction", withhold=["reference_impl.embeddings.cbow"])


@cbow_scores.stage("line", points=1)
def test_the_wrong_line_is_named(student):
    line = expect(student.wrong_line()).is_a(int)
    expect(line == 5).is_true(                         # without the number in the message
        cause="That line does what the statement says. Follow the row [1, -1] through the code, line by line.")


def ask_cbow(student, rng: torch.Generator, rows: list[list[int]], slots: int, words: int, cause: str,
             zero: int | None = None, front: bool = False) -> None:
    """Compare the scores of `rows` of word numbers, filled with -1 to `slots`.

    zero: a word whose vector is all zeros. front: one -1 of the first row comes first.
    """
    dim = whole(rng, 2, 5)
    inward, outward = normal(rng, words, dim), normal(rng, words, dim)
    if zero is not None:
        inward[zero] = 0.0
    padded = torch.tensor([row + [-1] * (slots - len(row)) for row in rows])
    if front:
        padded[0] = padded[0].roll(1)
    right = torch.stack([inward[row].mean(0) for row in rows]) @ outward.T
    expect(student.cbow_scores(inward, outward, padded), given=f"contexts {padded.tolist()}").close(
        right, rtol=1e-4, atol=1e-5, cause=cause)


@cbow_scores.stage("repaired", points=2)
def test_only_the_words_that_are_there_are_averaged(student, rng):
    words, slots = whole(rng, 6, 9), whole(rng, 4, 5)

    def ask(rows: list[list[int]], cause: str, **more: object) -> None:
        ask_cbow(student, rng, rows, slots, words, cause, **more)
    full = [[1 + one for one in distinct(rng, slots, words - 1)] for _ in range(2)]
    for rows in (full, full[:1]):
        ask(rows, "Rows without an empty slot came out right before the repair, and should still: the average of all slots, "
                  "compared with the output vectors by a dot product.")
    ask([[0, *full[0][1:]]], "Word 0 is a word like any other; only -1 is an empty slot.")
    pair, one = full[0][:2], full[1][:1]
    rule = "The average should be over the words that are there: their sum divided by their number"
    for rows in ([pair], [one], [[0]]):
        ask(rows, f"{rule}.")
    ask([pair], f"{rule}. Empty slots may come first.", front=True)
    ask([one, [*pair, 0], pair, [0, 0]], f"{rule}, row by row: each row has its own number.")
    ask([[words - 1, words - 1, 0], [words - 1]], f"{rule}. A word that stands twice counts twice.", front=True)
    ask([[1, 2], [1]], "A word whose vector is all zeros is there all the same, and counts.", zero=1)
    ask_cbow(student, rng, [[words - 1]], 1, words, "A context may have one slot only.")
