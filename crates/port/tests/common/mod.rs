//! Virtual CAN interfaces for tests. They need a kernel with AF_CAN, vcan and vxcan, and permission
//! to make interfaces (`CAP_NET_ADMIN`, `ip` on the path); an error names what is missing.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test takes what it needs"
)]

use port::socketcan::{SocketCanSettings, open};
use std::process::Command;
use std::time::SystemTime;

/// `CANFD_MTU` (`uapi/linux/can.h`): classic and FD frames.
pub const FD_MTU: u32 = 72;
/// `CANXL_MAX_MTU`: XL frames, too.
pub const XL_MTU: u32 = 2060;

/// Returns the time in ns since the epoch.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_nanos() as u64
}

/// Runs `ip` with these arguments.
pub fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .map_err(|e| format!("`ip` cannot be run ({e})"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("`ip {arguments}` failed ({})", text.trim()))
}

fn has_sockets() -> Result<(), String> {
    let error = open("probe", &SocketCanSettings::new("lo")).err();
    if error.is_some_and(|error| error.to_string().contains("modprobe can")) {
        return Err("this kernel has no AF_CAN (EAFNOSUPPORT)".to_owned());
    }
    Ok(())
}

/// An interface; removed when the test is over.
pub struct Vcan(pub String);

impl Vcan {
    /// Makes it anew.
    pub fn new(name: &str) -> Result<Self, String> {
        has_sockets()?;
        let _ = ip(&format!("link del {name}"));
        ip(&format!("link add dev {name} type vcan"))?;
        let vcan = Self(name.to_owned());
        vcan.up();
        Ok(vcan)
    }

    /// Brings it up.
    pub fn up(&self) {
        ip(&format!("link set {} mtu {FD_MTU}", self.0)).unwrap();
        ip(&format!("link set {} up", self.0)).unwrap();
    }
}

impl Drop for Vcan {
    fn drop(&mut self) {
        let _ = ip(&format!("link del {}", self.0));
    }
}

/// Two interfaces, each of which receives the frames sent on the other; removed when the test is
/// over.
pub struct Pair {
    /// Name of one end.
    pub near: String,
    /// Name of the other end.
    pub far: String,
    mtu: u32,
}

impl Pair {
    /// Makes `NAME0` and `NAME1` anew, for frames of this size.
    pub fn new(name: &str, mtu: u32) -> Result<Self, String> {
        has_sockets()?;
        let pair = Self {
            near: format!("{name}0"),
            far: format!("{name}1"),
            mtu,
        };
        let _ = ip(&format!("link del {}", pair.near));
        pair.plug()?;
        Ok(pair)
    }

    /// Makes both ends once more, after they were removed.
    pub fn plug(&self) -> Result<(), String> {
        let Self { near, far, mtu } = self;
        ip(&format!("link add {near} type vxcan peer name {far}"))?;
        for name in [near, far] {
            ip(&format!("link set {name} mtu {mtu}"))
                .map_err(|why| format!("this kernel has no frames of this size: {why}"))?;
            ip(&format!("link set {name} up"))?;
        }
        // The kernel checks carriers at most once a second, and silently drops frames that are sent
        // before.
        let is_up = |name: &String| {
            let state = std::fs::read_to_string(format!("/sys/class/net/{name}/operstate"));
            state.is_ok_and(|state| state.trim() == "up")
        };
        for _ in 0..1000 {
            if [near, far].into_iter().all(is_up) {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        // A kernel that makes them gives them carriers: this is not a reason to skip a test.
        panic!("{near} and {far} have no carrier after 5 s");
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = ip(&format!("link del {}", self.near));
    }
}

/// Evaluates to the value of an expression, or ends the test and prints why.
macro_rules! or_skip {
    ($made:expr) => {
        match $made {
            Ok(made) => made,
            Err(why) => {
                eprintln!("SKIPPED because {why}");
                return;
            }
        }
    };
}
pub(crate) use or_skip;
