"""Results files keep whole numbers with nulls."""

from pathlib import Path

import pytest

import cangate

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def path(tmp_path):
    from pyarrow import parquet

    times = pyarrow.array([2**53 + 1, None, 3], type=pyarrow.uint64())
    parquet.write_table(pyarrow.table({"received_ns": times}), tmp_path / "results.parquet")
    return tmp_path / "results.parquet"


def test_a_table_has_whole_numbers(path):
    assert cangate.read(path).column("received_ns").to_pylist() == [2**53 + 1, None, 3]


def test_a_data_frame_has_whole_numbers_too(path):
    pandas = pytest.importorskip("pandas")
    column = cangate.read(path, dtype_backend="pyarrow")["received_ns"]
    assert column.iloc[0] == 2**53 + 1 and column.isna().tolist() == [False, True, False]
    assert isinstance(column.dtype, pandas.ArrowDtype)


def test_other_backends_are_refused(path):
    with pytest.raises(ValueError, match="write 'pyarrow'"):
        cangate.read(path, dtype_backend="numpy")
    with pytest.raises(FileNotFoundError):
        cangate.read(path.with_name("none.parquet"))


def test_files_of_cangate_are_read():
    folder = Path(__file__).resolve().parents[2] / "crates" / "probe" / "tests" / "data"
    files = sorted(folder.glob("*.parquet"))
    assert files
    for path in files:
        table = cangate.read(path)
        assert table.num_rows > 0 and table.num_columns > 3, path.name
        assert any(pyarrow.types.is_integer(field.type) for field in table.schema), path.name
