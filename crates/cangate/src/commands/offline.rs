//! `cangate check`, `import`, `export`: the commands that need no running gateway.

use crate::cli::{Check, Export, Import};
use crate::input::load_config;
use console::Failure;
use console::input::read_source;
use console::output;
use offload::DataPath;
use route::cangw::CanGwInexpressible;
use std::io::Write;

pub(crate) fn check(args: &Check, color: bool) -> Result<(), Failure> {
    let source = read_source(&args.file)?;
    let (config, warnings) = load_config(&source, &args.file, color)?;
    eprint!("{warnings}");
    let mut text = match args.verbose {
        true => config.describe_all(),
        false => config.describe(),
    };
    text.push_str(&data_paths(&config));
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Describes where each route runs on this machine, unless all run in this process.
fn data_paths(config: &gateway::config::GatewayConfig) -> String {
    use gateway::config::Offload;
    if config.options.offload == Offload::None {
        return String::new();
    }
    let mut text = String::new();
    let choices = gateway::run::data_paths(config);
    let objections = gateway::run::objections(config);
    let each = config.routes.routes.iter().zip(&choices);
    for ((route, choice), objection) in each.zip(&objections) {
        let runs = match choice.data_path {
            DataPath::Bpf => "in the kernel, by BPF",
            DataPath::CanGw => "in the kernel, by can-gw",
            DataPath::Process => "in this process",
        };
        let verb = if objection.is_some() {
            "is to run"
        } else {
            "runs"
        };
        text.push_str(&format!("route {} {verb} {runs}\n", route.name));
        for (faster, why) in &choice.because {
            text.push_str(&format!("  not by {faster}: {why}\n"));
        }
        if let Some(why) = objection {
            text.push_str(&format!("  not on this machine: {why}\n"));
        }
    }
    let absent = gateway::run::absent_interfaces(config);
    if !absent.is_empty() {
        text.push_str(&format!(
            "Missing now: {}. Routes in the kernel start when their interfaces appear.\n",
            absent.join(", ")
        ));
    }
    let by_bpf = choices.iter().any(|c| c.data_path == DataPath::Bpf);
    if by_bpf && !config.options.tap {
        text.push_str(
            "Local programs (candump) do not see frames that BPF takes, unless `tap = true`.\n",
        );
    }
    text
}

pub(crate) fn import(args: &Import, color: bool) -> Result<(), Failure> {
    let source = read_source(&args.file)?;
    let imported = match route::cangw::import(&source) {
        Ok(imported) => imported,
        Err(found) => return Err(Failure::Mistakes(config::render(&source, &found, color))),
    };
    eprint!("{}", config::render(&source, &imported.notes, color));
    let Some(path) = &args.output else {
        std::io::stdout().write_all(imported.toml.as_bytes())?;
        return Ok(());
    };
    output::file(path)?;
    let mut file = std::fs::File::create_new(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::input(format!(
            "{} exists and is kept: give another name, or move it away",
            path.display()
        )),
        _ => Failure::file("write", path, &e),
    })?;
    file.write_all(imported.toml.as_bytes())
        .map_err(|e| Failure::file("write", path, &e))
}

pub(crate) fn export(args: &Export, color: bool) -> Result<(), Failure> {
    let source = read_source(&args.file)?;
    let (config, warnings) = load_config(&source, &args.file, color)?;
    eprint!("{warnings}");
    match route::cangw::export(&config.kernel_routes(), &config.kernel_ports()) {
        Ok(script) => {
            std::io::stdout().write_all(script.as_bytes())?;
            Ok(())
        }
        Err(inexpressible) => {
            let words = |wrong: &CanGwInexpressible| match wrong.route {
                Some(id) => match config.needs_process(id) {
                    Some(why) => format!("route `{}`: {why}", wrong.name),
                    None => wrong.to_string(),
                },
                None => wrong.to_string(),
            };
            let lines: Vec<String> = inexpressible.iter().map(words).collect();
            Err(Failure::Input(format!(
                "can-gw cannot express all routes of {}:\n{}",
                source.name,
                lines.join("\n")
            )))
        }
    }
}
