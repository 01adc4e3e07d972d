"""Changes to the solutions of chapter 6 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

NOTHING_OPEN = "where an entity starts is not read before one is open"
ORDER = "three words, in whatever order they are looked for"
ASCII = "the statement promises ASCII, and capitals and white space play no part"

EQUIVALENT = {
    "06.mean_pool": {
        "mask.unsqueeze(2).to(x.dtype)  =>  mask.unsqueeze(2)": (
            "a number times True or False is that number or 0 as well"
        ),
    },
    "06.repair_inference": {
        "best.values >= least  =>  best.values > least": (
            "the statement promises that no share lies close to `least`"
        ),
    },
    "06.entity_f1": {
        "([], '', 0)  =>  ([], 0, '')": (
            "no kind is open at first, whether an empty text or 0 stands for that"
        ),
        "0  =>  1": NOTHING_OPEN,
        "0  =>  -1": NOTHING_OPEN,
        "(number, *one)  =>  (*one, number)": (
            "the number of the sentence is in the tuple, wherever it stands"
        ),
    },
    "06.squad_scores": {
        "('a', 'an', 'the')  =>  ('an', 'a', 'the')": ORDER,
        "('a', 'an', 'the')  =>  ('a', 'the', 'an')": ORDER,
        "f1(said, true)  =>  f1(true, said)": (
            "what two texts share, and their lengths together, are the same either way"
        ),
        "squad_scores makes the text small": ASCII,
        "squad_scores drops spaces at the ends of the text": ASCII,
        "squad_scores drops a byte-order mark": ASCII,
        "squad_scores composes the text (NFC)": ASCII,
        "squad_scores takes the text apart (NFD)": ASCII,
    },
    "06.ndcg_at": {
        "math.log2(rank + 1)  =>  math.log(rank + 1)": (
            "the base of the logarithm is in both sums, and so in neither"
        ),
    },
}
