//! KCD files: the output of the reader, as for a DBC.

use super::dbc::check;
use crate::Target;
use signals::kcd::read;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "kcd",
    run,
    words: &[
        "<?xml version=\"1.0\"?>\n",
        "<NetworkDefinition xmlns=\"x\">",
        "</NetworkDefinition>",
        "<Node id=\"1\" name=\"A\"/>",
        "<Bus name=\"B\" baudrate=\"500000\">",
        "</Bus>",
        "<Message id=\"0x100\" name=\"M\" length=\"auto\" format=\"extended\" interval=\"10\">",
        "</Message>",
        "<Producer><NodeRef id=\"1\"/></Producer>",
        "<Consumer><NodeRef id=\"1\"/></Consumer>",
        "<Signal name=\"s\" offset=\"8\" length=\"16\" endianess=\"big\">",
        "</Signal>",
        "<Value type=\"single\" slope=\"0.1\" intercept=\"-1\" min=\"0\" max=\"1e3\" unit=\"&#10;\"/>",
        "<LabelSet><Label name=\"a\" value=\"1\"/><LabelGroup name=\"b\" from=\"2\" to=\"9\"/></LabelSet>",
        "<Multiplex name=\"x\" offset=\"0\" length=\"8\">",
        "</Multiplex>",
        "<MuxGroup count=\"1\">",
        "</MuxGroup>",
        "<Notes>n</Notes>",
        "<!DOCTYPE a [<!ENTITY b \"c\">]>",
        "&lt;",
        "<![CDATA[x]]>",
        "-1",
        "99999999999999999999",
    ],
};

fn run(input: &[u8]) {
    check(input, &read(input));
}
