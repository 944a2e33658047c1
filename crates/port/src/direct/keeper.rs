//! The keeper: a process that hands a card back when its owner has ended, for any reason.
//!
//! The owner starts it before it takes the card, with a pipe on its standard input. The end of file
//! there means that the owner is done, or dead: the kernel closes the pipes of a process however
//! it ends. Only the keeper hands cards back, so that there is one way to do it, which every end of
//! a gateway tests.
//!
//! The keeper is this same program with a command of its own ([`COMMAND`]), in a process group of
//! its own, so that an interrupt from a terminal does not reach it, and it ignores SIGTERM.

use super::backend::BackendError;
use super::registers::silence;
use linux::link::SavedSettings;
use linux::pci::{DeviceHeir, PciDevice, PciError, UIO_PCI_GENERIC, give_back};
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::str::FromStr;

/// The program's hidden command that runs a keeper. Its arguments are the card's address,
/// `--driver` with the driver that gets the card, if there is one, and an `--interface` for each
/// interface that it had.
pub const COMMAND: &str = "keep-card";

/// The line that it prints when it waits.
const READY: &str = "ready";

/// A card that this process has taken, and the keeper that will hand it back.
pub(super) struct CardKeeper {
    child: Child,
    /// The keeper's standard input, closed by [`Drop`].
    input: Option<ChildStdin>,
    _lock: linux::pci::ConfigSpace,
}

impl CardKeeper {
    /// Takes a card. `usual_driver` is the kernel's driver for such cards, for a card that another
    /// process took and did not hand back.
    pub(super) fn take(
        card: &PciDevice,
        interrupts: bool,
        usual_driver: &str,
    ) -> Result<Self, BackendError> {
        let address = card.address();
        let lock = linux::pci::ConfigSpace::open(card)?;
        if !lock.lock()? {
            return Err(BackendError {
                what: format!("another process drives the card {address}: stop it first"),
                source: None,
            });
        }
        let driver = match card.driver() {
            Some(driver) if driver == UIO_PCI_GENERIC => Some(usual_driver.to_owned()),
            None if card.is_overridden() => Some(usual_driver.to_owned()),
            driver => driver,
        };
        // Interfaces in this network namespace; others come back as the driver makes them.
        let interfaces: Vec<CardInterface> = card
            .interfaces()
            .iter()
            .filter_map(|n| saved(n).transpose())
            .collect::<Result<_, _>>()?;
        let mut keeper = Self::start(address, driver.as_deref(), &interfaces, lock)?;
        keeper.wait_until_ready()?;
        card.take(if interrupts {
            DeviceHeir::LINE
        } else {
            DeviceHeir::Nobody
        })?;
        Ok(keeper)
    }

    fn start(
        address: &str,
        driver: Option<&str>,
        interfaces: &[CardInterface],
        lock: linux::pci::ConfigSpace,
    ) -> Result<Self, BackendError> {
        // This link leads to the program even if its file was replaced meanwhile.
        let mut command = Command::new("/proc/self/exe");
        command.args([COMMAND, address]);
        command.args(driver.map(|name| format!("--driver={name}")));
        command.args(interfaces.iter().map(|i| format!("--interface={i}")));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| BackendError {
            what: "cannot start the process that hands the card back".to_owned(),
            source: Some(error.into()),
        })?;
        Ok(Self {
            input: child.stdin.take(),
            child,
            _lock: lock,
        })
    }

    fn wait_until_ready(&mut self) -> Result<(), BackendError> {
        let mut line = String::new();
        if let Some(output) = self.child.stdout.take() {
            // A program that does not know the command prints something else, or ends.
            let _ = BufReader::new(output).take(64).read_line(&mut line);
        }
        if line.trim_end() == READY {
            return Ok(());
        }
        Err(BackendError {
            what: format!(
                "the process that hands the card back did not start: this program has no command `{COMMAND}`"
            ),
            source: None,
        })
    }
}

impl Drop for CardKeeper {
    fn drop(&mut self) {
        drop(self.input.take());
        // The keeper ends on its own within seconds.
        let _ = self.child.wait();
    }
}

/// An interface of a card: its channel on the card, and its saved settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CardInterface {
    channel: u8,
    saved: SavedSettings,
}

impl fmt::Display for CardInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.channel, self.saved.to_word())
    }
}

impl FromStr for CardInterface {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(':').and_then(|(channel, word)| {
            Some(Self {
                channel: channel.parse().ok()?,
                saved: SavedSettings::from_word(word)?,
            })
        });
        parts.ok_or_else(|| "this is not how a gateway describes an interface".to_owned())
    }
}

/// Returns an interface with its settings; `None` if it is gone. An interface whose number cannot
/// be saved is an error: it would not get its settings back.
fn saved(name: &str) -> Result<Option<CardInterface>, PciError> {
    let channel = match PciDevice::find(name) {
        Ok((_, channel)) => channel,
        Err(error @ PciError::Channel { .. }) => return Err(error),
        Err(_) => return Ok(None),
    };
    let saved = SavedSettings::read(name).ok();
    Ok(saved.map(|saved| CardInterface {
        channel: channel.unwrap_or(0),
        saved,
    }))
}

/// Runs the keeper: waits until its standard input ends, then silences the card's controllers,
/// hands the card back, and sets its interfaces up as they were. If its output has no reader, it
/// does so at once.
///
/// # Errors
/// A sentence that describes what is wrong.
pub fn run(
    address: &str,
    driver: Option<&str>,
    interfaces: &[CardInterface],
) -> Result<(), String> {
    linux::signals::ignore_termination();
    let mut stdout = std::io::stdout();
    let announced = writeln!(stdout, "{READY}").and_then(|()| stdout.flush());
    if announced.is_ok() {
        let mut rest = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut rest);
    }
    let card = PciDevice::find(address)
        .map_err(|error| error.to_string())?
        .0;
    // The owner may have died before it took the card.
    if !card.is_overridden() && card.driver().as_deref() != Some(UIO_PCI_GENERIC) {
        return Ok(());
    }
    // A card that is gone cannot be silenced, and the driver resets one that is there.
    let _ = silence(address);
    give_back(address, driver).map_err(|error| error.to_string())?;
    let mut wrong = Vec::new();
    for name in card.interfaces() {
        let channel = match PciDevice::find(&name) {
            Ok((_, channel)) => channel,
            Err(error) => {
                wrong.push(error.to_string());
                continue;
            }
        };
        let was = interfaces.iter().find(|was| Some(was.channel) == channel);
        wrong.extend(was.and_then(|was| was.saved.restore(&name).err()));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_read_as_it_is_written() {
        let text = "1:can7/1/10/1=00ff/6=64000000";
        let interface: CardInterface = text.parse().unwrap();
        assert_eq!(interface.to_string(), text);
        for bad in [
            "",
            "can7",
            "x:can7/1/10",
            "1:can7/1",
            "1:can7/1/10/1=0",
            "256:a/1/1",
        ] {
            assert!(bad.parse::<CardInterface>().is_err(), "{bad}");
        }
    }
}
