"""Between pandas frames and pyarrow, in types that do not depend on the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from counterleaf.errors import CounterleafError, flat

if TYPE_CHECKING:
    import pyarrow as pa


def batch_of(frame: Any, names: Sequence[str]) -> pa.RecordBatch:
    """Return some columns of a pandas frame as a record batch, without a copy where pandas holds numbers without gaps."""
    import pyarrow as pa

    try:
        table = pa.Table.from_pandas(frame[list(names)], preserve_index=False, nthreads=1)
        columns = [column.combine_chunks() for column in table.columns]  # pandas may hold text in several chunks
        return pa.RecordBatch.from_arrays(columns, schema=table.schema)
    except pa.ArrowException as error:
        raise CounterleafError(f"a column holds values of several types, which pyarrow does not take ({flat(error)})") from None


def frame_with(frame: Any, keep: Sequence[str], answers: pa.Table) -> Any:
    """Return some columns of a pandas frame, then answers with the types of pyarrow.

    Parameters
    ----------
    frame : DataFrame
        The rows.
    keep : sequence of str
        The columns that stay.
    answers : pyarrow.Table
        One line per row.

    Returns
    -------
    DataFrame
        A frame with the same index. Whole numbers and booleans stay so where some are missing, in every partition alike.
    """
    import pandas as pd

    found = answers.to_pandas(types_mapper=pd.ArrowDtype)
    found.index = frame.index
    return pd.concat([frame[list(keep)], found], axis=1) if keep else found
