"""Changes to the solutions of chapter 2 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

ORDER = "the ranges are put together in a dictionary, whose order nobody asks for"
PRINTABLE = "byte 255 is printable, so it is none of the others"
OVERWRITTEN = "the entry for character 256 is written again by the first of the other bytes"
SAME = "the larger or smaller of two numbers does not depend on their order"
FORM = "the text is taken apart (NFD) on the way, whatever form it came in"
SYMMETRIC = "log-sum-exp does not depend on the order of its two numbers"

EQUIVALENT = {
    "02.bert_words": {
        "('Cc', 'Cf')  =>  ('Cf', 'Cc')": "a category is looked for in the tuple, in any order",
        "first <= ord(character) <= last  =>  first <= ord(character) < last": (
            "no block had a character of Unicode 8 in its last place, and later ones are not asked"
        ),
        "bert_words makes the text small": (
            "letters become small on the way, and each character gives the same before and after"
        ),
        "bert_words drops spaces at the ends of the text": (
            "words are cut at spaces, and control characters are dropped"
        ),
        "bert_words drops a byte-order mark": "it has the category Cf and is dropped on the way",
        "bert_words composes the text (NFC)": FORM,
        "bert_words takes the text apart (NFD)": FORM,
    },
    "02.byte_decode": {
        (
            "[*range(33, 127), *range(161, 173), *range(174, 256)]  =>  [*range(161, 173), "
            "*range(33, 127), *range(174, 256)]"
        ): (ORDER),
        (
            "[*range(33, 127), *range(161, 173), *range(174, 256)]  =>  [*range(33, 127), "
            "*range(174, 256), *range(161, 173)]"
        ): (ORDER),
        "range(174, 256)  =>  range(174, 256 + 1)": OVERWRITTEN,
        "256  =>  257": OVERWRITTEN,
        "range(256)  =>  range(256 - 1)": PRINTABLE,
        "256  =>  255 (place 2)": PRINTABLE,
    },
    "02.train_bpe": {
        "list(word)  =>  word": "the row is only read, and a text gives its characters too",
        "break  =>  continue": "without a pair in this round there is none in any later one",
    },
    "02.wordpiece": {
        "set(vocabulary)  =>  vocabulary": "a list has the same entries, and only the time differs"
    },
    "02.first_merge": {
        "single[symbol] += count  =>  single[symbol] -= count": (
            "both counts become negative, and their product is the same"
        ),
    },
    "02.best_cut": {
        "1  =>  0": (
            "a beginning without characters has no start before its end, so nothing happens in that"
            " round"
        ),
        "range(end)  =>  range(end + 1)": "the empty text is never a piece",
    },
    "02.expected_counts": {
        "max(x, y)  =>  max(y, x)": SAME,
        "min(x, y)  =>  min(y, x)": SAME,
        "min(x, y)  =>  max(x, y)": (
            "exp of minus infinity is 0, so the case that it guards against is that of two"
            " infinities only"
        ),
        "x - y  =>  y - x": "only the size of the difference counts",
        "range(n)  =>  range(n + 1)": "no piece stands at the end of the word",
        "add(before[end], before[start] + score)  =>  add(before[start] + score, before[end])": (
            SYMMETRIC
        ),
        "add(after[start], score + after[end])  =>  add(score + after[end], after[start])": (
            SYMMETRIC
        ),
    },
}
