//! Running a gateway from `gateway.toml` with the ports of the `port` crate.

use super::beside::files_beside;
use super::error::{LoadError, OpenErrors, OverwrittenFile, RunError, StartError};
use super::offloaded;
use super::options::{RunSettings, RunSummary};
use super::site::{PlanSource, RunPlan};
use super::supervise::supervise_by;
use crate::config::{self, GatewayConfig, LARGEST_FILE};
use crate::control;
use crate::notice::Listener;
use crate::service::ServiceContext;
#[cfg(feature = "simulate")]
use crate::simulate::SimulationOptions;
use ::config::{SourceText, render};
use engine::{FrameInterest, PortError};
use frame::Nanos;
#[cfg(feature = "simulate")]
use port::embedded::BusTraffic;
use port::{FileOrStream, InterfaceFinder, PortKinds, PortOpener, PortSettings, PortSpec};
use std::collections::HashMap;
use std::fs::Metadata;
use std::io::Read;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use worker::Port;
use worker::WallClock;

/// The options for a run of a `gateway.toml`, in addition to its contents. By default, all are off.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunOptions {
    /// The file, which a reload reads again; its name is also that of the control socket. `None` if
    /// the configuration came from a source that cannot be read twice.
    pub file: Option<PathBuf>,
    /// Whether the run ends when every input that has an end (a log) has reached it and every frame
    /// is sent.
    pub until_end: bool,
    /// Whether a bad line of a log takes its port out of service, instead of being left out.
    pub strict: bool,
    /// Whether to act on SIGHUP, SIGTERM and SIGINT; see [`RunSettings::signals`].
    pub signals: bool,
    /// The service manager to notify; see [`RunSettings::service`].
    pub service: Option<ServiceContext>,
    /// Whether routes in the kernel stay there at the end, for the next start to take over.
    pub persist: bool,
}

/// Returns the control socket of a gateway that runs this file: its `control`, or by default
/// [`control::default_path`] with the file's name. A relative `control` is relative to
/// [`control::folder`].
#[must_use]
pub fn control_path(file: Option<&Path>, options: &config::ProcessOptions) -> PathBuf {
    match &options.control {
        Some(path) => control::folder().join(path),
        None => {
            let stem = file.and_then(Path::file_stem);
            let name = stem.map_or_else(|| "gateway".into(), |stem| stem.to_string_lossy());
            control::default_path(&name)
        }
    }
}

/// Returns the control socket at which to ask a gateway that runs this file: that of
/// [`control_path`], or that of the service of this name, if only that one exists.
#[must_use]
pub fn control_path_to_ask(file: Option<&Path>, options: &config::ProcessOptions) -> PathBuf {
    let path = control_path(file, options);
    let name = file
        .and_then(Path::file_stem)
        .and_then(|stem| stem.to_str());
    match name.map(control::service_path) {
        // A folder that this user may not read exists: the request will report that.
        Some(service)
            if options.control.is_none()
                && !path.exists()
                && !matches!(service.try_exists(), Ok(false)) =>
        {
            service
        }
        _ => path,
    }
}

/// Runs a gateway until a signal or a client ends it; see [`super::supervise()`]. A reload supports
/// these kinds of port. The listener receives the notices meanwhile.
///
/// # Errors
/// [`RunError`].
pub fn run(
    config: GatewayConfig,
    kinds: &PortKinds,
    options: &RunOptions,
    listener: &Listener<'_>,
) -> Result<RunSummary, RunError> {
    run_as(config, kinds, options, None, listener)
}

/// A run on embedded buses in place of interfaces.
#[cfg(feature = "simulate")]
pub(crate) struct SimulatedRun {
    pub(crate) options: SimulationOptions,
    /// The frames of other nodes on the buses.
    pub(crate) traffic: Option<Box<dyn BusTraffic>>,
}

/// This build has no simulation.
#[cfg(not(feature = "simulate"))]
#[derive(Clone, Copy)]
pub(crate) enum SimulatedRun {}

/// Runs a gateway as [`run`] does, or in a simulation.
pub(crate) fn run_as(
    config: GatewayConfig,
    kinds: &PortKinds,
    options: &RunOptions,
    simulated: Option<SimulatedRun>,
    listener: &Listener<'_>,
) -> Result<RunSummary, RunError> {
    let clock = WallClock::new();
    let mut site = GatewayFiles::new(config, kinds, options, clock.now());
    if let Some(simulated) = simulated {
        site.simulate(simulated).map_err(RunError::Simulation)?;
    }
    let config = site.config.clone();
    let inputs: Vec<String> = config
        .ports
        .iter()
        .filter(|port| port.settings.input_ends())
        .map(|p| p.name.clone())
        .collect();
    if options.until_end && inputs.is_empty() {
        return Err(RunError::NoEnd);
    }
    no_port_overwrites_another(&config.ports)?;
    let how = RunSettings {
        control: Some(control_path(options.file.as_deref(), &config.options)),
        process: config.options.clone(),
        signals: options.signals,
        service: options.service.clone(),
        until_end: if options.until_end {
            inputs
        } else {
            Vec::new()
        },
    };
    let plan = offloaded::plan(site.config.clone(), &site.instance(), options.persist);
    supervise_by(clock, &mut site, plan, &how, listener)
}

/// Checks the files to write, because they are emptied at the start. The names alone do not reveal
/// links and other spellings of a file that another port reads or writes; this check does.
fn no_port_overwrites_another(ports: &[PortSpec]) -> Result<(), OverwrittenFile> {
    type Side = fn(&dyn PortSettings) -> Option<&FileOrStream>;
    let files = |side: Side, standard: fn() -> Option<Metadata>| {
        ports.iter().filter_map(move |port| {
            let (meta, path) = match side(&*port.settings)? {
                FileOrStream::Standard => (standard()?, PathBuf::from("-")),
                FileOrStream::File(path) => (std::fs::metadata(path).ok()?, path.clone()),
            };
            // A file that does not exist yet belongs to no other port, and devices and pipes cannot
            // be emptied.
            meta.is_file()
                .then(|| ((meta.dev(), meta.ino()), port.name.as_str(), path))
        })
    };
    let mut taken: HashMap<(u64, u64), (&str, &'static str)> =
        files(PortSettings::reads, || looked_at(std::io::stdin().as_fd()))
            .map(|(file, port, _)| (file, (port, "read")))
            .collect();
    let written = files(PortSettings::writes, || {
        looked_at(std::io::stdout().as_fd())
    });
    for (file, port, path) in written {
        if let Some((other, used)) = taken.insert(file, (port, "written")) {
            return Err(OverwrittenFile {
                port: port.to_owned(),
                path,
                other: other.to_owned(),
                used,
            });
        }
    }
    Ok(())
}

/// Returns the metadata of an open descriptor.
fn looked_at(fd: BorrowedFd<'_>) -> Option<Metadata> {
    let file = std::fs::File::from(fd.try_clone_to_owned().ok()?);
    file.metadata().ok()
}

struct GatewayFiles {
    kinds: PortKinds,
    opener: PortOpener,
    file: Option<PathBuf>,
    in_force: config::ProcessOptions,
    persist: bool,
    #[cfg(feature = "simulate")]
    simulation: Option<SimulationOptions>,
    /// The configuration in force.
    config: GatewayConfig,
    /// The configuration that was read last, until it is in force.
    next: Option<GatewayConfig>,
}

impl GatewayFiles {
    fn new(config: GatewayConfig, kinds: &PortKinds, options: &RunOptions, now: Nanos) -> Self {
        Self {
            kinds: kinds.clone(),
            opener: PortOpener::new(now, now)
                .strict(options.strict)
                .awaiting_interfaces(),
            file: options.file.clone(),
            in_force: config.options.clone(),
            persist: options.persist,
            #[cfg(feature = "simulate")]
            simulation: None,
            config,
            next: None,
        }
    }

    /// Puts embedded buses in place of interfaces, now and at each reload.
    #[cfg(feature = "simulate")]
    fn simulate(&mut self, run: SimulatedRun) -> Result<(), String> {
        self.simulation = Some(run.options);
        self.config = self.in_place(self.config.clone())?;
        self.in_force = self.config.options.clone();
        if let Some(traffic) = run.traffic {
            port::embedded::world(&mut self.opener).replay(traffic);
        }
        Ok(())
    }

    #[cfg(not(feature = "simulate"))]
    fn simulate(&mut self, run: SimulatedRun) -> Result<(), String> {
        match run {}
    }

    /// Returns the configuration that runs in place of that of a file.
    fn in_place(&self, config: GatewayConfig) -> Result<GatewayConfig, String> {
        #[cfg(feature = "simulate")]
        if let Some(options) = &self.simulation {
            let simulated = config
                .simulated(options)
                .map_err(|wrong| wrong.to_string())?;
            return Ok(simulated.config);
        }
        Ok(config)
    }

    /// Returns the name under which routes are in the kernel.
    fn instance(&self) -> PathBuf {
        control_path(self.file.as_deref(), &self.in_force)
    }
}

impl PlanSource for GatewayFiles {
    type Spec = PortSpec;

    fn load(&mut self) -> Result<RunPlan<PortSpec>, LoadError> {
        let Some(file) = &self.file else {
            return Err(LoadError::NoFile);
        };
        let source = read(file)?;
        let wrong = |found: Vec<_>| LoadError::Wrong(render(&source, &found, false));
        let files = files_beside(Some(file));
        let (config, warnings) = config::load_with(&source, &self.kinds, &files).map_err(wrong)?;
        let config = self.in_place(config).map_err(LoadError::Wrong)?;
        no_port_overwrites_another(&config.ports)?;
        let mut remarks = Vec::new();
        if !warnings.is_empty() {
            remarks.push(render(&source, &warnings, false));
        }
        // A change of where routes run, or of who may send, takes effect at once.
        let now = config::ProcessOptions {
            offload: self.in_force.offload,
            inject: self.in_force.inject,
            ..config.options.clone()
        };
        if now != self.in_force {
            remarks.push(
                "`control`, `metrics`, `realtime` and `lock_memory` take effect at the next start"
                    .into(),
            );
        }
        self.next = Some(config.clone());
        let mut plan = offloaded::plan(config, &self.instance(), self.persist);
        plan.remarks = remarks;
        Ok(plan)
    }

    fn put_in_force(&mut self) {
        if let Some(next) = self.next.take() {
            self.config = next;
        }
    }

    fn choose_again(&self) -> Option<RunPlan<PortSpec>> {
        let choices = offloaded::possible_data_paths(&self.config);
        let config = self.config.clone();
        Some(offloaded::plan_with(
            config,
            &choices,
            &self.instance(),
            self.persist,
        ))
    }

    fn open(
        &mut self,
        name: &str,
        spec: &PortSpec,
        interest: &FrameInterest,
    ) -> Result<Port, PortError> {
        let (rx, tx) = spec.open(&mut self.opener)?;
        let mut port = Port {
            name: name.to_owned(),
            rx,
            tx,
        };
        port.set_interest(interest)?;
        Ok(port)
    }

    fn start(&mut self) -> Result<(), StartError> {
        // Check again: only now is it known whether two names of a new file mean the same file.
        let config = self.next.as_ref().unwrap_or(&self.config);
        no_port_overwrites_another(&config.ports)?;
        self.opener.start().map_err(OpenErrors)?;
        Ok(())
    }

    fn give_up(&mut self) {
        // Otherwise the next change of a data path would put the refused configuration in force.
        self.next = None;
        self.opener.give_up();
    }

    fn describe(&self, spec: &PortSpec) -> String {
        spec.settings.describe()
    }

    fn is_in_force(&self, spec: &PortSpec) -> bool {
        spec.settings.is_in_force()
    }

    fn takes_frames_of_clients(&self, spec: &PortSpec) -> bool {
        self.config.options.inject || spec.clients.inject
    }

    fn interface_finder(&self, spec: &PortSpec) -> Option<InterfaceFinder> {
        spec.settings.interface_finder()
    }

    fn interface<'s>(&self, spec: &'s PortSpec) -> Option<&'s str> {
        spec.settings.interface()
    }
}

fn read(file: &Path) -> Result<SourceText, LoadError> {
    let mut bytes = Vec::new();
    if std::fs::metadata(file).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return Err(LoadError::NoRegularFile {
            path: file.to_owned(),
        });
    }
    std::fs::File::open(file)
        .and_then(|f| f.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes))
        .map_err(|source| LoadError::Read {
            path: file.to_owned(),
            source,
        })?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(SourceText::new(file.display().to_string(), text)),
        Err(error) => Err(LoadError::NotText {
            path: file.to_owned(),
            at: error.utf8_error().valid_up_to(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error of `run` for a gateway that reads and writes these logs.
    fn refused(read: &Path, write: &Path) -> String {
        let text = format!(
            "[gateway]\nrealtime = false\nlock_memory = false\n\
             [ports.a]\nkind = 'log'\nread = '{}'\npace = 'fast'\n\
             [ports.b]\nkind = 'log'\nwrite = '{}'\n\
             [[routes]]\nfrom = 'a'\nto = 'b'\n",
            read.display(),
            write.display()
        );
        let (config, _) =
            config::load(&SourceText::new("t", text), &PortKinds::standard()).unwrap();
        let options = RunOptions {
            file: Some(write.with_extension("toml")),
            until_end: true,
            ..RunOptions::default()
        };
        match run(config, &PortKinds::standard(), &options, &|_| ()) {
            Err(RunError::Overwritten(why)) => why.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_log_that_is_read_is_not_emptied_under_another_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("drive.log");
        let line = "(1.000000) can0 123#00\n";
        std::fs::write(&log, line).unwrap();
        let link = folder.path().join("link.log");
        std::os::unix::fs::symlink(&log, &link).unwrap();
        let hard = folder.path().join("hard.log");
        std::fs::hard_link(&log, &hard).unwrap();
        for other in [link, hard] {
            let why = refused(&log, &other);
            assert!(why.contains("is the file that is read by port a"), "{why}");
            assert_eq!(std::fs::read_to_string(&log).unwrap(), line);
        }
    }

    #[test]
    fn a_refused_configuration_never_comes_into_force() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("g.toml");
        let text = "[gateway]\nrealtime = false\nlock_memory = false\n\
             [ports.a]\nkind = 'bus'\n[ports.b]\nkind = 'bus'\n\
             [[routes]]\nfrom = 'a'\nto = 'b'\nid = '123'\n";
        let kinds = PortKinds::standard();
        let (config, _) = config::load(&SourceText::new("t", text), &kinds).unwrap();
        let options = RunOptions {
            file: Some(file.clone()),
            ..RunOptions::default()
        };
        let mut site = GatewayFiles::new(config, &kinds, &options, 0);
        let id = |site: &GatewayFiles| {
            site.choose_again().unwrap().routes.routes[0]
                .matching
                .ids
                .clone()
        };
        let before = id(&site);

        std::fs::write(&file, text.replace("123", "124")).unwrap();
        site.load().unwrap();
        site.give_up();
        // As a change of a data path does.
        site.put_in_force();
        assert_eq!(id(&site), before);

        site.load().unwrap();
        site.put_in_force();
        assert_ne!(id(&site), before);
    }
}
