"""The kinds of arrays that columns, graphs and comparisons consist of, and the row that is none."""

import numpy as np
import numpy.typing as npt

NO_ROW = -1
"""Stands in arrays of rows, codes and numbers where there is none."""

Rows = npt.NDArray[np.int32]
"""Rows of a frame, or nodes of a graph."""

Codes = npt.NDArray[np.int32]
"""Codes of the values of a column."""

Mask = npt.NDArray[np.bool_]
"""Which rows are chosen."""

Numbers = npt.NDArray[np.int64]
"""Counts, positions in other arrays, or combined keys."""

Fingerprints = npt.NDArray[np.uint64]
"""Hashes of values, valid within the process only."""

Shares = npt.NDArray[np.float64]
"""Shares from 0 to 1, or other scores."""

SmallCodes = npt.NDArray[np.int8]
"""Codes of the members of an enumeration."""

FactBits = npt.NDArray[np.uint16]
"""Sets of facts, with one bit for each."""

Bytes = npt.NDArray[np.uint8]
"""Sets of bits, eight in each."""
