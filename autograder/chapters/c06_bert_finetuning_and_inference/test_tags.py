"""Checks of chapter 6, part 3: labels for pieces of words, entities and their F1."""

from autograder.chapters.c06_bert_finetuning_and_inference.asking import ask_length, ask_number
from autograder.chapters.c06_bert_finetuning_and_inference.withholding import BOOK, LIBRARIES, OURS
from autograder.checks.assertions.values import same
from autograder.checks.inputs.draws import counts, look_alikes, one_changed, whole
from autograder.checks.protocol import StudentError, exercise, expect

align_tags = exercise(
    "06.align_tags",
    function="align_tags",
    points=5,
    see=f"{BOOK}/entities",
    withhold=OURS | LIBRARIES,
)


def aligned(word_ids: list, tags: list[int]) -> list[int]:
    """The right labels, by where each word is met first."""
    first = {}
    for place, word in enumerate(word_ids):
        if word is not None:
            first.setdefault(word, place)
    return [
        tags[word] if word is not None and first[word] == place else -100
        for place, word in enumerate(word_ids)
    ]


def ask_align(student, cause: str, word_ids: list, tags: list[int]) -> None:
    """Compare the labels."""
    given = f"{len(word_ids)} tokens, {len(tags)} tags"
    expect(student.align_tags(word_ids, tags), "Your list of labels", given).equals(
        aligned(word_ids, tags), cause=cause
    )


def tags_for(rng, number: int) -> list[int]:
    """A tag for each of so many words, 0 to 8."""
    return counts(rng, 0, 8, number).tolist()


def pieces(rng, words: int, most: int, missing: bool = False) -> list[int]:
    """The word ids of so many words, of 1 to `most` pieces each; of 0 to `most`, if some may be
    missing.
    """
    return [
        word
        for word, number in enumerate(counts(rng, 0 if missing else 1, most, words).tolist())
        for _ in range(number)
    ]


@align_tags.stage("first-piece", points=1.5)
def test_words_of_one_piece_have_their_tags(student, rng):
    rule = (
        "Every word has one piece here: its label is the word's tag, and that of `[CLS]` and"
        " `[SEP]` at the ends is -100."
    )
    for words in (1, 2, 3, 7, whole(rng, 4, 20), 130, 298):
        ask_align(student, rule, [None, *range(words), None], tags_for(rng, words))
    ask_align(
        student,
        f"{rule} Neighbours with the same tag are two words.",
        [None, 0, 1, 2, 3, None],
        [4, 4, 0, 0],
    )
    ask_align(student, f"{rule} Word 0 is a word, and tag 0 a tag.", [None, 0, 1, None], [0, 5])
    for case in [
        *one_changed(
            ([None, 0, 1, 2, 3, None], [3, 1, 0, 2]), ([None, 0, 1, 2, None, None], [2, 5, 4, 1])
        ),
        ([None, 0, 1, 2, 3, None], [3, 0, 1, 2]),
    ]:
        ask_align(student, rule, *case)


@align_tags.stage("later-pieces", points=1.5)
def test_later_pieces_are_left_out(student, rng):
    rule = "A word may have several pieces: its tag stands at the first, and -100 at all others."
    ask_align(student, f"{rule} This is the case by hand.", [None, 0, 0, 1, 1, 2, None], [1, 2, 0])
    for words, most in ((1, 4), (2, 3), (3, 2), (5, 4), (whole(rng, 6, 20), 3), (90, 3), (2, 140)):
        ask_align(student, rule, [None, *pieces(rng, words, most), None], tags_for(rng, words))
    ask_align(
        student,
        f"{rule} A word of three pieces has one tag and two times -100.",
        [None, 0, 0, 0, 1, 2, 2, None],
        [7, 0, 3],
    )
    ask_align(
        student,
        f"{rule} Neighbours may have the same tag.",
        [None, 0, 0, 1, 1, 1, 2, None],
        [2, 2, 2],
    )


@align_tags.stage("added", points=1)
def test_added_tokens_may_stand_anywhere(student, rng):
    rule = "Added tokens have -100 wherever they stand, and the list has an entry for each token."
    for word_ids, words in (
        ([0, 1, 1, 2], 3),
        ([None, None, 0, 0, 1], 2),
        ([0, None, None, None], 1),
        ([None, 0, 0, None, 1, None, 2, 2, None, None], 3),
        ([None, 0, None, 1, 1, None], 2),
    ):
        ask_align(student, rule, word_ids, tags_for(rng, words))
        ask_align(student, rule, word_ids, list(range(1, words + 1)))
    ask_align(student, rule, [None, None, 0, 1, 2, 2, None, 3], [5, 5, 0, 0])
    for front, behind in ((0, 0), (0, 5), (40, 0), (3, 100)):
        ask_align(
            student, rule, [None] * front + pieces(rng, 6, 3) + [None] * behind, tags_for(rng, 6)
        )


@align_tags.stage("cut", points=1)
def test_words_may_be_cut_off_or_missing(student, rng):
    rule = (
        "The tag of a word is the one with its number: numbers may be missing, and tags at the end"
        " may belong to words that were cut off."
    )
    for word_ids, words in (
        ([None, 0, 0, 1, None], 6),
        ([None, 0, 2, 2, 3, None], 4),
        ([None, 3, 3, None], 9),
        ([2], 3),
        ([None, 1, 1, 5, 7, 7, None], 8),
        ([None, 0, 0, 1], 4),
        ([0, 1], 5),
    ):
        ask_align(student, rule, word_ids, list(range(1, words + 1)))
        ask_align(student, rule, word_ids, tags_for(rng, words))
    ask_align(
        student,
        f"{rule} Equal numbers are one word.",
        [None, 298, int("298"), 299, int("299"), None],
        tags_for(rng, 300),
    )
    ask_align(
        student, rule, [None, 0, 150, 150, 299], [3] * 150 + [16_777_217] * 149 + [999_999_999]
    )
    for _ in range(3):
        ask_align(
            student,
            rule,
            [None, *pieces(rng, 12, 3, missing=True), None],
            tags_for(rng, 12 + whole(rng, 0, 9)),
        )
    empty = "There may be nothing but added tokens, and no token at all."
    for word_ids in ([None], [None, None, None], []):
        for words in (0, 3):
            ask_align(student, empty, word_ids, tags_for(rng, words))


entity_f1 = exercise(
    "06.entity_f1",
    function="entity_f1",
    also=["entities"],
    points=10,
    see=f"{BOOK}/entities",
    withhold=OURS | LIBRARIES,
)
Spans = list[tuple[str, int, int]]


def spans(tags: list[str]) -> Spans:
    """The right entities: where each begins, and from there how far it goes."""
    begins = [
        tag != "O" and (tag[0] == "B" or place == 0 or tags[place - 1][2:] != tag[2:])
        for place, tag in enumerate(tags)
    ]
    found = []
    for place in [place for place, begin in enumerate(begins) if begin]:
        end = place + 1
        while end < len(tags) and tags[end] != "O" and not begins[end]:
            end += 1
        found.append((tags[place][2:], place, end))
    return found


def ask_entities(student, cause: str, tags: list[str]) -> None:
    """Compare the entities of one sentence."""
    given = " ".join(tags) if len(tags) <= 12 else f"{len(tags)} tags"
    came = expect(student.entities(tags), "Your list of entities", given).is_a(list)
    ask_length(came, spans(tags), f"There are too many entities, or too few. {cause}", given)
    expect(came, "Your list of entities", given).equals(spans(tags), cause=cause)


def reads(student, *sentences: list[str]) -> bool:
    """Whether the student's own entities of all these are right.

    What a stage asks after that costs nobody points for a rule of another stage.
    """
    try:
        return all(same(student.entities(tags), spans(tags)) for tags in sentences)
    except StudentError:
        return False


BEHIND, OTHER, FIRST = (
    ["B-X", "B-X", "O"],
    ["B-X", "I-Y", "O"],
    ["O", "I-X", "O"],
)  # one rule each, by itself


def tagged(*runs: tuple[str, int]) -> list[str]:
    """Tags from runs: ("PER", 2) is an entity, ("O", 3) are words between."""
    return [
        tag
        for kind, number in runs
        for tag in (["O"] * number if kind == "O" else [f"B-{kind}"] + [f"I-{kind}"] * (number - 1))
    ]


def drawn_runs(rng, number: int, kinds: tuple[str, ...] = ("PER", "LOC", "ORG")) -> list[str]:
    """As people tag: entities of 1 to 4 words with 1 to 3 words between."""
    return tagged(
        *(
            run
            for kind, size, gap in zip(
                *(
                    counts(rng, low, high, number).tolist()
                    for low, high in ((0, len(kinds) - 1), (1, 4), (1, 3))
                )
            )
            for run in (("O", gap), (kinds[kind], size))
        ),
        ("O", 2),
    )


def drawn_tags(rng, number: int, kinds: tuple[str, ...] = ("PER", "LOC")) -> list[str]:
    """As models tag: anything may follow anything."""
    every = ["O", *(f"{mark}-{kind}" for kind in kinds for mark in "BI")]
    return [every[one] for one in counts(rng, 0, len(every) - 1, number).tolist()]


@entity_f1.stage("one", points=1)
def test_an_entity_between_other_words(student, rng):
    rule = (
        "Entities stand apart here: kind, the number of the first word, and that of the word after"
        " the last. The kind is what follows `B-`."
    )
    ask_entities(
        student,
        f"{rule} This is the case by hand.",
        tagged(("O", 2), ("ORG", 2), ("O", 6), ("PER", 3), ("O", 7)),
    )
    for runs in (
        [("O", 1), ("PER", 1), ("O", 1)],
        [("PER", 1), ("O", 3)],
        [("LOC", 4), ("O", 1)],
        [("O", 3), ("X", 2), ("O", 2), ("X", 2), ("O", 1)],
        [("O", 2), ("ORG", 150), ("O", 100)],
    ):
        ask_entities(student, rule, tagged(*runs))
    for number in (2, 5, whole(rng, 6, 12), 40):
        ask_entities(student, rule, drawn_runs(rng, number))
    for case in look_alikes(
        (tagged(("O", 1), ("PER", 1), ("O", 1), ("LOC", 1), ("O", 1), ("PER", 1), ("O", 1)),)
    ):
        ask_entities(student, rule, *case)


@entity_f1.stage("neighbours", points=1)
def test_a_b_begins_another_entity(student, rng):
    rule = "`B-X` begins an entity always, also right behind one of the same kind."
    for runs in (
        [("PER", 1), ("PER", 1), ("O", 1)],
        [("O", 1), ("PER", 2), ("PER", 3), ("O", 1)],
        [("PER", 2), ("LOC", 1), ("LOC", 2), ("PER", 1), ("O", 1)],
        [("LOC", 1)] * 4 + [("O", 1)],
        [("LOC", 1)] * 200 + [("O", 1)],
        [("BIB", 2), ("BIB", 1), ("O", 1)],
    ):
        ask_entities(student, rule, tagged(*runs))


@entity_f1.stage("kind-changes", points=1)
def test_an_i_of_another_kind_begins_an_entity(student):
    rule = (
        "`I-X` continues an entity of the type X only. After one of another type it begins its"
        " own, and the kind is all that follows `I-`, dashes included."
    )
    for tags in (
        ["B-PER", "I-LOC", "O"],
        ["O", "B-PER", "I-PER", "I-LOC", "I-LOC", "I-PER", "O"],
        ["B-ORG", "I-ORG-GOV", "O"],
        ["B-ORG-GOV", "I-ORG-GOV", "I-ORG", "O"],
        ["B-A-B", "I-A-C", "O"],
        ["B-PER", "I-per", "O"],
        ["B-PE", "I-PER", "I-PE", "O"],
        ["B-I", "I-B", "I-I", "O"],
        ["B-BIB", "I-BIB", "O"],
        ["B-X-B-Y", "I-X-Y", "O"],
        ["B-X-I-Y", "I-X-I-Y", "I-X-Y", "O"],
        ["B-O", "I-O", "O"],
    ):
        ask_entities(student, rule, tags)


@entity_f1.stage("i-first", points=1)
def test_an_i_after_o_begins_an_entity(student, rng):
    rule = (
        "`I-X` begins an entity after `O` and at the start of the sentence: no person tags so, but"
        " models do, and it counts."
    )
    for tags in (
        ["O", "I-PER", "O"],
        ["I-PER", "O"],
        ["I-PER", "I-PER", "O", "I-LOC", "I-LOC", "O"],
        ["B-PER", "O", "I-PER", "O"],
        ["B-PER", "I-PER", "O", "I-PER", "I-PER", "O"],
    ):
        ask_entities(student, rule, tags)
    for number in (2, whole(rng, 5, 12), 60):
        ask_entities(student, rule, [tag.replace("B-", "I-") for tag in drawn_runs(rng, number)])
    if reads(student, BEHIND, OTHER):
        together = f"{rule} Any tag may follow any other."
        ask_entities(student, together, ["I-LOC", "B-LOC", "I-LOC", "O"])
        for number in (5, 9, whole(rng, 10, 30), 299):
            ask_entities(student, together, [*drawn_tags(rng, number), "O"])


@entity_f1.stage("end", points=1)
def test_an_entity_may_end_with_the_sentence(student, rng):
    rule = (
        "An entity that is open at the end of the sentence is one as well; a sentence may be all"
        " entity, all `O`, or empty."
    )
    for tags in (
        ["B-PER"],
        ["B-PER", "I-PER"],
        ["O", "O", "B-LOC"],
        ["O", "B-LOC", "I-LOC"],
        ["O"],
        ["O", "O", "O"],
        [],
    ):
        ask_entities(student, rule, tags)
    for number in (1, 3, 50):
        ask_entities(student, rule, [*drawn_runs(rng, number), "B-PER", "I-PER"])
    if reads(student, BEHIND, OTHER, FIRST):
        for tags in (["I-PER"], ["B-LOC", "B-LOC"], ["B-PER", "I-LOC"]):
            ask_entities(student, rule, tags)
        for number in (3, 8, 300):
            ask_entities(student, rule, [*drawn_tags(rng, number - 1), "I-PER"])


def measured(said: list[list[str]], true: list[list[str]]) -> dict[str, float]:
    """The right numbers, from three counts."""
    right = sum(one in spans(other) for tags, other in zip(said, true) for one in spans(tags))
    found, real = (sum(len(spans(tags)) for tags in sentences) for sentences in (said, true))
    return {
        "precision": right / found if found else 0.0,
        "recall": right / real if real else 0.0,
        "f1": 2 * right / (found + real) if found + real else 0.0,
    }


def counted(student, *cases: tuple[list[str], list[str]]) -> bool:
    """Whether `entity_f1` is right for these, one sentence each: what is asked after that costs
    nobody points for a rule that `entities` forgets.

    `entities` itself is not asked: a stage is about one function, or known mistakes of the other
    would not be told.
    """
    try:
        return all(
            same(student.entity_f1([said], [true]), measured([said], [true]))
            for said, true in cases
        )
    except StudentError:
        return False


# What is said and what is true: who reads them by all rules of `entities` counts right, who forgets
# one does not.
READ = (
    (BEHIND, ["B-X", "O", "O"]),
    (OTHER, ["B-X", "B-Y", "O"]),
    (FIRST, ["O", "B-X", "O"]),
    (["I-X", "O"], ["B-X", "O"]),
    (["O", "B-X"], ["O", "B-X"]),
)


def ask_f1(student, cause: str, said: list[list[str]], true: list[list[str]]) -> None:
    """Compare the three numbers."""
    given = (
        f"{len(said)} sentences, {sum(len(spans(tags)) for tags in said)} entities said,"
        f" {sum(len(spans(tags)) for tags in true)} true"
    )
    numbers = measured(said, true)
    came = expect(student.entity_f1(said, true), "Your dictionary", given).only_keys(numbers)
    for key, right in numbers.items():
        ask_number(
            came.has(key).value,
            right,
            cause,
            f'Your "{key}"',
            given,
        )


HAND = tagged(("O", 2), ("ORG", 2), ("O", 6), ("PER", 3), ("O", 7))


@entity_f1.stage("exact", points=1.5)
def test_kind_start_and_end_must_be_the_same(student):
    rule = (
        "There is one sentence here. An entity is right if kind, start and end are those of a true"
        " one: precision is right / said, recall right / true."
    )
    ask_f1(student, f"{rule} This is the case by hand.", [[*HAND[:12], "O", *HAND[13:]]], [HAND])
    true, half = (
        tagged(("O", 1), ("PER", 2), ("O", 1), ("LOC", 1), ("O", 1), ("ORG", 3), ("O", 1)),
        f"{rule} Half an entity, or one of another type, is wrong, and counts as predicted.",
    )
    ask_f1(student, rule, [true], [true])
    for said in (
        ["O", "B-PER", "O", "O", *true[4:]],
        ["O", "O", "B-PER", "O", *true[4:]],
        ["O", "B-LOC", "I-LOC", "O", *true[4:]],
        ["O", "B-PER", "I-PER", "I-PER", "O", "O", *true[6:]],
        ["B-PER", "I-PER", "I-PER", *true[3:]],
        ["O"] * 4 + ["B-LOC"] + ["O"] * 5,
        ["B-LOC", "O", "B-PER", "O", "B-LOC", "O", "B-ORG", "O", "B-ORG", "O"],
    ):
        ask_f1(student, half, [said], [true])
        ask_f1(student, half, [true], [said])
    for said, kind in (("per", "PER"), ("ORG-GOV", "ORG"), ("PE", "PER")):
        if counted(student, ([f"B-{kind}", f"I-{said}", "O"], [f"B-{kind}", f"B-{said}", "O"])):
            ask_f1(
                student,
                f"{rule} Kinds are compared letter by letter.",
                [tagged((said, 2), ("O", 1))],
                [tagged((kind, 2), ("O", 1))],
            )
    if counted(student, *READ):
        for said in (
            ["O", "I-PER", "I-PER", "O", "I-LOC", "O", "I-ORG", "I-ORG", "I-ORG", "O"],
            ["B-LOC", "B-PER", "I-PER", "O", "B-ORG", "B-LOC", "B-ORG", "I-ORG", "B-ORG", "B-PER"],
            ["O", "B-PER", "I-PER", "O", "B-LOC", "B-ORG", "B-ORG", "I-ORG", "I-ORG", "I-LOC"],
        ):
            ask_f1(student, half, [said], [true])
            ask_f1(student, half, [true], [said])


def drawn_pair(rng, number: int) -> tuple[list[str], list[str]]:
    """What a model says and what people tagged, entities apart: some are not said, some only their
    first word.
    """
    said, true = [], []
    for kind, size, gap, found in zip(
        *(counts(rng, low, high, number).tolist() for low, high in ((0, 2), (1, 4), (1, 3), (0, 3)))
    ):
        name, kept = ("PER", "LOC", "ORG")[kind], (0, 1, size, size)[found]
        true += tagged(("O", gap), (name, size))
        said += tagged(("O", gap), *([(name, kept)] if kept else []), ("O", size - kept))
    return [*said, "O"], [*true, "O"]


@entity_f1.stage("together", points=2, after="exact")
def test_all_sentences_are_counted_together(student, rng):
    rule = (
        "Count the predicted, the true and the correct over all sentences together, and"
        " divide once. An entity is right only in its own sentence."
    )
    one, other, none = (
        tagged(("PER", 1), ("O", 5)),
        tagged(("O", 1), ("LOC", 2), ("O", 1), ("PER", 1), ("O", 1)),
        ["O"] * 6,
    )
    for said, true in (
        ([one, other], [one, none]),
        ([one, none], [one, other]),
        ([one, none], [none, one]),
        ([one, one, one], [one, one, none]),
        ([one, other], [other, one]),
        ([one, one], [one, one]),
        ([one, none, other], [one, other, other]),
    ):
        ask_f1(student, rule, said, true)
    for sentences, number in (
        (2, 1),
        (3, 3),
        (whole(rng, 4, 9), whole(rng, 1, 4)),
        (300, 1),
        (2, 60),
    ):
        said, true = map(list, zip(*(drawn_pair(rng, number) for _ in range(sentences))))
        said[0], true[0] = [*said[0], "B-PER", "O"], [*true[0], "B-PER", "O"]  # one is right
        ask_f1(student, rule, said, true)
        ask_f1(student, rule, true, said)
    ask_f1(
        student,
        f"{rule} Few are right here.",
        [one] + [other] * 30,
        [one] + [none] * 5 + [["B-ORG", "O"] * 3] * 25,
    )
    first, second = (
        ([one, other, none], [one, none, other]),
        ([none, other, one], [other, other, none]),
    )
    for case in one_changed(first, second):
        ask_f1(student, rule, *case)
    ask_f1(
        student,
        rule,
        [other, tagged(("O", 1), ("PER", 2), ("O", 1), ("LOC", 1), ("O", 1))],
        [other, other],
    )
    if not counted(student, *READ):
        return
    ask_f1(
        student,
        f"{rule} It ends with its sentence: what the next one begins with is another.",
        [["O", "B-PER"], ["I-PER", "O"]],
        [["O", "B-PER"], ["B-PER", "O"]],
    )
    for sentences, words in ((3, 12), (whole(rng, 4, 9), whole(rng, 5, 15)), (300, 3), (2, 300)):
        true = [drawn_tags(rng, words, ("PER", "LOC", "ORG")) for _ in range(sentences)]
        said = [
            [tag if keep else "O" for tag, keep in zip(tags, counts(rng, 0, 3, words).tolist())]
            for tags in true
        ]
        ask_f1(student, rule, said, true)
        ask_f1(student, rule, true, said)


@entity_f1.stage("none", points=1.5, after="exact")
def test_a_share_of_nothing_is_zero(student):
    rule = (
        "0 / 0 is 0.0: nothing said, nothing true, or neither; sentences may be empty, and there"
        " may be none."
    )
    one, none = tagged(("PER", 1), ("O", 2)), ["O"] * 3
    for said, true in (
        ([none], [one]),
        ([one], [none]),
        ([none], [none]),
        ([], []),
        ([none, none], [one, none]),
        ([["B-PER", "O"]], [["B-LOC", "O"]]),
    ):
        ask_f1(student, rule, said, true)
    for empty in ([[]], [[], []]):
        ask_f1(student, rule, empty, empty)
