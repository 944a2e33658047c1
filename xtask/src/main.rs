//! The tasks of contributors; CI is one of them. `cargo xtask help` lists them.

#![forbid(unsafe_code)]

mod alone;
mod arm64;
mod bpf;
mod checks;
mod command;
mod figures;
mod fuzz;
mod keys;
mod lab;
mod libtest;
mod manual;
mod package;
mod parallel;
mod pictures;
mod promises;
mod python;
mod report;
mod setup;
mod size;
mod structure;
mod suite;
mod venv;
mod without_os;
mod workspace;

use clap::{Parser, Subcommand};
use package::{Architecture, PackageProfile};
use report::StepReport;
use std::process::ExitCode;
use workspace::{TestScope, Workspace};

/// Tasks for contributors of cangate.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = false)]
struct Arguments {
    #[command(subcommand)]
    command: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    /// Test what can be tested on this machine within minutes; with --all, what CI tests
    ///
    /// Installs missing tools, and lists them first. With --all --long, runs everything. `--list`
    /// shows what each step does and how long it takes.
    Test(suite::SuiteOptions),
    /// `test --all`: what CI runs
    Ci(suite::SuiteOptions),
    /// Formatting, and clippy with warnings as errors
    Lint,
    /// The API's documentation, with warnings as errors
    Doc,
    /// Rebuild the BPF object and compare it with the committed one
    Bpf {
        /// Replace the committed one
        #[arg(long)]
        update: bool,
    },
    /// Compare ARCHITECTURE.md with the code: dependencies of crates, features, `unsafe`, licences,
    /// width of comments
    Structure,
    /// Search for inputs that break a promise
    Fuzz(fuzz::FuzzOptions),
    /// Measure: all benchmarks, or those of one name
    Bench {
        /// Name of a benchmark target, such as `decide`
        name: Option<String>,
        /// Arguments of the benchmark itself, after `--`
        #[arg(last = true)]
        rest: Vec<String>,
    },
    /// Build the Debian package, with man pages, completions and a program that is linked
    /// statically
    Package {
        /// The processor it is for [default: this machine's]
        #[arg(long, value_enum)]
        arch: Option<Architecture>,
    },
    /// Packages, sizes and memory of the gateway, with all features and with few
    Size,
    /// Write the tables of keys in docs/gateway-toml.md, and docs/gateway.schema.json
    ///
    /// They are made from the definitions of the keys in the source.
    Keys,
    /// Draw the pictures of the documents again, with the program; needs Chromium
    ///
    /// The tests compare docs/pictures with the program's output. After an intended change, this
    /// writes them; look at each before it is committed.
    Pictures,
    /// Check that every promise of docs/promises.md is kept by a test that exists
    Promises,
    /// List what this machine lacks for `test`, and install it if that is allowed
    Setup,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a task; returns `false` if it failed and the failure was already reported.
fn run(task: XtaskCommand) -> anyhow::Result<bool> {
    // CI's command is an alias of a command with an option.
    let task = match task {
        XtaskCommand::Ci(options) => XtaskCommand::Test(options.everything()),
        other => other,
    };
    if let XtaskCommand::Test(options) = &task
        && options.is_list()
    {
        print!("{}", options.steps()?);
        return Ok(true);
    }
    let workspace = Workspace::find()?;
    let mut report = StepReport::new();
    match task {
        XtaskCommand::Test(options) | XtaskCommand::Ci(options) => {
            suite::run(&workspace, &options, &mut report)?;
        }
        XtaskCommand::Lint => {
            report.step("format", || checks::format(&workspace));
            report.step("clippy", || checks::clippy(&workspace));
        }
        XtaskCommand::Doc => report.step("doc", || checks::doc(&workspace)),
        XtaskCommand::Bpf { update } => report.step("bpf", || bpf::run(&workspace, update)),
        XtaskCommand::Structure => report.step("structure", || structure::check(&workspace)),
        XtaskCommand::Fuzz(options) => report.step("fuzz", || fuzz::run(&workspace, &options)),
        XtaskCommand::Bench { name, rest } => {
            return checks::bench(&workspace, name.as_deref(), &rest);
        }
        XtaskCommand::Package { arch } => report.step("package", || {
            let architecture = arch.unwrap_or(Architecture::host());
            package::run(&workspace, architecture, PackageProfile::Dist)
        }),
        XtaskCommand::Size => report.step("size", || size::run(&workspace)),
        XtaskCommand::Keys => report.step("keys", || keys::make(&workspace)),
        XtaskCommand::Pictures => report.step("pictures", || pictures::make(&workspace)),
        XtaskCommand::Promises => report.step("promises", || {
            let binaries = workspace.test_binaries(TestScope::All)?;
            promises::check(&workspace, &binaries)
        }),
        XtaskCommand::Setup => report.step("setup", || {
            setup::run(&workspace.root, setup::may_install(), true)
        }),
    }
    Ok(report.close())
}
