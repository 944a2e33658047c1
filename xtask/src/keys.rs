//! The keys of gateway.toml in the documents: a test that compares them writes them here.

use crate::command::show;
use crate::report::TestTally;
use crate::workspace::Workspace;
use anyhow::{Context as _, Result, ensure};

/// The variable that makes the test write.
const WRITE: &str = "CANGATE_KEYS";

/// Writes the tables of docs/gateway-toml.md, and docs/gateway.schema.json.
pub(crate) fn make(workspace: &Workspace) -> Result<TestTally> {
    let mut test = workspace.cargo("test");
    test.args([
        "-p",
        "cangate-gateway",
        "--test",
        "integration",
        "document::",
    ]);
    test.env(WRITE, "write");
    ensure!(show(&mut test)?, "the tables of keys could not be written");
    let mut schema = workspace.cargo("run");
    schema.args(["--quiet", "-p", "cangate", "--", "schema"]);
    let output = schema.output().context("running `cangate schema`")?;
    ensure!(output.status.success(), "`cangate schema` failed");
    let path = workspace.root.join("docs/gateway.schema.json");
    std::fs::write(&path, output.stdout).with_context(|| format!("writing {}", path.display()))?;
    Ok(TestTally::passed())
}
