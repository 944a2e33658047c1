//! The gateway that a command addresses, and its answers.

use crate::cli::Control;
use crate::input::load_config;
use console::Failure;
use console::input::read_source;
use gateway::control::{self, ControlRequest};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time that a gateway may take to answer. A reload of a large file takes a while.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The gateway that a command addresses.
pub(super) struct GatewayChoice {
    pub(super) socket: PathBuf,
    /// The error in its file, or in reading it.
    broken: Option<(PathBuf, Failure)>,
}

impl GatewayChoice {
    /// Finds the gateway by its socket, by its file, or as the only one that runs.
    pub(super) fn which(which: &Control, color: bool) -> Result<Self, Failure> {
        let at = |socket| Self {
            socket,
            broken: None,
        };
        let Some(file) = &which.file else {
            let named = which.socket.clone();
            return Ok(at(named.map_or_else(only_socket, Ok)?));
        };
        // A file that has become invalid since the gateway started must still lead to the gateway.
        let (options, broken) = match read_source(file) {
            Ok(source) => match load_config(&source, file, color) {
                Ok((config, _)) => (config.options, None),
                Err(wrong) => (gateway::config::readable_options(&source), Some(wrong)),
            },
            Err(unreadable) => (gateway::config::ProcessOptions::default(), Some(unreadable)),
        };
        Ok(Self {
            socket: gateway::run::control_path_to_ask(Some(file), &options),
            broken: broken.map(|why| (file.clone(), why)),
        })
    }

    /// Warns that the file is not the running configuration, if the file has mistakes and a gateway
    /// listens nevertheless.
    pub(super) fn warn(&self) {
        if let Some((file, _)) = &self.broken
            && std::os::unix::net::UnixStream::connect(&self.socket).is_ok()
        {
            let file = file.display();
            eprintln!(
                "warning: {file} cannot be used as it is now (`cangate check {file}` shows why); the \
                 gateway keeps its previous configuration"
            );
        }
    }

    /// Sends a request. If no gateway listens and the file is wrong, the error is that of the file:
    /// its socket may be another one.
    pub(super) fn ask(&self, request: &ControlRequest) -> Result<Value, Failure> {
        let answer = control::request(&self.socket, request, ANSWER_TIMEOUT);
        answer.map_err(|error| match (error, &self.broken) {
            // The gateway has read the same file; the mistakes are reported with their places.
            (control::CallError::Refused(_), Some((_, why)))
                if *request == ControlRequest::Reload =>
            {
                why.clone()
            }
            (control::CallError::Refused(text), None) if *request == ControlRequest::Reload => {
                refused_reload(text)
            }
            (other, _) => self.failure(other),
        })
    }

    /// Returns the failure of a request. If no gateway listens and the file is wrong, it is that of
    /// the file.
    pub(super) fn failure(&self, error: control::CallError) -> Failure {
        match (error, &self.broken) {
            (control::CallError::NoListener { .. }, Some((_, why))) => why.clone(),
            (other, _) => Failure::run(other),
        }
    }
}

/// Distinguishes the mistakes of the gateway's file from other reasons for a refused reload.
fn refused_reload(text: String) -> Failure {
    if text.starts_with("error: ") || text.starts_with("warning: ") {
        Failure::Mistakes(text)
    } else {
        Failure::Input(text)
    }
}

pub(crate) fn understand<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|e| {
        Failure::Run(format!(
            "cannot read the gateway's answer ({e}): is it another version of cangate?"
        ))
    })
}

/// Returns the socket of the only running gateway.
fn only_socket() -> Result<PathBuf, Failure> {
    let folder = control::folder();
    let entries = std::fs::read_dir(&folder);
    let (services, closed) = control::services(Path::new("/run"));
    let others = |folder: &Path| {
        Failure::Run(format!(
            "no permission to look for gateways' sockets in {}: ask as root (`sudo`), as for a gateway that \
             systemd runs",
            folder.display()
        ))
    };
    if let Err(error) = &entries
        && error.kind() == ErrorKind::PermissionDenied
    {
        return Err(others(&folder));
    }
    let mut found: Vec<PathBuf> = entries
        .map(|entries| {
            entries
                .flatten()
                .map(|e| e.path())
                .filter(|p| p.extension().is_some_and(|e| e == "sock"))
                .collect()
        })
        .unwrap_or_default();
    found.extend(services);
    found.sort();
    if found.is_empty() && closed > 0 {
        return Err(others(Path::new("/run/cangate-*")));
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Failure::Run(format!(
            "no gateway has a socket in {}: start one with `cangate run`, or name its file or \
             --socket",
            folder.display()
        ))),
        several => Err(Failure::input(format!(
            "several gateways have sockets in {}: name the file of the one to ask, or --socket\n{}",
            folder.display(),
            several
                .iter()
                .map(|p| p.display().to_string())
                .collect::<Vec<_>>()
                .join("\n")
        ))),
    }
}
