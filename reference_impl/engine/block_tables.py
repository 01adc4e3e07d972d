"""The block tables of a step as one padded array, most of which is what it was in the
step before.

A sequence takes a block every `block_size` tokens, so that of 256 tables about 16
change in a step. Each table has a row here, and the number of its last change that was
written into it: one that did not change costs the same at any length.

Not here: which block is whose (see `block_manager`).
"""

import numpy as np
from jaxtyping import Int

from reference_impl.engine.sequence import Sequence


class BlockTables:
    """Rows for the sequences that were last seen.

    A finished one is forgotten when its room is wanted.
    """

    def __init__(self) -> None:
        self._rows: Int[np.ndarray, "R M"] = np.full((0, 0), -1, dtype=np.int32)
        self._row_of: dict[Sequence, int] = {}
        self._written: list[int] = []

    def padded(self, sequences: list[Sequence]) -> Int[np.ndarray, "B M"]:
        """Each sequence's table, filled up with -1 to the longest.

        Entries behind the window name a block within it.
        """
        widest = max([len(sequence.block_table) for sequence in sequences])
        if widest > self._rows.shape[1] or len(self._row_of) + len(sequences) > len(
            self._rows
        ):
            self._start_again(2 * len(sequences) + 16, widest + 16)
        known, written, rows = self._row_of, self._written, []
        for sequence in sequences:
            row = known.get(sequence)
            if row is None:
                row = known[sequence] = len(known)
            if written[row] != sequence.table_version:
                self._write(row, sequence)
            rows.append(row)
        return self._rows[rows, :widest]

    def _write(self, row: int, sequence: Sequence) -> None:
        table = sequence.block_table
        self._rows[row, : len(table)] = table
        if (
            sequence.num_given_up
        ):  # a tile of keys may begin there: it reads the sequence's own numbers
            self._rows[row, : sequence.num_given_up] = table[sequence.num_given_up]
        self._rows[row, len(table) :] = -1
        self._written[row] = sequence.table_version

    def _start_again(self, num_rows: int, width: int) -> None:
        self._rows = np.full((num_rows, width), -1, dtype=np.int32)
        self._row_of, self._written = {}, [-1] * num_rows
