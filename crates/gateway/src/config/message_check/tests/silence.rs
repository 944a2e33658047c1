//! Nothing is reported of files that are right.

use super::*;

/// Returns what the checks report of a file in which each port without a database gets this one,
/// and the number of messages that they looked at; `None` if the file has mistakes of other kinds.
fn reported(text: &str, database: &[u8]) -> Option<(Vec<Diagnostic>, usize)> {
    let source = SourceText::new("t", text);
    let loaded = load_with(&source, &PortKinds::standard(), &|_: &Path| {
        Ok(database.to_vec())
    });
    let (mut config, _) = loaded.ok()?;
    let messages = signals::dbc::read(database).unwrap();
    let named = route::config::NamedDatabase {
        name: "d".into(),
        file: "d.dbc".into(),
        messages,
    };
    let named = std::sync::Arc::new(named);
    for database in &mut config.databases {
        database.get_or_insert_with(|| std::sync::Arc::clone(&named));
    }
    let spans = vec![0..0; config.routes.routes.len()];
    let mut found = Diagnostics::new();
    super::super::report(&config, &spans, &mut found);
    let count = super::super::flow::FlowSet::new(&config).all.len();
    Some((found.into_sorted(), count))
}

/// Nothing is reported of the examples and of the files in the documents, which are right.
#[test]
fn nothing_is_reported_of_the_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let database = std::fs::read(root.join("examples/bound/body.dbc")).unwrap();
    let mut texts = Vec::new();
    for folder in ["examples", "docs", "."] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let extension = path.extension().and_then(|text| text.to_str());
            match extension {
                Some("toml") if folder == "examples" => {
                    texts.push(std::fs::read_to_string(&path).unwrap());
                }
                Some("md") => {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let blocks = text.split("```toml\n").skip(1);
                    texts.extend(
                        blocks.filter_map(|block| Some(block.split("```").next()?.to_owned())),
                    );
                }
                _ => {}
            }
        }
    }
    let (mut files, mut messages) = (0, 0);
    for text in &texts {
        if let Some((found, count)) = reported(text, &database) {
            assert_eq!(found, [], "{text}");
            files += 1;
            messages += count;
        }
    }
    assert!(
        files >= 10 && messages >= 20,
        "{files} files, {messages} messages of {}",
        texts.len()
    );
}

/// Nothing is reported of a gateway that carries all messages of real databases in both directions.
#[test]
fn nothing_is_reported_of_a_plain_gateway_with_real_databases() {
    let field = Path::new(env!("CARGO_MANIFEST_DIR")).join("../signals/tests/field");
    let ports = "[databases.d]\nfile = 'd.dbc'\n[ports.a]\nkind = 'bus'\ndata_bitrate = '2M'\nbitrate = '500k'\ndatabase = 'd'\n\
                 [ports.b]\nkind = 'bus'\ndatabase = 'd'\ndata_bitrate = '2M'\nbitrate = '500k'\n\
                 [[routes]]\nname = 'ab'\nfrom = 'a'\nto = 'b'\n[[routes]]\nname = 'ba'\nfrom = 'b'\nto = 'a'\n";
    let (mut files, mut messages) = (0, 0);
    for entry in std::fs::read_dir(field).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "dbc") {
            continue;
        }
        let database = std::fs::read(&path).unwrap();
        if let Some((found, count)) = reported(ports, &database) {
            assert_eq!(found, [], "{}", path.display());
            files += 1;
            messages += count;
        }
    }
    assert!(
        files >= 5 && messages >= 10,
        "{files} files, {messages} messages"
    );
}
