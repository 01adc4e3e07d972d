"""Changes to the solutions of chapter 17 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

LARGER = "the larger or smaller of two numbers, whichever is named first"
NORMAL_FORM = "a text is compared with plain digits, which have one form only"
ASCII = "base85 has ASCII characters only, and the space around them does not count"
CENTRED = "the other factor adds up to zero, so a constant here changes nothing"

EQUIVALENT = {
    "17.the_run": {
        "the_run composes what it returns (NFC)": ASCII,
    },
    "17.export_config": {
        "export_config works for up to 100 of anything": "`sizes` always has eleven keys",
    },
    "17.sum_reward": {
        "sum_reward drops spaces at the ends of the text": "spaces around a word never count",
        "sum_reward composes the text (NFC)": NORMAL_FORM,
        "sum_reward takes the text apart (NFD)": NORMAL_FORM,
    },
    "17.predict_loss": {
        "a - u_mean  =>  a + u_mean": CENTRED,
        "a - u_mean  =>  a": CENTRED,
        "b - v_mean  =>  b + v_mean": CENTRED,
        "b - v_mean  =>  b": CENTRED,
        "a - u_mean  =>  u_mean - a (place 2)": "it is squared",
        "predict_loss works for up to 100 of anything": "there are at most 20 runs",
    },
    "17.training_mix": {
        "training_mix works for up to 100 of anything": "there are at most 20 kinds",
    },
    "17.wilson_interval": {
        "max(centre - half, 0.0)  =>  max(0.0, centre - half)": LARGER,
        "min(centre + half, 1.0)  =>  min(1.0, centre + half)": LARGER,
        "1.0  =>  1.01 (place 2)": "the bound exceeds 1 by rounding only",
    },
}
