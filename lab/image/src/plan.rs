//! The plan of an image, made from a gateway file.

use baremetal::{ControllerPlace, DriveMode, ImagePlan, PortPlan};
use config::{Diagnostic, SourceText};
use gateway::config::{GatewayConfig, Offload};
use port::PortSpec;
use port::direct::{self, DirectSettings};
use std::ops::Range;

/// The most ports of an image.
const MOST_PORTS: usize = 32;

/// Returns the plan of a gateway file that [`gateway::config::load`] has accepted.
///
/// # Errors
/// All settings that an image does not support, each with its position.
pub fn plan(source: &SourceText, config: &GatewayConfig) -> Result<ImagePlan, Vec<Diagnostic>> {
    let mut found = Vec::new();
    let ports = config.ports.iter();
    let ports = ports
        .filter_map(|port| match one(port) {
            Ok(plan) => Some(plan),
            Err((what, hint)) => {
                let message = format!("an image cannot have port `{}`: {what}", port.name);
                let span = header(source, &format!("[ports.{}]", port.name));
                found.push(Diagnostic::error(span, message).hint(hint));
                None
            }
        })
        .collect();
    if config.ports.len() > MOST_PORTS {
        let message = format!("an image has {MOST_PORTS} ports at most");
        found.push(Diagnostic::error(0..0, message));
    }
    if config.options.offload != Offload::None {
        let message = "an image has no kernel that could run routes";
        let span = header(source, "[gateway]");
        found.push(Diagnostic::error(span, message).hint("leave `offload` out"));
    }
    if !found.is_empty() {
        return Err(found);
    }
    Ok(ImagePlan {
        ports,
        routes: config.routes.clone(),
    })
}

/// Returns the position of a table's header.
fn header(source: &SourceText, words: &str) -> Range<usize> {
    source
        .text
        .find(words)
        .map_or(0..0, |at| at..at + words.len())
}

type Refused = (String, &'static str);

const DIRECT: &str =
    "an image drives controllers itself: `kind = \"direct\"` with the PCI address of a card";

fn one(port: &PortSpec) -> Result<PortPlan, Refused> {
    let Some(settings) = port.settings.downcast_ref::<DirectSettings>() else {
        let what = format!(
            "ports of kind \"{}\" need an operating system",
            port.settings.kind()
        );
        return Err((what, DIRECT));
    };
    if port.faults.is_some() {
        let what = "it injects faults, which is for tests of a process".to_owned();
        return Err((what, "leave its `faults` out"));
    }
    if let Some(queueing) = port.queueing {
        let what = format!(
            "an image has no `{}` of a port",
            queueing.keys().join("`, no `")
        );
        return Err((
            what,
            "its transmit queue is first in, first out: leave these keys out",
        ));
    }
    let Some(address) = address(&settings.device) else {
        let what = format!("`device = \"{}\"` is not a PCI address", settings.device);
        let hint = "an image without an operating system does not know interfaces by name: write the card's \
                    address, such as \"0000:03:00.0\" (`lspci -D`)";
        return Err((what, hint));
    };
    Ok(PortPlan {
        name: port.name.clone(),
        place: ControllerPlace::Card {
            address,
            channel: settings.channel.unwrap_or(0),
        },
        bitrate: settings.bitrate,
        sample_point: settings.sample_point,
        data_bitrate: settings.data_bitrate,
        data_sample_point: settings.data_sample_point,
        drive: match settings.mode {
            direct::DriveMode::Poll => DriveMode::Poll,
            direct::DriveMode::Interrupt => DriveMode::Interrupt,
        },
        listen_only: settings.listen_only,
        one_shot: settings.one_shot,
        bus_errors: settings.bus_errors,
        restart: settings.restart,
        queue: settings.queue,
    })
}

/// Returns a PCI address as an image writes it: `0000:03:00.0`. An image supports the first domain
/// only.
fn address(text: &str) -> Option<String> {
    let text = text.strip_prefix("0000:").unwrap_or(text);
    let (bus, rest) = text.split_once(':')?;
    let (slot, function) = rest.split_once('.')?;
    let number = |text: &str, most| {
        let digits = (1..=2).contains(&text.len());
        let number = u8::from_str_radix(text, 16).ok();
        number.filter(|&number| digits && number <= most)
    };
    let (bus, slot) = (number(bus, 0xFF)?, number(slot, 0x1F)?);
    let function = number(function, 7)?;
    Some(format!("0000:{bus:02x}:{slot:02x}.{function}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gateway::config::load;

    fn planned(text: &str) -> Result<ImagePlan, String> {
        let source = SourceText::new("g.toml", text);
        let kinds = port::PortKinds::standard();
        let (config, _) = load(&source, &kinds).map_err(|d| config::render(&source, &d, false))?;
        plan(&source, &config).map_err(|d| config::render(&source, &d, false))
    }

    #[test]
    fn cards_by_their_address_and_nothing_else() {
        let text = "[ports.a]\nkind = \"direct\"\ndevice = \"03:00.0\"\nmode = \"interrupt\"\n\
                    [ports.b]\nkind = \"direct\"\ndevice = \"0000:00:1f.7\"\nchannel = 1\n\
                    data_bitrate = \"2M\"\n[[routes]]\nfrom = \"a\"\nto = \"b\"\n";
        let plan = planned(text).unwrap();
        let places: Vec<_> = plan.ports.iter().map(|port| port.place.clone()).collect();
        let card = |address: &str, channel| ControllerPlace::Card {
            address: address.to_owned(),
            channel,
        };
        assert_eq!(places, [card("0000:03:00.0", 0), card("0000:00:1f.7", 1)]);
        assert_eq!(plan.ports[0].drive, DriveMode::Interrupt);
        assert_eq!(plan.ports[1].data_bitrate, Some(2_000_000));
        assert_eq!(plan.routes.routes.len(), 1);
    }

    #[test]
    fn what_an_image_cannot_do_is_named_at_its_place() {
        let text = "[gateway]\noffload = \"auto\"\n[ports.can0]\nkind = \"socketcan\"\n\
                    [ports.c]\nkind = \"direct\"\ndevice = \"can1\"\n\
                    [[routes]]\nfrom = \"can0\"\nto = \"c\"\n";
        let output = planned(text).unwrap_err();
        for words in [
            "cannot have port `can0`: ports of kind \"socketcan\" need an operating system",
            "g.toml:3:1",
            "`device = \"can1\"` is not a PCI address",
            "no kernel that could run routes",
        ] {
            assert!(output.contains(words), "{words} in {output}");
        }
    }

    #[test]
    fn addresses_are_those_of_one_function() {
        assert_eq!(address("0000:03:00.0").as_deref(), Some("0000:03:00.0"));
        assert_eq!(address("3:1f.7").as_deref(), Some("0000:03:1f.7"));
        for wrong in [
            "can0",
            "0001:03:00.0",
            "03:20.0",
            "03:00.8",
            "03:00",
            "003:00.0",
            "",
        ] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }
}
