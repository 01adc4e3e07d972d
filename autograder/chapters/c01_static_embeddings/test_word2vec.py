"""Checks of chapter 1, part 2: subsampling, a test for it, the noise, the skip-gram loss and gradient, CBOW."""
import torch
from torch.nn.functional import softplus

from autograder.chapters.c01_static_embeddings.keep_candidates import RIGHT, WRONG
from autograder.checks.draws import counts, distinct, normal, uniform, whole
from autograder.checks.protocol import exercise, expect, expect_catches

PAGE = "01-static-embeddings/word2vec"
SKIPGRAM = ["reference_impl.embeddings.skipgram"]

keep_probability = exercise("01.keep_probability", function="keep_probability", points=3, see=f"{PAGE}#fewer-the",
                            withhold=SKIPGRAM)


def frequent_words(rng: torch.Generator) -> tuple[torch.Tensor, float]:
    """Counts of 4 to 7 words, and a threshold below the share of each."""
    words = whole(rng, 4, 7)
    return counts(rng, 50, 500, words), 0.05 / words


@keep_probability.stage("formula", points=1)
def test_a_frequent_word_is_kept_with_the_root_of_threshold_over_share(student, rng):
    number, threshold = frequent_words(rng)
    right = (threshold * number.sum() / number.double()).sqrt().float()
    expect(student.keep_probability(number, threshold)).equals(
        right, cause="A word above the threshold should be kept with probability sqrt(t / f), f its count divided by "
                     "the sum of all.")


@keep_probability.stage("limit", points=1)
def test_a_rare_word_is_always_kept(student, rng):
    number = torch.cat([uniform(rng, 900, 999, 3), uniform(rng, 1, 3, 3)])
    keep = student.keep_probability(number, 0.01)
    expect(keep).is_tensor(shape=(6,), dtype=torch.float32)
    expect(keep[3:], "The probability of the rare words").equals(
        torch.ones(3), cause="A word below the threshold should be kept with probability exactly 1: never more, never "
                             "less.")
    expect(bool((keep[:3] < 0.5).all())).is_true(cause="The frequent words should not be kept always.")


@keep_probability.stage("unseen", points=1)
def test_a_word_with_count_zero_gets_probability_one(student, rng):
    number, threshold = frequent_words(rng)
    place = whole(rng, 0, len(number) - 1)
    number[place] = 0
    keep = student.keep_probability(number, threshold)
    expect(keep).is_tensor(shape=tuple(number.shape), dtype=torch.float32)
    expect(keep[place], "The probability of a word with count 0").equals(
        torch.tensor(1.0), cause="A word that was never counted has share 0, and t / 0 is infinite: return 1 for it.")
    expect(bool((keep < 0.9).sum() == len(number) - 1)).is_true(
        cause="A word with count 0 should not change what happens to the others.")


writing_a_test = exercise("01.test_keep", function="test_keep", points=4, kind="write-test", see=f"{PAGE}#fewer-the",
                          withhold=SKIPGRAM)


@writing_a_test.stage("formula", points=1)
def test_a_test_stops_a_wrong_formula(student, rng):
    expect_catches(student.test_keep, right=RIGHT, wrong=WRONG["formula"], rng=rng,
                   cause="A wrong formula passes your test: compare a frequent word with a number worked out by hand.")


@writing_a_test.stage("shares", points=1)
def test_a_test_stops_wrong_shares(student, rng):
    expect_catches(student.test_keep, right=RIGHT, wrong=WRONG["shares"], rng=rng,
                   cause="Wrong shares pass your test: use counts that do not sum to 1, none of them close to the "
                         "whole text.")


@writing_a_test.stage("limit", points=1)
def test_a_test_stops_a_wrong_limit(student, rng):
    expect_catches(student.test_keep, right=RIGHT, wrong=WRONG["limit"], rng=rng,
                   cause="A wrong limit passes your test: is there a word well below the threshold, and do you ask "
                         "for exactly 1?")


@writing_a_test.stage("keep-or-drop", points=1)
def test_a_test_stops_confusing_keep_and_drop(student, rng):
    expect_catches(student.test_keep, right=RIGHT, wrong=WRONG["keep-or-drop"], rng=rng,
                   cause="A function that drops what it should keep passes your test: ask for the numbers, not only "
                         "for a range.")


noise_distribution = exercise("01.noise_distribution", function="noise_distribution", points=3,
                              see=f"{PAGE}#which-negatives", withhold=SKIPGRAM)


@noise_distribution.stage("lottery", points=1)
def test_the_noise_sums_to_one_and_never_draws_an_unseen_word(student, rng):
    number = torch.cat([counts(rng, 200, 900, whole(rng, 3, 7)), torch.zeros(1, dtype=torch.int64)])
    noise = student.noise_distribution(number)
    expect(noise).is_tensor(shape=tuple(number.shape), dtype=torch.float32)
    expect(noise.sum(), "The sum of the probabilities").close(
        torch.tensor(1.0), atol=1e-5, cause="The probabilities should sum to 1: divide by the sum of the counts "
                                            "*after* they are raised to the power.")
    expect(noise[-1], "The probability of a word with count 0").equals(
        torch.tensor(0.0), cause="A word with count 0 should never be drawn.")


def bent(number: torch.Tensor, power: float) -> torch.Tensor:
    """The right shares of the noise."""
    weight = number.double() ** power
    return (weight / weight.sum()).float()


@noise_distribution.stage("three-quarters", points=1)
def test_the_default_power_is_three_quarters(student, rng):
    number = uniform(rng, 1, 900, whole(rng, 4, 8))
    noise = student.noise_distribution(number)
    expect(noise).is_tensor(shape=tuple(number.shape), dtype=torch.float32)
    expect(noise / noise.sum(), "Your answer, divided by its sum,").equals(
        bent(number, 0.75), cause="Without a second argument the chance of a word should grow with its count to the "
                                  "power 0.75.")


@noise_distribution.stage("argument", points=1)
def test_the_power_can_be_chosen(student, rng):
    number = counts(rng, 1, 90, whole(rng, 4, 8))
    for power in (float(uniform(rng, 0.25, 0.5)), 1.0):
        noise = student.noise_distribution(number, power)
        expect(noise).is_tensor(shape=tuple(number.shape), dtype=torch.float32)
        expect(noise / noise.sum(), "Your answer, divided by its sum,").equals(
            bent(number, power), cause=f"The counts should be raised to the argument `power`, here {power:.3g}.")


sgns_loss = exercise("01.sgns_loss", function="sgns_loss", points=5, see=f"{PAGE}#one-step-by-hand", withhold=SKIPGRAM)
LOSS = {"rtol": 1e-4, "atol": 1e-4}


def true_loss(center: torch.Tensor, context: torch.Tensor, negatives: torch.Tensor) -> torch.Tensor:
    """The mean loss in float64, by softplus: -log sigmoid(x) = softplus(-x)."""
    center, context, negatives = center.double(), context.double(), negatives.double()
    wrong_pair = torch.einsum("bd,bkd->bk", center, negatives)
    return (softplus(-torch.einsum("bd,bd->b", center, context)) + softplus(wrong_pair).sum(1)).mean()


@sgns_loss.stage("untrained", points=1)
def test_zero_vectors_cost_log_two_for_each_score(student, rng):
    dim = whole(rng, 2, 6)
    for negatives in (1, whole(rng, 3, 7)):
        zeros = torch.zeros(1, dim)
        expect(student.sgns_loss(zeros, zeros, torch.zeros(1, negatives, dim)), "Your loss").close(
            torch.tensor(0.6931472 * (1 + negatives)), **LOSS,
            cause=f"With all vectors zero each of the 1 + {negatives} scores costs log 2 = 0.693; inside one pair "
                  f"they are summed.")


@sgns_loss.stage("true-context", points=1)
def test_a_true_context_should_score_high(student, rng):
    dim = whole(rng, 3, 6)
    center, nothing = normal(rng, 1, dim), torch.zeros(1, 1, dim)
    for context in (center * 1.5, center * -0.5):
        expect(student.sgns_loss(center, context, nothing), "Your loss").close(
            true_loss(center, context, nothing).float(), **LOSS,
            cause="The true context should cost -log sigmoid(v . u), with this sign: the higher the score, the lower "
                  "the loss.")


@sgns_loss.stage("negatives", points=1)
def test_every_negative_should_score_low(student, rng):
    dim, number = whole(rng, 3, 6), whole(rng, 2, 6)
    center, nothing = normal(rng, 1, dim), torch.zeros(1, dim)
    negatives = center * uniform(rng, 0.3, 1.5, 1, number, 1)
    expect(student.sgns_loss(center, nothing, negatives), "Your loss").close(
        true_loss(center, nothing, negatives).float(), **LOSS,
        cause="Each negative should cost -log sigmoid(-(v . n)): mind the minus inside, the centre v, and the sum "
              "over K.")


@sgns_loss.stage("batch", points=1)
def test_the_loss_of_a_batch_is_the_mean_of_its_pairs(student, rng):
    batch, number, dim = whole(rng, 3, 6), whole(rng, 1, 3), whole(rng, 2, 5)
    parts = normal(rng, batch, dim), normal(rng, batch, dim), normal(rng, batch, number, dim)
    losses = [student.sgns_loss(*(part[i:i + 1] for part in parts)) for i in range(batch)]
    for one in losses:
        expect(one, "Your loss of a single pair").is_tensor(shape=(), dtype=torch.float32)
    expect(bool(torch.stack(losses).abs().min() > 0)).is_true(cause="The loss of a random pair should not be 0.")
    expect(student.sgns_loss(*parts), "Your loss of a batch").close(
        torch.stack(losses).mean(), **LOSS, cause="The loss of a batch should be the mean of the losses of its pairs, "
                                                  "one by one.")


@sgns_loss.stage("large-scores", points=1)
def test_large_scores_give_a_large_loss_and_not_infinity(student, rng):
    score = whole(rng, 200, 400)
    center = torch.tensor([[1.0, 0.0]])
    for context, negative in ((-score, 0.0), (score, 0.0), (0.0, score), (0.0, -score)):
        context, negative = torch.tensor([[context, 0.0]]), torch.tensor([[[negative, 0.0]]])
        expect(student.sgns_loss(center, context, negative), "Your loss").close(
            true_loss(center, context, negative).float(), **LOSS,
            cause=f"A score of {score} should cost about {score}, or nothing, depending on its sign. "
                  "In float32 the sigmoid of such a score is exactly 0 or 1: take log-sigmoid in one step.")


sgns_gradients = exercise("01.sgns_gradients", function="sgns_gradients", points=5,
                          see=f"{PAGE}#one-step-by-hand", withhold=SKIPGRAM)
NAMES = ("d_center", "d_context", "d_negatives")


def true_gradients(*parts: torch.Tensor) -> list[torch.Tensor]:
    """The three gradients of the mean loss, by autograd in float64."""
    leaves = [part.double().requires_grad_() for part in parts]
    return [gradient.float() for gradient in torch.autograd.grad(true_loss(*leaves), leaves)]


def gradient(student, which: int, parts: tuple) -> torch.Tensor:
    """One of the student's three gradients, after its type and shape were asked for."""
    answers = expect(student.sgns_gradients(*parts)).unpacks(3)
    return expect(answers[which], f"`{NAMES[which]}`").is_tensor(shape=tuple(parts[which].shape), dtype=torch.float32)


@sgns_gradients.stage("context", points=1)
def test_the_true_context_is_pulled_towards_the_centre(student, rng):
    dim = whole(rng, 3, 6)
    parts = normal(rng, 1, dim), normal(rng, 1, dim), normal(rng, 1, 2, dim)
    expect(gradient(student, 1, parts), "`d_context`").close(
        true_gradients(*parts)[1], rtol=1e-4, atol=1e-5,
        cause="The gradient of the context should be (sigmoid(v . u) - 1) times the centre v.")


@sgns_gradients.stage("negatives", points=1)
def test_each_negative_is_pushed_away_from_the_centre(student, rng):
    dim, number = whole(rng, 3, 6), whole(rng, 2, 5)
    parts = normal(rng, 1, dim), normal(rng, 1, dim), normal(rng, 1, number, dim)
    expect(gradient(student, 2, parts), "`d_negatives`").close(
        true_gradients(*parts)[2], rtol=1e-4, atol=1e-5,
        cause="The gradient of each negative should be sigmoid(v . n) times the centre v, without any minus.")


@sgns_gradients.stage("centre-from-context", points=1)
def test_the_centre_is_pulled_towards_its_context(student, rng):
    dim = whole(rng, 3, 6)
    parts = normal(rng, 1, dim), normal(rng, 1, dim), torch.zeros(1, 3, dim)
    expect(gradient(student, 0, parts), "`d_center`").close(
        true_gradients(*parts)[0], rtol=1e-4, atol=1e-5,
        cause="With zero negatives the gradient of the centre should be (sigmoid(v . u) - 1) times the context u.")


@sgns_gradients.stage("centre-from-negatives", points=1)
def test_the_centre_is_pushed_away_from_all_its_negatives(student, rng):
    dim, number = whole(rng, 3, 6), whole(rng, 2, 5)
    parts = normal(rng, 1, dim), torch.zeros(1, dim), normal(rng, 1, number, dim)
    expect(gradient(student, 0, parts), "`d_center`").close(
        true_gradients(*parts)[0], rtol=1e-4, atol=1e-5,
        cause="With a zero context the gradient of the centre should be the sum over all negatives of sigmoid(v . n) "
              "times n.")


@sgns_gradients.stage("batch", points=1)
def test_the_gradients_of_a_mean_are_divided_by_the_batch(student, rng):
    batch, number, dim = whole(rng, 3, 5), whole(rng, 1, 3), whole(rng, 2, 5)
    parts = normal(rng, batch, dim), normal(rng, batch, dim), normal(rng, batch, number, dim)
    returned = student.call("sgns_gradients", *parts)
    together = expect(returned.value).unpacks(3)
    alone = [expect(student.sgns_gradients(*(part[i:i + 1] for part in parts))).unpacks(3) for i in range(batch)]
    for which, part in enumerate(parts):
        ones = [expect(one[which], f"`{NAMES[which]}`").is_tensor(shape=(1, *part.shape[1:]), dtype=torch.float32)
                for one in alone]
        expect(bool(torch.cat(ones).abs().sum() > 0)).is_true(cause=f"`{NAMES[which]}` of random vectors should not "
                                                                    f"be all 0.")
        expect(together[which], f"`{NAMES[which]}`").close(
            torch.cat(ones) / batch, rtol=1e-4, atol=1e-6,
            cause=f"The loss is a mean, so with {batch} pairs every gradient should be that of the pair alone divided "
                  f"by {batch}.")
        expect(returned.args[which], "An input after the call").equals(
            part, cause="Your function changed its inputs. It should only return the gradients; the step comes later.")


cbow_scores = exercise("01.cbow_scores", function="cbow_scores", also=["wrong_line"], points=3, kind="find-line",
                       see=f"{PAGE}#cbow-the-other-direction", withhold=["reference_impl.embeddings.cbow"])


@cbow_scores.stage("line", points=1)
def test_the_wrong_line_is_named(student):
    line = expect(student.wrong_line()).is_a(int)
    expect(line == 5).is_true(                         # without the number in the message
        cause="That line does what the statement says. Follow the row [1, -1] through the code, line by line.")


@cbow_scores.stage("repaired", points=2)
def test_only_the_words_that_are_there_are_averaged(student, rng):
    words, dim, slots = whole(rng, 6, 9), whole(rng, 2, 5), whole(rng, 4, 6)
    inward, outward = normal(rng, words, dim), normal(rng, words, dim)
    full = [distinct(rng, slots, words) for _ in range(2)]
    right = torch.stack([inward[row].mean(0) for row in full]) @ outward.T
    expect(student.cbow_scores(inward, outward, torch.tensor(full))).close(
        right, rtol=1e-4, atol=1e-5, cause="Rows without an empty slot came out right before the repair, and should "
                                           "still.")
    rows = [distinct(rng, number, words) for number in (slots - 1, 2, 1)] + [[0, 0]]    # word 0 is a word, even twice
    padded = torch.tensor([row + [-1] * (slots - len(row)) for row in rows])
    padded[0] = padded[0].roll(1)                                                       # an empty slot may come first
    right = torch.stack([inward[row].mean(0) for row in rows]) @ outward.T
    expect(student.cbow_scores(inward, outward, padded)).close(
        right, rtol=1e-4, atol=1e-5,
        cause="The average should be over the words that are there: their sum divided by their number, row by row.")
