"""Results files of cangate."""

from __future__ import annotations

from typing import Any, Optional


def read(path: Any, dtype_backend: Optional[str] = None) -> Any:
    """Read a results file (``results.parquet``) of cangate.

    :param path: the file.
    :param dtype_backend: without it, the result is a ``pyarrow.Table``, in which times are whole
        numbers and a missing time is null. ``"pyarrow"``: a pandas data frame with the same types.
        pandas alone would turn a column of whole numbers with nulls into floating point, which
        rounds times of more than 2**53 ns.
    :raises ImportError: without pyarrow, or without pandas if a data frame is asked for.
    :raises ValueError: for another ``dtype_backend``.
    """
    if dtype_backend not in (None, "pyarrow"):
        raise ValueError(f"dtype_backend={dtype_backend!r}: write 'pyarrow', or leave it out")
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("reading results needs pyarrow: pip install cangate[arrow]") from error
    table = parquet.read_table(path)
    if dtype_backend is None:
        return table
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "a data frame needs pandas: pip install cangate[pandas], or leave out dtype_backend"
        ) from error
    return table.to_pandas(types_mapper=pandas.ArrowDtype)
