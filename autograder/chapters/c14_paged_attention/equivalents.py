"""Changes to the solutions of chapter 14 that nobody can notice, with the reason; see
`autograder/authoring/mutants.py`.
"""

WIDE_ENOUGH = "a token has at most 40 bits, and every token the same number of bytes"

LARGER = "the larger or smaller of two numbers, whichever is named first"
AXIS = "the last axis of a vector is its first"
PREFIX = (
    "keys and salts still part ways for all who do not know the bytes that are hashed, and no"
    " check can"
)
COUNTED_ANEW = "who takes a block sets its number of holders; nobody reads that of one never taken"

EQUIVALENT = {
    "14.block_keys": {
        "b's' + salt  =>  salt": PREFIX,
        "b't' + key  =>  key": PREFIX,
        "8  =>  9": WIDE_ENOUGH,
        "8  =>  7": WIDE_ENOUGH,
        "ids[start:start + block_size]  =>  ids[:start + block_size]": (
            "with the key before it all the text goes in twice: two keys are equal where they were"
        ),
    },
    "14.decode_shares": {
        "tl.minimum(share * many + many, length)  =>  tl.minimum(length, share * many + many)": (
            LARGER
        ),
        "1e+30  =>  1.01e+30": "no score comes near either number",
        (
            "tl.load(tables + sequence * M + token // s, mask=here, other=0).to(tl.int64)  =>  "
            "tl.load(tables + sequence * M + token // s, mask=here, other=0)"
        ): ("no cache that is asked has slots beyond 2**31, where int32 would not do"),
        (
            "tl.load(tables + sequence * M + token // s, mask=here, other=0)  =>  tl.load(tables + "
            "sequence * M + token // s, mask=here)"
        ): ("what the entry leads to is loaded under the same mask, and not at all"),
        (
            "tl.load(k_cache + (block * k_block + token % s * k_place + head // group * k_head)[:, "
            "None] + across[None, :], mask=here[:, None], other=0.0)  =>  tl.load(k_cache + (block "
            "* k_block + token % s * k_place + head // group * k_head)[:, None] + across[None, :], "
            "mask=here[:, None])"
        ): ("scores of tokens that are not there are replaced by -inf"),
        (
            "tl.load(v_cache + (block * v_block + token % s * v_place + head // group * v_head)[:, "
            "None] + across[None, :], mask=here[:, None], other=0.0)  =>  tl.load(v_cache + (block "
            "* v_block + token % s * v_place + head // group * v_head)[:, None] + across[None, :], "
            "mask=here[:, None])"
        ): (
            "tokens that are not there have the weight 0; the interpreter loads 0 there, and a GPU"
            " need not"
        ),
        "tl.maximum(top, tl.max(scores, 0))  =>  tl.maximum(tl.max(scores, 0), top)": LARGER,
        "0  =>  -1 (place 4)": AXIS,
        "0  =>  -1 (place 5)": AXIS,
        "1.0  =>  1.01": "zeros are divided by it",
    },
    "14.merge_shares": {
        (
            "tl.load(parts + (row * N + share)[:, None] * D + across[None, :], mask=(share < N)[:, "
            "None], other=0.0)  =>  tl.load(parts + (row * N + share)[:, None] * D + across[None, "
            ":], mask=(share < N)[:, None])"
        ): (
            "what stands behind the last share has the weight 0; the interpreter loads 0 there, and"
            " a GPU need not"
        ),
        "tl.maximum(tl.max(ends, 0), -1e+30)  =>  tl.maximum(-1e+30, tl.max(ends, 0))": LARGER,
        "0  =>  -1 (place 4)": AXIS,
        "1e+30  =>  1.01e+30": "no log-sum-exp comes near either number",
        "0  =>  -1 (place 5)": AXIS,
        "1.0  =>  1.01": "zeros are divided by it",
    },
    "14.Blocks": {
        "0  =>  1": COUNTED_ANEW,
        "0  =>  -1": COUNTED_ANEW,
        "len(self._unused)  =>  self._unused (place 3)": (
            "it stands in the text of the error, which is free"
        ),
    },
    "14.PrefixCache": {"0  =>  1": COUNTED_ANEW, "0  =>  -1": COUNTED_ANEW},
}
