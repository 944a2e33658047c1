//! Logs of all formats and their recognition: read at once and in pieces, and what was read is
//! written in all formats.

use crate::{Target, reading};
use logs::FileFormat;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "log_formats",
    run,
    words: &[
        // candump
        " (1436509052.249713)  vcan0  123   [2]  11 22\n",
        " (000.000100)  can0  RX B E  00000123  [12]  ",
        "(2012-11-28 14:57:33.123456)",
        "   {B}  ",
        "  remote request",
        "   ERRORFRAME",
        "[0008]",
        "\r\n",
        // ASC
        "date Wed Nov 28 02:57:33.123 pm 2012\n",
        "base dec timestamps relative\n",
        "base hex timestamps absolute\n",
        "0.250000 1  123  Rx   d 2 11 22\n",
        "18EBFF00x ",
        " Tx r 4",
        "0.1 CANFD 1 Rx 123 Name 1 0 9 12 ",
        "ErrorFrame",
        "// cangate: channel 1 is can0\n",
        // TRC
        ";$FILEVERSION=2.1\n",
        ";$FILEVERSION=1.1\n",
        ";$STARTTIME=43007.920986006946\n",
        ";$COLUMNS=N,O,T,B,I,d,R,L,D\n",
        " 1) 1.2 Rx 0401 2 01 02\n",
        " 1 1.000 FB 1 0300 Rx - 9 ",
        " RTR",
        "FFFFFFFF",
        "ER",
        // CSV
        "timestamp,arbitration_id,extended,remote,error,dlc,data\n",
        "Time Stamp,ID,Extended,Dir,Bus,LEN,D1,D2,D3,D4,D5,D6,D7,D8\n",
        "1.5e-05,0x7ff,0,0,0,3,AQID\n",
        // BUSMASTER
        "***RELATIVE MODE***\n",
        "***SYSTEM MODE***\n",
        "***DEC***\n",
        "***START DATE AND TIME 8:4:2024 9:10:11:350***\n",
        "23:59:58:5012 Rx 1 0x123 s-fd 12 ",
        // pcap and pcapng
        "\n\r\r\n",
        "\u{1}\0\0\0",
        "\u{6}\0\0\0",
        "M<+\u{1a}",
        "\u{0}\u{0}\u{1}\u{23}",
        "\u{c}\0\0\0",
        "\u{20}\0\0\0",
        "PAR1",
        // BLF
        "LOGG",
        "LOBJ",
        "\u{10}\0\u{1}\0",
        "\u{20}\0\u{1}\0",
        "\u{a}\0\0\0",
        "\u{64}\0\0\0",
        "\u{65}\0\0\0",
        "\u{7e}\0\0\0",
        "\u{2}\0",
        // MF4
        "MDF ",
        "UnFinMF ",
        "4.10",
        "##DG",
        "##CG",
        "##CN",
        "##DT",
        "##DZ",
        "##DL",
        "##HL",
        "##LD",
        "##SD",
        "CAN_DataFrame",
        "DataBytes",
    ],
};

fn run(input: &[u8]) {
    reading::both_ways(input, None);
    for (_, format) in FileFormat::NAMES {
        reading::both_ways(input, Some(format));
    }
    reading::written(input);
}
