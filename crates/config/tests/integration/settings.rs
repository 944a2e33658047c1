//! `settings!`: the definition of a key makes its field, reader, default and description.

use cangate_config::{Diagnostics, KeySpec, SourceText, TomlDocument, ValueShape, read, settings};

settings! {
    /// A table with a key of each sort.
    #[derive(Debug, PartialEq)]
    struct SampleSettings(name: &str) {
        /// The medium.
        ///
        /// Not for documents.
        medium: String = name.to_owned() => read::text(), default "its name", not "channel" "dev";
        /// How many
        /// wait. See [the guide](guide.md#queue).
        queue: u8 = 3 => read::integer(1..=9u8), check "; {} wait";
        /// Only listens.
        listen: bool = false => read::boolean(), check ", listens only";
        /// Which ones.
        r#match: Option<u8> = None => read::words(&[("all", 1u8)]),
            not "mode" => "It is \"all\"", not "which";
        /// A part.
        part: Option<SamplePart> = None => read::table(SamplePart::key_specs, SamplePart::read),
            default "none";
    }
    and {
        /// Not a key.
        extra: u8 = 7;
    }
    elsewhere { "filter" => "it is a key of a route"; }
}

settings! {
    /// A table in it.
    #[derive(Debug, PartialEq)]
    struct SamplePart {
        /// How long.
        time: u64 = 0 => read::duration(), needed "";
    }
}

fn parse(text: &str) -> (SampleSettings, Vec<(String, String)>) {
    let source = SourceText::new("t", text);
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(&source, &mut found);
    let mut table = document.root();
    let settings = SampleSettings::read(&mut table, "can0", &mut found);
    table.finish(&mut found);
    let list = found.list().iter();
    let output = list.map(|d| (d.message.clone(), d.hint.clone())).collect();
    (settings, output)
}

#[test]
fn keys_are_read_and_have_defaults() {
    let (settings, output) = parse("");
    assert_eq!(output, []);
    assert_eq!(settings, SampleSettings::defaults("can0"));
    assert_eq!((&*settings.medium, settings.extra), ("can0", 7));
    assert_eq!(settings.check_words(), "; 3 wait");
    let text = "medium = 'x'\nqueue = 9\nlisten = true\nmatch = 'all'\npart = { time = '2ns' }";
    let (settings, output) = parse(text);
    assert_eq!(output, []);
    assert_eq!(settings.check_words(), "; 9 wait, listens only");
    assert_eq!((&*settings.medium, settings.r#match), ("x", Some(1)));
    assert_eq!(settings.part, Some(SamplePart { time: 2 }));
}

#[test]
fn mistakes_are_named() {
    let output = |text: &str| {
        let (_, mut output) = parse(text);
        assert_eq!(output.len(), 1, "{text}: {output:?}");
        output.remove(0)
    };
    let has_no = |key: &str| format!("the file has no key `{key}`");
    assert_eq!(output("queue = 10").0, "`queue` must be from 1 to 9");
    assert_eq!(output("part = {}").0, "`part` of the file needs `time`");
    assert_eq!(output("dev = 1").1, "did you mean `medium`?");
    let advice = "did you mean `match`? It is \"all\"";
    assert_eq!(output("mode = 1"), (has_no("mode"), advice.to_owned()));
    assert_eq!(output("filter = 1").1, "it is a key of a route");
}

#[test]
fn keys_have_a_description_for_schemas_and_documents() {
    let keys = SampleSettings::key_specs();
    let rows: Vec<String> = keys.iter().map(KeySpec::row).collect();
    assert_eq!(
        rows,
        [
            "| `medium` | string | its name | The medium. |",
            "| `queue` | 1–9 | 3 | How many wait. See [the guide](guide.md#queue). |",
            "| `listen` | `true`, `false` | `false` | Only listens. |",
            "| `match` | `\"all\"` | none | Which ones. |",
            "| `part` | table | none | A part. |",
        ]
    );
    assert_eq!(
        keys[1].description(),
        "How many wait. See the guide. Default: 3."
    );
    assert_eq!(keys[3].description(), "Which ones.");
    assert_eq!(keys[1].shape, ValueShape::Integer(1..=9));
}
