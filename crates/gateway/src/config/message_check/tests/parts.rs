//! Parts of FD frames that no receiver can join.

use super::*;

/// Returns a file that splits the FD frame 300 of port `d` for port `c`, and joins it from there.
fn split(more_out: &str, more_back: &str) -> String {
    format!(
        "[ports.d]\nkind = 'socketcan'\n[ports.p]\nkind = 'split'\nparts = {{ '300' = '700' }}\n\
         [[routes]]\nname = 'in'\nfrom = 'd'\nto = 'p'\nid = '300'\nkind = 'fd'\n\
         [[routes]]\nname = 'out'\nfrom = 'p'\nto = 'c'\nid = '700'\nkind = 'classic'\n{more_out}\n\
         [[routes]]\nname = 'back'\nfrom = 'c'\nto = 'p'\nid = '700'\nkind = 'classic'\n{more_back}\n"
    )
}

#[test]
fn parts_are_carried_all_and_unchanged() {
    for (planted, good, words) in [
        ("limit = '10/s'", "", "limits the rate of"),
        ("payload = { value = '01' }", "", "only some of"),
        ("length = '8'", "length = '0-8'", "only some of"),
        (
            "do = [{ set = { data = '00' } }]",
            "do = [{ map = { '700' = '701' } }]",
            "changes",
        ),
    ] {
        let texts = [split("PLANTED", ""), split("", "PLANTED")];
        for (text, name) in texts.iter().zip(["out", "back"]) {
            let route = format!("route `{name}` ");
            let all = [route.as_str(), words, "the parts 700 of FD frames 300"];
            is_found(text, planted, good, Severity::Warning, &all);
        }
    }
}

/// Parts are classic frames: a route that takes them alone needs no `kind`.
#[test]
fn parts_leave_by_a_classic_port() {
    let text = split("", "")
        .replacen("id = '700'\nkind = 'classic'", "id = PLANTED", 1)
        .replace("to = 'c'", "to = 'c1'")
        + "[ports.c1]\nkind = 'socketcan'\nfd = false\n";
    let words = ["FD frames from port `p` never leave by port `c1`: route `out`"];
    is_found(&text, "['300', '700']", "'700'", Severity::Warning, &words);
}

#[test]
fn receivers_that_know_the_message_cannot_join_its_parts() {
    let text = split("", "")
        .replace("300", "130")
        .replace("to = 'c'", "to = 'PLANTED'");
    let words = [
        "route `out` carries 130 Camera (body.dbc, line 13) to port `b` in the parts 700",
        "only a gateway with a port of kind \"split\" can",
    ];
    is_found(&text, "b", "c", Severity::Warning, &words);
}

#[test]
fn parts_need_an_id_of_their_own() {
    let text = split("", "")
        .replace("to = 'c'", "to = 'b'")
        .replace("700", "PLANTED");
    let words = [
        "route `out` carries the parts 100 of FD frames 300 to port `b`",
        "where 100 EngineData (body.dbc, line 3) has this ID",
    ];
    is_found(&text, "100", "700", Severity::Warning, &words);
}
