//! Checksums and counters that a route leaves wrong.

use super::*;

#[test]
fn a_change_of_protected_bytes_needs_a_checksum() {
    let words = [
        "`engine` changes bytes 2, 3 (Speed) of 100 EngineData (body.dbc, line 3)",
        "leaves a wrong checksum: receivers that check it refuse the frames (protection `engine`)",
    ];
    let set = "do = [{ and = { data = 'FFFF0000' } }]";
    is_found(
        &protected(),
        set,
        &format!("{set}\nprotect = 'engine'"),
        Severity::Error,
        &words,
    );
    let set = "do = [{ copy = { from = 4, to = 2, count = 2 } }]";
    is_found(
        &protected(),
        set,
        "do = [{ or = { data = '00' } }]",
        Severity::Error,
        &words,
    );
}

/// The kernel's CRC8 computes P01 if the Data ID is in its start value (BC for 123, both bytes).
#[test]
fn the_checksum_must_be_that_of_the_protection_and_behind_the_change() {
    let set = "{ and = { data = 'FFFF0000' } }";
    let crc = |init: &str| {
        format!(
            "{{ crc8 = {{ polynomial = '1D', init = '{init}', final_xor = '00', from = 1, to = 7, result = 0 }} }}"
        )
    };
    let right = format!("do = [{set}, {}]", crc("BC"));
    let other = format!("do = [{set}, {}]", crc("BD"));
    is_found(
        &protected(),
        &other,
        &right,
        Severity::Error,
        &["the one that its actions write has another rule"],
    );
    let early = format!("do = [{}, {set}]", crc("BC"));
    is_found(
        &protected(),
        &early,
        &right,
        Severity::Error,
        &["its actions change the frame again behind the checksum"],
    );
}

#[test]
fn a_constant_counter_is_repeated_for_ever() {
    let crc = "{ crc8 = { polynomial = '1D', init = 'BC', final_xor = '00', from = 1, to = 7, result = 0 } }";
    let same = format!("do = [{{ and = {{ data = 'FFF0' }} }}, {crc}]");
    let right = format!("do = [{{ and = {{ data = 'FFFF0F' }} }}, {crc}]");
    is_found(
        &protected(),
        &same,
        &right,
        Severity::Error,
        &["writes the same sequence counter into all frames"],
    );
}

/// Toyota's sum has the ID in it, P01 has not.
#[test]
fn the_id_counts_where_the_checksum_has_it() {
    let route = "[[routes]]\nname = 'engine'\nfrom = 'a'\nto = 'c'\nid = '100'\nkind = 'classic'\nverify = 'engine'\n\
                 do = [{ set = { id = '101' } }]\n";
    let text = format!("[e2e.engine]\nPLANTED\nlength = 8\n{route}");
    let p01 = "profile = 'P01'\ndata_id = 0x123";
    is_found(
        &text,
        "profile = 'toyota'",
        p01,
        Severity::Error,
        &["changes the ID, which is in the checksum,"],
    );
}

#[test]
fn the_length_counts_where_the_checksum_has_all_bytes() {
    let route = "[[routes]]\nname = 'engine'\nfrom = 'a'\nto = 'c'\nid = '100'\nkind = 'classic'\nverify = 'engine'\n\
                 do = [{ set = { len = 6 } }]\n";
    let text =
        |length: &str| format!("[e2e.engine]\nprofile = 'P01'\ndata_id = 0x123\n{length}\n{route}");
    is_found(
        &text("PLANTED"),
        "",
        "length = 6",
        Severity::Error,
        &["changes the length from 8 to 6 bytes"],
    );
}

/// Only frames that take the route count: those whose byte 2 is 0 are not changed.
#[test]
fn a_condition_that_excludes_the_change_is_no_mistake() {
    let text = |value: &str| {
        protected().replace("PLANTED", &format!("payload = [{{ at = 2, value = '{value}' }}]\ndo = [{{ and = {{ data = 'FFFF00' }} }}]"))
    };
    let left_out =
        "`verify` misses the frames that `payload` leaves out: they count as lost in the sequence";
    let gaps = (Severity::Warning, left_out.to_owned());
    assert_eq!(found(&text("00")), std::slice::from_ref(&gaps));
    let wrong = found(&text("01"));
    let wrong: Vec<_> = wrong.into_iter().filter(|one| *one != gaps).collect();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0].0, Severity::Error);
}

/// The database states the protection, so that no route needs `verify` for an error.
#[test]
fn a_protection_by_attributes_of_the_database_is_certain() {
    let body = format!(
        "{BODY}BA_DEF_ BO_ \"E2EProfile\" STRING ;\nBA_DEF_ BO_ \"E2EDataId\" STRING ;\n\
         BA_ \"E2EProfile\" BO_ 256 \"P01\";\nBA_ \"E2EDataId\" BO_ 256 \"0x123\";\n"
    );
    let route = "[[routes]]\nname = 'engine'\nfrom = 'a'\nto = 'c'\nid = '100'\nkind = 'classic'\n\
                 do = [{ and = { data = 'FFFF00' } }]\n";
    let wrong = found_by(route, &body);
    let [(Severity::Error, message)] = wrong.as_slice() else {
        panic!("{wrong:?}");
    };
    let line = body
        .lines()
        .position(|line| line.starts_with("BA_ \"E2EProfile\""))
        .unwrap()
        + 1;
    let words = format!("the protection that line {line} of the database states");
    assert!(message.contains(&words), "{message}");
    let unchanged = route.replace("FFFF00", "FFFFFF");
    assert_eq!(found_by(&unchanged, &body), []);
}

#[test]
fn a_checksum_by_name_is_a_warning() {
    let route = "[[routes]]\nname = 'gear'\nfrom = 'a'\nto = 'c'\nid = '110'\nkind = 'classic'\ndo = [PLANTED]\n";
    let words = [
        "changes byte 0 (Gear) of 110 GearData (body.dbc, line 7)",
        "and does not renew GEAR_CHECKSUM (line 8), by its name a checksum",
    ];
    let sum = "{ xor_sum = { from = 0, to = 6, result = 7 } }";
    let or = "{ or = { data = '01' } }";
    is_found(
        route,
        or,
        &format!("{or}, {sum}"),
        Severity::Warning,
        &words,
    );
    is_found(
        route,
        &format!("{sum}, {or}"),
        "{ set = { id = '111' } }",
        Severity::Warning,
        &["does so behind GEAR_CHECKSUM"],
    );
    // Lamps has no checksum.
    assert_eq!(
        found(&route.replace("110", "120").replace("PLANTED", or)),
        []
    );
}
