"""Changes to the solutions of chapter 13 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

LARGER = "the larger of two numbers, whichever is named first"
FAR = "no score comes near either number"
ONE_AXIS = "the last axis of a vector is its first"
FOLLOW = "no two calls differ in this argument alone: `out` and `lse` follow from q, k and v"
BEYOND = "what stands beyond the end is hidden or not stored"
TF32 = "Triton's interpreter multiplies exactly; only a GPU takes fewer digits"
HIDDEN = "the weights of a query that sees no key are set to 0 afterwards, whatever they were"
ANY_DRAW = "any draw, of two heads or of three, shows every kind"
ANY_SIZE = (
    "other sizes, or the other sizes alone, show every kind as well: no kind is shown by one"
    " size only"
)
ANY_ORDER = "the order of what is tried plays no part"
ANY_SCALE = (
    "scores of other hundreds, or those of the other lines, show every kind as well; right ones"
    " stand them"
)
ANY_LIMIT = "right ones stay far inside either limit, and wrong ones far outside"

EQUIVALENT = {
    "13.add": {
        (
            "add_kernel[triton.cdiv(len(x), block),](x, y, out, len(x), BLOCK=block)  =>  "
            "add_kernel[triton.cdiv(len(x), block),](y, x, out, len(x), BLOCK=block)"
        ): ("y + x is x + y"),
    },
    "13.merge": {
        "torch.maximum(one[0], other[0])  =>  torch.maximum(other[0], one[0])": LARGER,
    },
    "13.flash_forward": {
        "1e+30  =>  1.01e+30": FAR,
        "torch.maximum(top, scores.amax(2))  =>  torch.maximum(scores.amax(2), top)": LARGER,
        "flash_forward keeps its answers by all arguments but number 4": (
            "tiles of another size give the same numbers"
        ),
    },
    "13.flash_backward": {
        "lse.nan_to_num(neginf=0.0)  =>  lse": HIDDEN,
        "lse.nan_to_num(neginf=0.0)  =>  lse.nan_to_num()": HIDDEN,
        (
            "(torch.zeros_like(grouped), torch.zeros_like(k), torch.zeros_like(v))  =>  "
            "(torch.zeros_like(grouped), torch.zeros_like(v), torch.zeros_like(k))"
        ): ("k and v have the same shape and dtype"),
        "min(above + rows, T)  =>  min(T, above + rows)": (
            "the smaller of two numbers, whichever is named first"
        ),
        "flash_backward keeps its answers by all arguments but number 2": FOLLOW,
        "flash_backward keeps its answers by all arguments but number 3": FOLLOW,
        "flash_backward keeps its answers by all arguments but number 4": FOLLOW,
    },
    "13.softmax": {
        "1e+30  =>  1.01e+30": FAR,
        "tl.maximum(top, tl.max(some, 0))  =>  tl.maximum(tl.max(some, 0), top)": LARGER,
        "0  =>  -1 (place 5)": ONE_AXIS,
        "0  =>  -1 (place 6)": ONE_AXIS,
        (
            "tl.load(x + mine, mask=mine < C, other=float('-inf'))  =>  tl.load(x + mine, "
            "mask=mine < C) (place 2)"
        ): (BEYOND),
    },
    "13.flash": {
        (
            "tl.load(q + head * q_head + own[:, None] * q_row + across[None, :], mask=own[:, None] "
            "< T, other=0.0)  =>  tl.load(q + head * q_head + own[:, None] * q_row + across[None, "
            ":], mask=own[:, None] < T)"
        ): (BEYOND),
        "1e+30  =>  1.01e+30": FAR,
        "tl.minimum(S, (tile + 1) * ROWS + S - T)  =>  tl.minimum((tile + 1) * ROWS + S - T, S)": (
            "the smaller of two numbers, whichever is named first"
        ),
        (
            "tl.load(k + across[:, None] + key[None, :] * k_row, mask=key[None, :] < S, other=0.0) "
            " =>  tl.load(k + across[:, None] + key[None, :] * k_row, mask=key[None, :] < S)"
        ): (BEYOND),
        (
            "tl.load(v + key[:, None] * v_row + across[None, :], mask=key[:, None] < S, other=0.0) "
            " =>  tl.load(v + key[:, None] * v_row + across[None, :], mask=key[:, None] < S)"
        ): (
            "the interpreter loads 0 there; on a GPU it may be anything, and 0 times NaN is NaN: no"
            " check without one sees it"
        ),
        "seen & (key[None, :] <= own[:, None] + S - T)  =>  key[None, :] <= own[:, None] + S - T": (
            "a key that a stored query sees stands before the end"
        ),
        "tl.dot(q_tile, k_tile, input_precision='ieee')  =>  tl.dot(q_tile, k_tile)": TF32,
        "tl.maximum(top, tl.max(scores, 1))  =>  tl.maximum(tl.max(scores, 1), top)": LARGER,
        "tl.dot(shares, v_tile, input_precision='ieee')  =>  tl.dot(shares, v_tile)": TF32,
        "1.0  =>  1.01": "zeros are divided by it",
    },
    "13.test_flash": {
        **dict.fromkeys(
            (
                "torch.Generator().manual_seed(8)  =>  torch.Generator()",
                "8  =>  9",
                "8  =>  7",
                "torch.randn(2, length, 16, generator=chance)  =>  torch.randn(2, length, 16)",
                "2  =>  3",
            ),
            ANY_DRAW,
        ),
        **dict.fromkeys(
            (
                "1  =>  2",
                "1  =>  2 (place 2)",
                "17  =>  18",
                "17  =>  16",
                "17  =>  18 (place 2)",
                "17  =>  16 (place 2)",
                "33  =>  34",
                "33  =>  32",
                "33  =>  34 (place 2)",
                "33  =>  32 (place 2)",
                "5  =>  6",
                "5  =>  4",
                "37  =>  38",
                "37  =>  36",
                "(37, 5)  =>  (5, 37)",
                "37  =>  38 (place 2)",
                "37  =>  36 (place 2)",
                "5  =>  6 (place 2)",
                "5  =>  4 (place 2)",
                "(20, 5)  =>  (5, 20)",
                "20  =>  21",
                "20  =>  19",
                "5  =>  6 (place 3)",
                "5  =>  4 (place 3)",
                "16  =>  17 (place 2)",
                "16  =>  15 (place 2)",
                "16  =>  17 (place 3)",
                "16  =>  15 (place 3)",
            ),
            ANY_SIZE,
        ),
        **dict.fromkeys(
            (
                (
                    "((1, 1), (17, 17), (33, 33), (5, 37), (37, 5), (20, 5))  =>  ((17, 17), (1,"
                    " 1), (33, 33), (5, 37), (37, 5), (20, 5))"
                ),
                (
                    "((1, 1), (17, 17), (33, 33), (5, 37), (37, 5), (20, 5))  =>  ((1, 1), (33,"
                    " 33), (17, 17), (5, 37), (37, 5), (20, 5))"
                ),
                (
                    "((1, 1), (17, 17), (33, 33), (5, 37), (37, 5), (20, 5))  =>  ((1, 1), (17,"
                    " 17), (5, 37), (33, 33), (37, 5), (20, 5))"
                ),
                (
                    "((1, 1), (17, 17), (33, 33), (5, 37), (37, 5), (20, 5))  =>  ((1, 1), (17,"
                    " 17), (33, 33), (37, 5), (5, 37), (20, 5))"
                ),
                (
                    "((1, 1), (17, 17), (33, 33), (5, 37), (37, 5), (20, 5))  =>  ((1, 1), (17,"
                    " 17), (33, 33), (5, 37), (20, 5), (37, 5))"
                ),
                "(False, True)  =>  (True, False)",
                (
                    "((1.0, 0.0), (75.0, 0.0), (1.0, 300.0), (1.0, -300.0))  =>  ((75.0, 0.0),"
                    " (1.0, 0.0), (1.0, 300.0), (1.0, -300.0))"
                ),
                (
                    "((1.0, 0.0), (75.0, 0.0), (1.0, 300.0), (1.0, -300.0))  =>  ((1.0, 0.0), (1.0,"
                    " 300.0), (75.0, 0.0), (1.0, -300.0))"
                ),
                (
                    "((1.0, 0.0), (75.0, 0.0), (1.0, 300.0), (1.0, -300.0))  =>  ((1.0, 0.0),"
                    " (75.0, 0.0), (1.0, -300.0), (1.0, 300.0))"
                ),
            ),
            ANY_ORDER,
        ),
        **dict.fromkeys(
            (
                "(75.0, 0.0)  =>  (0.0, 75.0)",
                "75.0  =>  75.75",
                "1.0  =>  1.01 (place 2)",
                "300.0  =>  303.0",
                "1.0  =>  1.01 (place 3)",
                "300.0  =>  303.0 (place 2)",
                (
                    "if lift: q, k = (lift / 10 + q / 10, 2.5 + k / 10)  =>  q, k = (lift / 10 + q"
                    " / 10, 2.5 + k / 10)"
                ),
                "lift / 10 + q / 10  =>  lift / 10 - q / 10",
                "10  =>  11",
                "10  =>  9",
                "q / 10  =>  q * 10",
                "q / 10  =>  q",
                "10  =>  11 (place 2)",
                "10  =>  9 (place 2)",
                "2.5 + k / 10  =>  2.5 - k / 10",
                "2.5  =>  2.525",
                "k / 10  =>  k",
                "10  =>  11 (place 3)",
                "10  =>  9 (place 3)",
                "q = size * q  =>  pass",
                "size * q  =>  size + q",
                "size * q  =>  q",
            ),
            ANY_SCALE,
        ),
        **dict.fromkeys(
            (
                "0.0001 if size == 1.0 and lift == 0.0 else 0.004  =>  0.0001",
                (
                    "0.0001 if size == 1.0 and lift == 0.0 else 0.004  =>  0.004 if size == 1.0 and"
                    " lift == 0.0 else 0.0001"
                ),
                "size == 1.0 and lift == 0.0  =>  size == 1.0 or lift == 0.0",
                "size == 1.0 and lift == 0.0  =>  size == 1.0",
                "size == 1.0 and lift == 0.0  =>  lift == 0.0",
                "lift == 0.0  =>  lift != 0.0",
                "0.0001  =>  0.000101",
                "0.004  =>  0.00404",
            ),
            ANY_LIMIT,
        ),
        "torch.tensor(hides)  =>  hides": "a tensor of bools and a bool give a tensor of bools",
        "assert mine.shape == exact.shape, 'another shape'  =>  pass": (
            "no kind that the card names has another shape"
        ),
        (
            "torch.allclose(mine.double(), exact, rtol=1e-05, atol=limit)  =>  "
            "torch.allclose(exact, mine.double(), rtol=1e-05, atol=limit)"
        ): ("which of two is named first plays no part where the limit is absolute"),
        (
            "torch.allclose(mine.double(), exact, rtol=1e-05, atol=limit)  =>  "
            "torch.allclose(mine.double(), exact, atol=limit)"
        ): ("the relative part of the limit plays no part next to the absolute one"),
    },
}
