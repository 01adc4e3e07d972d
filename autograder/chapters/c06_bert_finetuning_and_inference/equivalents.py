"""Changes to the solutions of chapter 6 that nobody can notice, with the reason; see `autograder/authoring/mutants.py`."""

EQUIVALENT = {
    "06.mean_pool": {
        "mask.unsqueeze(2).to(x.dtype)  =>  mask.unsqueeze(2)": "a number times True or False is that number or 0 as well",
    },
    "06.repair_inference": {
        "best.values >= least  =>  best.values > least": "the statement promises that no share lies close to `least`",
    },
}
