//! PEAK's symbol files: the output of the reader, as for a DBC.

use super::dbc::check;
use crate::Target;
use signals::sym::read;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "sym",
    run,
    words: &[
        "FormatVersion=6.0 // Do not edit this line!\n",
        "Title=\"x\"\n",
        "{ENUMS}\n",
        "{SIGNALS}\n",
        "{SENDRECEIVE}\n",
        "Enum=E(0=\"a\", 1=\"b\")\n",
        "Sig=s unsigned 8 -m /u:\"x\" /f:0.1 /o:-4 /min:0 /max:9 /e:E // c\n",
        "Sig=s 8\n",
        "[M]\n",
        "ID=100h // c\n",
        "ID=100h-1FFh\n",
        "Type=FDExtended\n",
        "Len=8\n",
        "CycleTime=10 -p\n",
        "Timeout=100\n",
        "Mux=A 0,8 1\n",
        "Mux=B 0,8 1Ah -m\n",
        "Var=v signed 16,16 -h /u:V\n",
        "Var=w float 32,32\n",
        "\"",
        "(",
        "99999999999",
    ],
};

fn run(input: &[u8]) {
    check(input, &read(input));
}
