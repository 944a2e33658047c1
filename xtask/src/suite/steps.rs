//! The steps of `cargo xtask test`, with their times.

/// The runs that a step is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepClass {
    /// All runs.
    Quick,
    /// Runs with `--all`.
    All,
    /// Runs with `--long`.
    Long,
}

impl StepClass {
    /// Returns the word for the class in lists: the least option that includes it.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Quick => "always",
            Self::All => "--all",
            Self::Long => "--long",
        }
    }
}

/// A step.
pub(super) struct SuiteStep {
    pub(super) name: &'static str,
    pub(super) class: StepClass,
    /// A description of the step, in one line.
    pub(super) what: &'static str,
    /// About how long it takes in a run of its class from a clean clone, on two idle cores, in
    /// seconds, with the builds of the steps before it: measured, but for those of `--long`.
    pub(super) seconds: u32,
}

const fn quick(name: &'static str, seconds: u32, what: &'static str) -> SuiteStep {
    stage(name, StepClass::Quick, seconds, what)
}

const fn all(name: &'static str, seconds: u32, what: &'static str) -> SuiteStep {
    stage(name, StepClass::All, seconds, what)
}

const fn long(name: &'static str, seconds: u32, what: &'static str) -> SuiteStep {
    stage(name, StepClass::Long, seconds, what)
}

const fn stage(
    name: &'static str,
    class: StepClass,
    seconds: u32,
    what: &'static str,
) -> SuiteStep {
    SuiteStep {
        name,
        class,
        what,
        seconds,
    }
}

/// The steps in their order. docs/contributing.md has the same table, and a test compares them.
pub(super) const STEPS: [SuiteStep; 27] = [
    quick("setup", 25, "installs missing tools, or shows how"),
    quick("format", 4, "checks the formatting"),
    quick("structure", 1, "as `cargo xtask structure`"),
    quick(
        "build",
        140,
        "builds the gateway and its tests for debugging; with --all, also the tests of pages, and the laboratory and its tests",
    ),
    quick("test", 70, "all tests that were built and are not ignored"),
    all("clippy", 66, "clippy, with warnings as errors"),
    all(
        "small",
        35,
        "compiles the gateway without any kind of port, and the program for small devices; tests readers of databases that no default build has",
    ),
    all(
        "lab",
        156,
        "builds both programs for release and sets up the lab",
    ),
    all(
        "package",
        15,
        "as `cargo xtask package`, with the profile `release`",
    ),
    all(
        "arm64",
        230,
        "compiles the gateway for other processors, makes the arm64 package, and runs tests for 64-bit ARM; more of both in a long run",
    ),
    all(
        "heavy",
        440,
        "tests marked `#[ignore]`, with optimized programs",
    ),
    long(
        "long",
        900,
        "ignored tests in modules named `long`: several machines in a guest, or minutes each",
    ),
    all(
        "guests",
        132,
        "tests that need a kernel with CAN, in guests; in a long run on a real-time kernel, too",
    ),
    all(
        "reproduce",
        54,
        "`cangate lab reproduce --quick` of 11 claims, one of each kind",
    ),
    long(
        "features",
        180,
        "compiles each kind of port alone, the programs without other packages, and the gateway without any feature and with each of them alone",
    ),
    long(
        "claims",
        500,
        "`cangate lab reproduce --quick`: the claims that `reproduce` leaves out",
    ),
    all(
        "benches",
        14,
        "runs each part of each benchmark once; nothing is measured",
    ),
    all(
        "readme",
        1,
        "README names its two commands, and the demo runs",
    ),
    all(
        "no_std",
        26,
        "builds the core for a target without a standard library, and runs the scenarios of the engine as a program without one",
    ),
    all(
        "doc",
        31,
        "as `cargo xtask doc`, and the examples in the API documentation",
    ),
    all(
        "python",
        61,
        "lints, builds and installs the Python package, and runs its tests",
    ),
    long(
        "fleet",
        220,
        "lints the program for fleets and runs its tests, with Zenoh's crates",
    ),
    long(
        "secure",
        200,
        "lints the program for networks that are not trusted and runs its tests, with the crates of DTLS and TLS",
    ),
    all("fuzz", 29, "fuzzes each target for a second"),
    all("bpf", 1, "as `cargo xtask bpf`"),
    all("promises", 1, "as `cargo xtask promises`"),
    quick(
        "documents",
        2,
        "checks the links, that each dependency has a reason, and that figures name the version that made them; warns of stale ones",
    ),
];
