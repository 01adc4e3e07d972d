"""Changes to the solutions of chapter 16 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

WORDS = "`kind` is one of a few words, all small letters"
SHORT = (
    "no argument is a list, a tensor or a long text; sizes are numbers, and large ones are asked"
)
TWO_AXES = "of two axes the last is number 1"
BREAKS = (
    "other data, which break the sentence as clearly: words are numbered differently, or a number"
    " has room"
)
OTHER_DRAWS = "other numbers, which show each wrong attention as well"
ORDER = "the same cases in another order"
SHAPES = (
    "another shape, which is allowed and shows as much: there are still as many queries as keys"
    " once, and other numbers of them"
)

EQUIVALENT = {
    "16.weigh_models": {
        "('bert', 'gpt')  =>  ('gpt', 'bert')": (
            "it is only asked whether the kind is one of the two"
        ),
        "weigh_models keeps its answers by the sizes of its arguments": (
            "the arguments are numbers, and the four words differ in length: their sizes tell them"
            " apart"
        ),
        "weigh_models works for up to 100 of anything": SHORT,
        "weigh_models makes the text small": WORDS,
        "weigh_models drops spaces at the ends of the text": WORDS,
        "weigh_models drops a byte-order mark": WORDS,
        "weigh_models composes the text (NFC)": WORDS,
        "weigh_models takes the text apart (NFD)": WORDS,
    },
    "16.step_bytes": {
        "step_bytes keeps its answers by all arguments but number 2": (
            "V is no part of the answer: one row is read for each token, however many there are"
        )
    },
    "16.seven_masks": {
        "i - j  =>  j - i": "its size is taken, without the sign",
        "seven_masks works for up to 100 of anything": SHORT,
        "seven_masks makes the text small": WORDS,
        "seven_masks drops spaces at the ends of the text": WORDS,
        "seven_masks drops a byte-order mark": WORDS,
        "seven_masks composes the text (NFC)": WORDS,
        "seven_masks takes the text apart (NFD)": WORDS,
    },
    "16.make_labels": {
        "('causal', 'answer')  =>  ('answer', 'causal')": (
            "it is only asked whether the kind is one of the two"
        ),
        "0  =>  1": (
            "without a prompt: the first token is nobody's next, and its label is left out anyhow"
        ),
        "0  =>  -1": "no position is below 0 or below -1",
        "zip(inputs, ids)  =>  zip(ids, inputs)": (
            "two tokens differ or not, whichever is named first"
        ),
        "make_labels makes the text small": WORDS,
        "make_labels drops spaces at the ends of the text": WORDS,
        "make_labels drops a byte-order mark": WORDS,
        "make_labels composes the text (NFC)": WORDS,
        "make_labels takes the text apart (NFD)": WORDS,
    },
    "16.broken_block": {
        "-1  =>  1": TWO_AXES,
        "-1  =>  1 (place 2)": TWO_AXES,
        "-1  =>  1 (place 3)": TWO_AXES,
        "range(heads)  =>  range(heads + 1)": "one head more has no rows, and adds no columns",
    },
    "16.counterexamples": dict.fromkeys(
        (
            "[0.3, 0.28, 0.26, 0.16]  =>  [0.28, 0.3, 0.26, 0.16]",
            "[0.3, 0.28, 0.26, 0.16]  =>  [0.3, 0.26, 0.28, 0.16]",
            "[0.4, 0.2, 0.2, 0.2]  =>  [0.2, 0.4, 0.2, 0.2]",
            "[0.4, 0.2, 0.2, 0.2]  =>  [0.2, 0.4, 0.2, 0.2] (place 2)",
            "[0.4, 0.2, 0.2, 0.2]  =>  [0.2, 0.4, 0.2, 0.2] (place 3)",
            "[1.0, 0.0, 0.0, 0.0]  =>  [0.0, 1.0, 0.0, 0.0]",
            "[0.0, 0.0, 0.36, 0.32, 0.32]  =>  [0.0, 0.36, 0.0, 0.32, 0.32]",
            "[0.0, 0.0, 0.0, 0.52, 0.48]  =>  [0.0, 0.0, 0.0, 0.48, 0.52]",
            "[1.0, 0.0, 0.0, 0.0, 0.0]  =>  [0.0, 1.0, 0.0, 0.0, 0.0]",
            "[[0.55, 0.45], [0.05, 0.95]]  =>  [[0.05, 0.95], [0.55, 0.45]]",
            "2.0  =>  2.02",
            "[1.0, 0.0]  =>  [0.0, 1.0]",
            "1.0  =>  1.01 (place 3)",
            "3  =>  4",
            "3  =>  2",
            "6  =>  7",
            "6  =>  5",
        ),
        BREAKS,
    ),
    "16.test_attention": (
        dict.fromkeys(
            (
                "torch.Generator().manual_seed(16)  =>  torch.Generator()",
                "16  =>  17",
                "16  =>  15",
                "1.0  =>  1.01",
                "100.0  =>  101.0",
                "torch.randn(2, 2, length, 4, generator=chance)  =>  torch.randn(2, 2, length, 4)",
                (
                    "torch.rand(2, 1, T, S, generator=chance) < 0.6  =>  torch.rand(2, 1, T, S,"
                    " generator=chance) <= 0.6"
                ),
                (
                    "torch.rand(2, 1, T, S, generator=chance) < 0.6  =>  torch.rand(2, 1, T, S,"
                    " generator=chance) > 0.6"
                ),
                "torch.rand(2, 1, T, S, generator=chance)  =>  torch.rand(2, 1, T, S)",
                "0.6  =>  0.606",
                "mask[..., 0] = True  =>  pass",
                "mask[..., 0]  =>  mask[0, ...]",
                "0  =>  1",
                "0  =>  -1",
                "True  =>  False (place 2)",
                "1  =>  2 (place 2)",
                "1  =>  0 (place 2)",
            ),
            OTHER_DRAWS,
        )
        | dict.fromkeys(
            (
                "((3, 5), (4, 4), (5, 3))  =>  ((4, 4), (3, 5), (5, 3))",
                "((3, 5), (4, 4), (5, 3))  =>  ((3, 5), (5, 3), (4, 4))",
                "(1.0, 100.0)  =>  (100.0, 1.0)",
                "(True, False)  =>  (False, True)",
                "if blind: mask[:, :, 1] = False  =>  if not blind: mask[:, :, 1] = False",
            ),
            ORDER,
        )
        | dict.fromkeys(
            (
                "(3, 5)  =>  (5, 3)",
                "3  =>  4",
                "3  =>  2",
                "5  =>  6",
                "5  =>  4",
                "(5, 3)  =>  (3, 5)",
                "5  =>  6 (place 2)",
                "5  =>  4 (place 2)",
                "3  =>  4 (place 2)",
                "3  =>  2 (place 2)",
                "2  =>  3 (place 2)",
            ),
            SHAPES,
        )
        | {
            (
                "torch.allclose(came, exact, rtol=0.0, atol=0.0001 if size == 1.0 else 0.003)  =>  "
                "torch.allclose(exact, came, rtol=0.0, atol=0.0001 if size == 1.0 else 0.003)"
            ): ("without a relative part the comparison is the same both ways"),
            (
                "torch.allclose(came, exact, rtol=0.0, atol=0.0001 if size == 1.0 else 0.003)  =>  "
                "torch.allclose(came, exact, atol=0.0001 if size == 1.0 else 0.003)"
            ): ("the relative part that torch takes then is 0.00001, far below the absolute one"),
        }
    ),
}
