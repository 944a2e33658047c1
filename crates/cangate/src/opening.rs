//! Ports that a command opens itself, as users name them: an interface, a character device, or a
//! port of a gateway file.

use crate::input::load_config;
use console::Failure;
use console::input::read_source;
use frame::Nanos;
use port::{PortOpener, PortSpec};
use std::path::Path;
use std::time::SystemTime;

/// The prefix of the paths of character devices; other names are interfaces.
pub(crate) const DEVICES: &str = "/dev/";

/// Returns ports of a gateway file. Its warnings are about routes, which such commands do not use.
///
/// # Errors
/// The file has mistakes, or has no port of one of the names.
pub(crate) fn ports_of_file(
    file: &Path,
    names: &[String],
    color: bool,
) -> Result<Vec<PortSpec>, Failure> {
    let source = read_source(file)?;
    let (config, _) = load_config(&source, file, color)?;
    let named = |name: &String| {
        let found = config.ports.iter().find(|port| port.name == *name);
        found.cloned().ok_or_else(|| {
            Failure::Input(format!(
                "{} has no port `{name}`; it has {}",
                file.display(),
                config.port_names().join(", ")
            ))
        })
    };
    names.iter().map(named).collect()
}

/// Returns the port of an interface, or of a character device, which is used as it is.
#[cfg(any(feature = "send", feature = "watch"))]
pub(crate) fn port_on(name: &str) -> PortSpec {
    if name.starts_with(DEVICES) {
        let settings = port::chardev::CharDevSettings {
            device: name.to_owned(),
            control: None,
        };
        return PortSpec::new(name, settings);
    }
    let mut settings = port::socketcan::SocketCanSettings::new(name);
    settings.xl = true;
    PortSpec::new(name, settings)
}

/// Returns the time since the Unix epoch, ns.
pub(crate) fn unix_now() -> Nanos {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(0)
}

/// Lets the ports begin that were opened.
///
/// # Errors
/// A port cannot begin.
pub(crate) fn start(opener: &mut PortOpener) -> Result<(), Failure> {
    opener.start().map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::Run(errors.join("\n"))
    })
}
