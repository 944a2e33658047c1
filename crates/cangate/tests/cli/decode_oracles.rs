//! The values of `cangate decode`, compared with those of cantools, and its datasets as DuckDB and
//! pandas read them.

use crate::decode_parquet::{decode, folder};
use crate::python_can::python_with;
use crate::{cangate, stderr, stdout};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

fn lines(folder: &Path, args: &[&str]) -> assert_cmd::Command {
    let mut command = cangate();
    command.arg("decode").args(args).current_dir(folder);
    command
}

/// Decodes each frame with cantools, and prints a line for each signal.
const CANTOOLS: &str = r##"
import sys, cantools
database = cantools.database.load_file("all.dbc", strict=False)
for line in open("all.log"):
    name, data = line.split()[2].split("#", 1)
    fd = data.startswith("#")
    message = database.get_message_by_frame_id(int(name, 16))
    data = bytes.fromhex(data[2:] if fd else data)
    options = dict(decode_choices=False, allow_truncated=True)
    raw = message.decode(data, scaling=False, **options)
    value = message.decode(data, **options)
    for signal in message.signals:
        if signal.name in raw:
            print(message.name, signal.name, repr(float(raw[signal.name])), repr(float(value[signal.name])))
"##;

/// A database of this many messages with random layouts: every start, length and byte order that
/// fits into 64 bytes, integers and floats, multiplexed or not. No frame has overlapping signals,
/// which cantools does not decode.
fn random_database(count: u32) -> (String, Vec<(u32, usize)>) {
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        // The generator of Knuth's MMIX.
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut text = "VERSION \"\"\n\nBU_: A\n\n".to_owned();
    let mut floats = String::new();
    let mut messages = Vec::new();
    for id in 1..=count {
        let len = [8, 8, 8, 12, 64][random(5) as usize];
        writeln!(text, "BO_ {id} M{id}: {len} A").unwrap();
        messages.push((id, len as usize));
        // The switch has the first byte, and each of its values one signal.
        let (signals, least) = if random(3) == 0 { (4, 8) } else { (1, 0) };
        if signals > 1 {
            writeln!(text, " SG_ S M : 0|2@1+ (1,0) [0|3] \"\" A").unwrap();
        }
        for number in 0..signals {
            let is_float = random(10) == 0;
            let bits = if is_float { 32 } else { 1 + random(64 - least) };
            let is_intel = random(2) == 0;
            // The first bit in the byte order, and its number in the file.
            let first = least + random(len * 8 - least - bits + 1);
            let start = if is_intel {
                first
            } else {
                first / 8 * 8 + 7 - first % 8
            };
            let order = u8::from(is_intel);
            let sign = if random(2) == 0 { '+' } else { '-' };
            let factor = ["1", "0.1", "-0.25", "1E-05", "4"][random(5) as usize];
            let offset = ["0", "-40", "0.5", "1000"][random(4) as usize];
            let switch = match signals {
                1 => String::new(),
                _ => format!(" m{number}"),
            };
            let layout = format!("{start}|{bits}@{order}{sign} ({factor},{offset})");
            writeln!(text, " SG_ s{number}{switch} : {layout} [0|0] \"\" A").unwrap();
            if is_float {
                writeln!(floats, "SIG_VALTYPE_ {id} s{number} : 1;").unwrap();
            }
        }
        text.push('\n');
    }
    (text + &floats, messages)
}

/// A log with five frames of each message. `stamp`: the time of a frame, from its round and the
/// number of its message.
fn random_log(messages: &[(u32, usize)], stamp: impl Fn(usize, usize) -> String) -> String {
    let mut log = String::new();
    let mut byte = 1_u8;
    for round in 0..5 {
        for (number, (id, len)) in messages.iter().enumerate() {
            let data = (0..*len).map(|_| {
                byte = byte.wrapping_mul(141).wrapping_add(91);
                format!("{:02X}", byte.rotate_left(3) ^ (byte >> 1))
            });
            let data: String = data.collect();
            let separator = if *len > 8 { "##0" } else { "#" };
            let stamp = stamp(round, number);
            writeln!(log, "({stamp}) can0 {id:03X}{separator}{data}").unwrap();
        }
    }
    log
}

#[test]
fn values_are_those_of_cantools() {
    let Some(python) = python_with("cantools", "cantools") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (database, messages) = random_database(2000);
    fs::write(folder.path().join("all.dbc"), database).unwrap();
    let log = random_log(&messages, |time, _| format!("{time}.000000"));
    fs::write(folder.path().join("all.log"), log).unwrap();
    let mut oracle = assert_cmd::Command::new(python);
    oracle.args(["-c", CANTOOLS]).current_dir(folder.path());
    let wanted = stdout(&mut oracle, 0);
    let args = ["all.log", "--database", "all.dbc", "--format", "csv"];
    let found = stdout(&mut lines(folder.path(), &args), 0);
    let found: Vec<Vec<&str>> = found
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    assert!(found.len() > 10_000, "{}", found.len());
    let wanted: Vec<Vec<&str>> = wanted
        .lines()
        .map(|line| line.split(' ').collect())
        .collect();
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!(found[2..4], wanted[..2], "{found:?}");
        let number = |text: &str| text.parse::<f64>().unwrap();
        let same =
            |a: f64, b: f64, most: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= most;
        let (raw, value) = (number(wanted[2]), number(wanted[3]));
        assert!(same(number(found[4]), raw, 0.0), "{found:?} {wanted:?}");
        // cantools calculates in binary floating point.
        assert!(
            same(number(found[5]), value, value.abs() * 1e-12 + 1e-9),
            "{found:?} {wanted:?}"
        );
    }
}

/// Compares the dataset, as a query returns it, with what cantools decodes.
const COMPARE: &str = r##"
import duckdb, cantools
duckdb.sql("SET enable_progress_bar = false")
database = cantools.database.load_file("all.dbc", strict=False)
wanted = {}
for line in open("all.log"):
    stamp, port, frame = line.split()
    second, nanos = (int(part) for part in stamp.strip("()").split("."))
    name, data = frame.split("#", 1)
    fd = data.startswith("#")
    message = database.get_message_by_frame_id(int(name, 16))
    data = bytes.fromhex(data[2:] if fd else data)
    options = dict(decode_choices=False, allow_truncated=True)
    raw = message.decode(data, scaling=False, **options)
    value = message.decode(data, **options)
    for signal in message.signals:
        if signal.name in raw:
            wanted[second * 10**9 + nanos, port, message.name, signal.name] = raw[signal.name], value[signal.name]
rows = duckdb.sql("""
    SELECT epoch_us(time) * 1000 + nanos, port, message, signal, raw, raw_text, value,
           time AT TIME ZONE 'UTC' >= day AND time AT TIME ZONE 'UTC' < day + INTERVAL 1 DAY
    FROM 'archive/*/*/*.parquet'""").fetchall()
same = lambda a, b, most: a == b or a != a and b != b or abs(a - b) <= most
for *key, raw, text, value, is_day in rows:
    wanted_raw, wanted_value = wanted.pop(tuple(key))
    assert is_day, key
    assert (raw is None) != (text is None), key
    exact = raw if text is None else type(wanted_raw)(text)
    assert same(exact, wanted_raw, 0) and type(exact) is type(wanted_raw), (key, raw, text, wanted_raw)
    # cantools calculates in binary floating point.
    assert same(value, wanted_value, abs(wanted_value) * 1e-12 + 1e-9), (key, value, wanted_value)
assert not wanted, wanted
texts = sum(row[5] is not None for row in rows)
days = duckdb.sql("SELECT day::VARCHAR, count(*) FROM 'archive/*/*/*.parquet' GROUP BY day ORDER BY day").fetchall()
print(len(rows), texts > 100, *(day for day, _ in days))
print(sum(count for _, count in days) == len(rows))
"##;

#[test]
fn duckdb_reads_the_values_of_cantools() {
    let Some(python) = python_with("cantools, duckdb", "cantools duckdb") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (database, messages) = random_database(300);
    fs::write(folder.path().join("all.dbc"), database).unwrap();
    // A frame each 40 seconds, from half a day before midnight.
    let log = random_log(&messages, |round, number| {
        let frame = (round * 300 + number) as u64;
        format!(
            "{}.{:09}",
            1_795_608_000 + frame * 40,
            frame * 1_000_001 % 1_000_000_000
        )
    });
    fs::write(folder.path().join("all.log"), log).unwrap();
    let args = ["all.log", "-d", "all.dbc", "--out=archive"];
    let error = stderr(&mut decode(folder.path(), &args), 0);
    let mut oracle = assert_cmd::Command::new(python);
    oracle.args(["-c", COMPARE]).current_dir(folder.path());
    let said = stdout(&mut oracle, 0);
    let (rows, rest) = said.split_once(' ').unwrap();
    assert_eq!(rest, "True 2026-11-25 2026-11-26\nTrue\n");
    assert!(
        error.contains(&format!("archive: {rows} rows added")),
        "{error}"
    );
    assert!(rows.parse::<u64>().unwrap() > 2000, "{rows}");
}

/// Texts, exact numbers and names, as DuckDB has them.
#[test]
fn duckdb_reads_names_of_values_and_every_raw_value() {
    let Some(python) = python_with("duckdb", "duckdb") else {
        return;
    };
    let folder = folder();
    let args = ["in.log", "-d", "body.dbc", "--out=archive"];
    stderr(&mut decode(folder.path(), &args), 0);
    let script = "
import duckdb
duckdb.sql('SET enable_progress_bar = false')
table = \"'archive/**/*.parquet'\"
rows = duckdb.sql(f'''SELECT day, message, epoch_us(time) || '.' || nanos, port, signal, raw, raw_text, value,
    value_name, unit FROM {table} ORDER BY time, nanos, signal''').fetchall()
for row in rows:
    print(*row, sep='|')
print(duckdb.sql(f\"SELECT count(*) FROM {table} WHERE message = 'Large' AND day = DATE '2026-11-26'\").fetchall())
";
    let mut oracle = assert_cmd::Command::new(python);
    oracle.args(["-c", script]).current_dir(folder.path());
    assert_eq!(
        stdout(&mut oracle, 0),
        "\
2026-11-25|EngineData|1795651199999999.999|can0|Gear|1|None|1.0|first|
2026-11-25|EngineData|1795651199999999.999|can0|Speed|1600|None|400.0|None|rpm
2026-11-26|EngineData|1795651200000000.1|can1|Gear|-1|None|-1.0|reverse|
2026-11-26|EngineData|1795651200000000.1|can1|Speed|1600|None|400.0|None|rpm
2026-11-26|Large|1795651200500000.0|can0|All|None|18446744073709551615|1.8446744073709552e+19|None|
2026-11-26|EngineData|1795651201000000.0|can0|Speed|1600|None|400.0|None|rpm
[(1,)]
"
    );
}

/// pandas reads the folder, and its partitions become columns.
#[test]
fn pandas_reads_the_folder() {
    let Some(python) = python_with("pandas, pyarrow", "pandas pyarrow") else {
        return;
    };
    let folder = folder();
    let args = ["in.log", "-d", "body.dbc", "--out=archive"];
    stderr(&mut decode(folder.path(), &args), 0);
    let script = "
import pandas
assert len(pandas.read_parquet('archive')) == 6
frame = pandas.read_parquet('archive', dtype_backend='pyarrow').sort_values(['time', 'nanos', 'signal'])
for row in frame[['day', 'message', 'time', 'nanos', 'port', 'signal', 'raw', 'value', 'unit']].itertuples(index=False):
    print(*row, sep='|')
print(frame.raw.dtype, frame.time.dtype)
";
    let mut oracle = assert_cmd::Command::new(python);
    oracle.args(["-c", script]).current_dir(folder.path());
    assert_eq!(
        stdout(&mut oracle, 0),
        "\
2026-11-25|EngineData|2026-11-25 23:59:59.999999+00:00|999|can0|Gear|1|1.0|
2026-11-25|EngineData|2026-11-25 23:59:59.999999+00:00|999|can0|Speed|1600|400.0|rpm
2026-11-26|EngineData|2026-11-26 00:00:00+00:00|1|can1|Gear|-1|-1.0|
2026-11-26|EngineData|2026-11-26 00:00:00+00:00|1|can1|Speed|1600|400.0|rpm
2026-11-26|Large|2026-11-26 00:00:00.500000+00:00|0|can0|All|<NA>|1.8446744073709552e+19|
2026-11-26|EngineData|2026-11-26 00:00:01+00:00|0|can0|Speed|1600|400.0|rpm
int64[pyarrow] timestamp[us, tz=UTC][pyarrow]
"
    );
}

/// The queries of docs/files.md, on a dataset that is written as there.
#[test]
fn the_documents_queries_have_results() {
    let Some(python) = python_with("duckdb, pandas, pyarrow", "duckdb pandas pyarrow") else {
        return;
    };
    let page = fs::read_to_string(crate::root().join("docs/files.md")).unwrap();
    let block = |language: &str| {
        let begin = format!("```{language}\n");
        let block = page.split(&begin).nth(1).unwrap();
        block.split("```").next().unwrap().to_owned()
    };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("queries.sql", &block("sql"));
    // Spark, the next line, is not installed for tests.
    write("query.py", block("python").lines().next().unwrap());
    write(
        "drive.log",
        "(1.5) can0 0A0#4006000000000000\n(2.5) can0 0A0#8006000000000000\n",
    );
    let database = crate::root().join("examples/bound/body.dbc");
    fs::copy(database, folder.path().join("body.dbc")).unwrap();
    let args = ["drive.log", "-d", "body.dbc", "--out=archive"];
    stderr(&mut decode(folder.path(), &args), 0);
    let script = "
import duckdb, pandas
duckdb.sql('SET enable_progress_bar = false')
for statement in duckdb.extract_statements(open('queries.sql').read()):
    for row in duckdb.sql(statement.query).fetchall():
        print(*row)
exec(open('query.py').read())
print(*frame.value)
";
    let mut oracle = assert_cmd::Command::new(python);
    oracle.args(["-c", script]).current_dir(folder.path());
    assert_eq!(
        stdout(oracle.env("TZ", "UTC"), 0),
        "\
1970-01-01 416.0
1970-01-01 00:00:01.500000+00:00 can0 400.0
1970-01-01 00:00:02.500000+00:00 can0 416.0
400.0 416.0
"
    );
}
