//! ARXML files: the output of the reader, as for a DBC.

use super::dbc::check;
use crate::Target;
use signals::arxml::read;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "arxml",
    run,
    words: &[
        "<AUTOSAR xmlns=\"http://autosar.org/schema/r4.0\">",
        "</AUTOSAR>",
        "<AR-PACKAGE>",
        "</AR-PACKAGE>",
        "<SHORT-NAME>a</SHORT-NAME>",
        "<CAN-FRAME-TRIGGERING>",
        "</CAN-FRAME-TRIGGERING>",
        "<FRAME-REF>/a/b</FRAME-REF>",
        "<IDENTIFIER>256</IDENTIFIER>",
        "<CAN-ADDRESSING-MODE>EXTENDED</CAN-ADDRESSING-MODE>",
        "<CAN-FRAME>",
        "</CAN-FRAME>",
        "<FRAME-LENGTH>8</FRAME-LENGTH>",
        "<PDU-REF>/a/b</PDU-REF>",
        "<I-PDU-REF>/a/b</I-PDU-REF>",
        "<I-SIGNAL-REF>/a/b</I-SIGNAL-REF>",
        "<START-POSITION>7</START-POSITION>",
        "<PACKING-BYTE-ORDER>MOST-SIGNIFICANT-BYTE-FIRST</PACKING-BYTE-ORDER>",
        "<LENGTH>16</LENGTH>",
        "<V>0</V>",
        "<VALUE>013</VALUE>",
        "<MULTIPLEXED-I-PDU>",
        "</MULTIPLEXED-I-PDU>",
        "<SELECTOR-FIELD-CODE>1</SELECTOR-FIELD-CODE>",
        "0x",
        "true",
        "-1",
        "&#27;",
    ],
};

fn run(input: &[u8]) {
    check(input, &read(input));
}
