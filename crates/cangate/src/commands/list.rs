//! `cangate list`: the CAN interfaces of this machine.

use crate::cli::list::List;
use console::Failure;
use engine::LinkState;
use frame::ErrorState;
use frame::wire::BitRate;
use linux::link::{ControllerState, InterfaceFacts, NetLink};
use serde_json::{Value, json};
use std::io::Write as _;

/// Lists the interfaces.
pub(crate) fn run(args: &List) -> Result<(), Failure> {
    let all = match args.interfaces.is_empty() {
        true => InterfaceFacts::all_can().map_err(Failure::run)?,
        false => named(&args.interfaces)?,
    };
    let text = match args.json {
        true => format!(
            "{:#}\n",
            Value::from(all.iter().map(json_of).collect::<Vec<_>>())
        ),
        false if all.is_empty() => {
            console::say(NONE);
            return Ok(());
        }
        false => text_of(&all),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

const NONE: &str = "There is no CAN interface in this network namespace. A virtual one for tests: `sudo ip link add \
    vcan0 type vcan && sudo ip link set vcan0 up`. An adapter needs its driver: `dmesg` shows whether the kernel \
    knows it.";

/// Returns the interfaces of these names, or alternative names.
fn named(names: &[String]) -> Result<Vec<InterfaceFacts>, Failure> {
    let find = |name: &String| {
        let facts = InterfaceFacts::find(name).map_err(|error| {
            Failure::Input(format!("{name}: {error}; `cangate list` lists all"))
        })?;
        match facts.link.can {
            true => Ok(facts),
            false => Err(Failure::Input(format!("{name} is not a CAN interface"))),
        }
    };
    names.iter().map(find).collect()
}

/// The heads of the columns.
const HEAD: [&str; 5] = ["INTERFACE", "DRIVER", "STATE", "BIT RATE", "FRAMES"];

/// Returns the list for people: a line for each interface, and below it the lines by which a user
/// recognises it. Names and numbers are never broken, so that they can be copied.
fn text_of(all: &[InterfaceFacts]) -> String {
    let row = |facts: &InterfaceFacts| {
        [
            facts.link.name.clone(),
            facts.driver().unwrap_or("?").to_owned(),
            state(&facts.link),
            rates(&facts.link),
            frames(&facts.link).to_owned(),
        ]
    };
    let rows: Vec<[String; 5]> = all.iter().map(row).collect();
    let head = HEAD.map(str::to_owned);
    let mut widths = [0; 5];
    for row in rows.iter().chain([&head]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; 5]| {
        let cells = row.iter().zip(widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = line(&head);
    for (row, facts) in rows.iter().zip(all) {
        text.push_str(&line(row));
        for more in details(facts) {
            text.push_str(&format!("    {more}\n"));
        }
    }
    text
}

/// Returns the lines below an interface: its other names, its place and its device.
fn details(facts: &InterfaceFacts) -> Vec<String> {
    let mut lines = Vec::new();
    if !facts.link.altnames.is_empty() {
        lines.push(format!("also {}", facts.link.altnames.join(", ")));
    }
    let Some(device) = &facts.device else {
        return lines;
    };
    let channel = device.channel.map(|channel| format!(", channel {channel}"));
    let channel = channel.unwrap_or_default();
    let Some(usb) = &device.usb else {
        let bus = device.bus.as_deref().unwrap_or("device");
        lines.push(format!("{bus} {}{channel}", device.name));
        return lines;
    };
    let serial = usb
        .serial
        .as_ref()
        .map(|serial| format!(", serial {serial}"));
    lines.push(format!(
        "usb {}{}{channel}",
        usb.path,
        serial.unwrap_or_default()
    ));
    let name = [&usb.manufacturer, &usb.product];
    let mut name: Vec<String> = name.into_iter().flatten().cloned().collect();
    name.extend(usb.ids.as_ref().map(|ids| format!("({ids})")));
    lines.extend((!name.is_empty()).then(|| name.join(" ")));
    lines
}

/// Returns whether it is up, and the state of its controller.
fn state(link: &NetLink) -> String {
    let mut text = match (link.up, link.state) {
        (false, _) => "down".to_owned(),
        (true, Some(state)) => state_word(state).to_owned(),
        (true, None) if link.running => "up".to_owned(),
        (true, None) => "up, no carrier".to_owned(),
    };
    if let Some(errors) = link.errors.filter(|_| link.up) {
        text.push_str(&format!(
            " (TEC {}, REC {})",
            errors.transmit, errors.receive
        ));
    }
    text
}

/// Returns the state of a controller by the word that a gateway has for it.
fn state_word(state: ControllerState) -> &'static str {
    match state {
        ControllerState::Started(ErrorState::Active) => "error-active",
        ControllerState::Started(state) => LinkState::from(state).words(),
        ControllerState::Stopped => "stopped",
        ControllerState::Sleeping => "sleeping",
    }
}

/// Returns the bit rates with their sample points.
fn rates(link: &NetLink) -> String {
    let Some(rate) = link.bit_rate else {
        return match link.is_virtual() {
            true => "none".to_owned(),
            false => "not set".to_owned(),
        };
    };
    let [nominal, data] = link.sample_points;
    let point = |point: Option<u32>| {
        let percent = |point| format!(" at {}%", f64::from(point) / 10.0);
        point.map(percent).unwrap_or_default()
    };
    // As options take them: `500k/2M`.
    let rates = rate.to_string();
    let (first, second) = rates.split_once('/').unzip();
    let mut text = format!("{}{}", first.unwrap_or(&rates), point(nominal));
    if let Some(second) = second {
        text.push_str(&format!(", data {second}{}", point(data)));
    }
    text
}

/// Returns the frame formats that it carries, by its MTU.
const fn frames(link: &NetLink) -> &'static str {
    match (link.carries_xl(), link.carries_fd()) {
        (true, _) => "XL",
        (false, true) => "FD",
        (false, false) => "classic",
    }
}

/// Returns an interface for programs.
fn json_of(facts: &InterfaceFacts) -> Value {
    let link = &facts.link;
    let device = facts.device.as_ref();
    let usb = device.and_then(|device| device.usb.as_ref());
    json!({
        "interface": link.name,
        "index": link.index,
        "altnames": link.altnames,
        "alias": link.alias,
        "kind": link.kind,
        "driver": facts.driver(),
        "up": link.up,
        "running": link.running,
        "state": link.state.map(state_word),
        "tec": link.errors.map(|errors| errors.transmit),
        "rec": link.errors.map(|errors| errors.receive),
        "bitrate": link.bit_rate.map(BitRate::nominal),
        "sample_point": link.sample_points[0].map(|point| f64::from(point) / 1000.0),
        "data_bitrate": link.bit_rate.and_then(BitRate::data),
        "data_sample_point": link.sample_points[1].map(|point| f64::from(point) / 1000.0),
        "mtu": link.mtu,
        "fd": link.carries_fd(),
        "xl": link.carries_xl(),
        "txqueuelen": link.queue,
        "bus_off": link.controller.map(|counts| counts.bus_off),
        "restarts": link.controller.map(|counts| counts.restarts),
        "device": device.map(|device| json!({
            "bus": device.bus,
            "name": device.name,
            "channel": device.channel,
        })),
        "usb": usb.map(|usb| json!({
            "path": usb.path,
            "serial": usb.serial,
            "product": usb.product,
            "manufacturer": usb.manufacturer,
            "ids": usb.ids,
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::link::{ErrorCounters, ParentDevice, UsbDevice};

    fn interfaces() -> Vec<InterfaceFacts> {
        let adapter = ParentDevice {
            bus: Some("usb".to_owned()),
            name: "1-1.2:1.0".to_owned(),
            driver: Some("gs_usb".to_owned()),
            channel: Some(0),
            usb: Some(UsbDevice {
                path: "1-1.2".to_owned(),
                serial: Some("0037003A5542500A20383733".to_owned()),
                product: Some("candleLight USB to CAN adapter".to_owned()),
                manufacturer: Some("bytewerk".to_owned()),
                ids: Some("1d50:606f".to_owned()),
            }),
        };
        let card = ParentDevice {
            bus: Some("pci".to_owned()),
            name: "0000:00:04.0".to_owned(),
            driver: Some("kvaser_pci".to_owned()),
            ..ParentDevice::default()
        };
        let can0 = NetLink {
            name: "can0".to_owned(),
            altnames: vec!["body".to_owned()],
            can: true,
            kind: "can".to_owned(),
            mtu: 72,
            up: true,
            running: true,
            bit_rate: BitRate::new(500_000, Some(2_000_000)).ok(),
            sample_points: [Some(875), Some(800)],
            state: Some(ControllerState::Started(ErrorState::Passive)),
            errors: Some(ErrorCounters {
                transmit: 128,
                receive: 3,
            }),
            ..NetLink::default()
        };
        let can1 = NetLink {
            name: "can1".to_owned(),
            can: true,
            kind: "can".to_owned(),
            mtu: 16,
            state: Some(ControllerState::Stopped),
            ..NetLink::default()
        };
        let vcan0 = NetLink {
            name: "vcan0".to_owned(),
            can: true,
            kind: "vcan".to_owned(),
            mtu: 2060,
            up: true,
            running: true,
            ..NetLink::default()
        };
        [(can0, Some(adapter)), (can1, Some(card)), (vcan0, None)]
            .map(|(link, device)| InterfaceFacts { link, device })
            .into()
    }

    #[test]
    fn people_recognise_their_adapter() {
        let text = text_of(&interfaces());
        let expected = "\
INTERFACE  DRIVER      STATE                           BIT RATE                       FRAMES
can0       gs_usb      error-passive (TEC 128, REC 3)  500k at 87.5%, data 2M at 80%  FD
    also body
    usb 1-1.2, serial 0037003A5542500A20383733, channel 0
    bytewerk candleLight USB to CAN adapter (1d50:606f)
can1       kvaser_pci  down                            not set                        classic
    pci 0000:00:04.0
vcan0      vcan        up                              none                           XL
";
        assert_eq!(text, expected);
    }

    #[test]
    fn programs_get_every_fact() {
        let all = interfaces();
        let adapter = json_of(&all[0]);
        assert_eq!(adapter["usb"]["serial"], "0037003A5542500A20383733");
        assert_eq!(
            (&adapter["bitrate"], &adapter["sample_point"]),
            (&json!(500_000), &json!(0.875))
        );
        assert_eq!(
            (&adapter["state"], &adapter["tec"]),
            (&json!("error-passive"), &json!(128))
        );
        let card = json_of(&all[1]);
        assert_eq!(
            (&card["usb"], &card["bitrate"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(card["device"]["name"], "0000:00:04.0");
        let made = json_of(&all[2]);
        assert_eq!(
            (&made["driver"], &made["device"], &made["xl"]),
            (&json!("vcan"), &Value::Null, &json!(true))
        );
    }
}
