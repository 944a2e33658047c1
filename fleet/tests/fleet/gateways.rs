//! Two real gateways, with this program between them, as docs/fleet.md shows.

use crate::program::{ProgramProcess, file, tcp, wait_for};
use crate::router::TestRouter;
use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Number of frames of the log.
const FRAMES: usize = 200;

/// Returns the program `cangate`: `CANGATE` names it, or the main workspace has a debug build.
fn cangate() -> Option<PathBuf> {
    let named = std::env::var_os("CANGATE").map(PathBuf::from);
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/cangate");
    named.or(Some(built)).filter(|path| path.is_file())
}

/// A gateway that runs; it ends with this value.
struct GatewayProcess(Child);

impl GatewayProcess {
    fn start(program: &Path, folder: &Path, text: &str) -> Self {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("gateway.toml"), text).unwrap();
        let mut gateway = Command::new(program);
        gateway.args(["run", "gateway.toml"]).current_dir(folder);
        gateway.env("XDG_RUNTIME_DIR", folder);
        gateway
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join("said")).unwrap());
        Self(gateway.spawn().unwrap())
    }

    fn end(mut self) {
        let id = self.0.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", "TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        self.0.wait().unwrap();
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

fn table(keys: &str, gateway: u16, here: u16) -> String {
    format!(
        "[[buses]]\nvehicle = \"v1\"\nname = \"can0\"\nlisten = \"127.0.0.1:{here}\"\n\
         gateway = \"127.0.0.1:{gateway}\"\nmax_age = \"5s\"\nreport = \"200ms\"\n\
         urgent = \"000-0FF\"\n{keys}\n"
    )
}

/// Returns identifier and payload of each line of a log.
fn contents(log: &str) -> Vec<&str> {
    log.lines()
        .filter_map(|line| line.split(' ').nth(2))
        .collect()
}

#[test]
fn a_log_passes_two_gateways() {
    let Some(program) = cangate() else {
        println!("SKIPPED because there is no cangate: build it, or name it by CANGATE");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let router = TestRouter::start("tcp", &[]);
    let [near, near_here, far, far_here] = [0; 4].map(|_| free_port());

    let port = |listen: u16, connect: u16| {
        format!(
            "[ports.fleet]\nkind = \"ieee1722\"\nlisten = {listen}\n\
             connect = \"127.0.0.1:{connect}\"\nreports = \"1s\"\n"
        )
    };
    let far_text = format!(
        "{}[ports.result]\nkind = \"log\"\nwrite = \"out.log\"\n\
         [[routes]]\nfrom = \"fleet\"\nto = \"result\"\n",
        port(far, far_here)
    );
    let far_gateway = GatewayProcess::start(&program, &folder.join("far"), &far_text);
    let start = |name: &str, table: String| {
        let path = folder.join(name);
        fs::write(&path, file(&tcp(router.address), "", &[&table])).unwrap();
        ProgramProcess::start(&path)
    };
    let operator = start("operator.toml", table("side = \"operator\"", far, far_here));
    let vehicle = start("vehicle.toml", table("", near, near_here));

    // FD, 29 bits, remote and empty frames are among them.
    let line = |n: usize| {
        let frame = match n % 5 {
            0 => format!("{:03X}#{n:08X}", n % 0x800),
            1 => format!("{:08X}#{n:016X}", 0x18FE_0000 + n),
            2 => format!("123##5{n:024X}"),
            3 => "7FF#".to_owned(),
            _ => "345#R3".to_owned(),
        };
        format!("({:.6}) can0 {frame}\n", n as f64 * 0.002)
    };
    let log: String = (0..FRAMES).map(line).collect();
    let near_folder = folder.join("near");
    fs::create_dir_all(&near_folder).unwrap();
    fs::write(near_folder.join("in.log"), &log).unwrap();
    let near_text = format!(
        "{}[ports.drive]\nkind = \"log\"\nread = \"in.log\"\n\
         [[routes]]\nfrom = \"drive\"\nto = \"fleet\"\n",
        port(near, near_here)
    );
    let near_gateway = GatewayProcess::start(&program, &near_folder, &near_text);

    let out = folder.join("far/out.log");
    let read = || fs::read_to_string(&out).unwrap_or_default();
    let count = || read().lines().count();
    let mut before = 0;
    wait_for("all frames in the far log", || {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let now = count();
        std::mem::replace(&mut before, now) == now && now > 0
    });
    near_gateway.end();
    let published = vehicle.end()[0].publish.unwrap();
    let delivered = operator.end()[0].deliver.unwrap();
    far_gateway.end();
    println!("{published:?}\n{delivered:?}");
    assert_eq!((published.received, published.missing), (FRAMES as u64, 0));
    assert!(published.is_balanced() && delivered.is_balanced());
    assert_eq!(delivered.known_of(), published.published);
    // Between classes, the order can change; within an identifier, it does not.
    let (log, out) = (log, read());
    let (mut expected, mut came) = (contents(&log), contents(&out));
    expected.sort_by_key(|frame| frame.split('#').next().map(str::to_owned));
    came.sort_by_key(|frame| frame.split('#').next().map(str::to_owned));
    // On a busy machine, Zenoh drops frames, and those from before it knew the subscriber.
    if delivered.lost + delivered.before == 0 {
        assert_eq!(came, expected);
    }
    let strange = came.iter().find(|frame| !expected.contains(frame));
    assert_eq!(strange, None);
    assert_eq!(came.len() as u64, delivered.delivered);
    assert!(came.len() > FRAMES / 2, "{delivered:?}");
}
