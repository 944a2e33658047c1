//! `offload = "auto"`: why a route stays in the process.

use super::{exec, lab};

/// A route that can-gw cannot express, and one that must stay with it; both lead to a plain vcan.
const SCRIPT: &str = r#"
modprobe -a sch_ingress cls_bpf
cat > /tmp/g.toml <<'END'
[gateway]
offload = "auto"
[ports.vcan0]
kind = "socketcan"
[ports.vcan1]
kind = "socketcan"
[[routes]]
name = "by payload"
from = "vcan0"
to = "vcan1"
payload = [{ at = 0, value = "11" }]
[[routes]]
name = "plain"
from = "vcan0"
to = "vcan1"
END
echo ==check
cangate check /tmp/g.toml
cangate run /tmp/g.toml 2> /tmp/said &
while ! cangate stats /tmp/g.toml > /tmp/stats 2>&1; do sleep 0.1; done
echo ==routes
cangate routes /tmp/g.toml
kill %1
wait %1
"#;

#[test]
#[ignore = "boots a guest"]
fn check_and_routes_give_the_reason_a_route_stays_in_the_process() {
    let Some(_lab) = lab() else { return };
    let output = exec("--bench vcan", SCRIPT).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{out}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (check, routes) = out.split_once("==routes").unwrap();
    let vcan = "not by bpf: goes to vcan1, and a vcan interface shows local programs nothing of what \
                BPF puts into it";
    assert_eq!(check.matches("runs in this process").count(), 2, "{out}");
    for text in [check, routes] {
        assert_eq!(text.matches(vcan).count(), 2, "{out}");
        assert!(
            text.contains("not by can-gw: it looks at the payload"),
            "{out}"
        );
        assert!(
            text.contains("not by can-gw: must stay with route `by payload`"),
            "{out}"
        );
    }
}
