//! `cangate lab shell`: fed by a pipe and by a terminal, and ended in every way.

use super::lab;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Time that a guest may take for each step, on a busy host.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

#[test]
#[ignore = "boots a guest"]
fn commands_come_from_a_pipe() {
    let Some(_lab) = lab() else { return };
    let run = |bench: &str, commands: &str| {
        assert_cmd::Command::new(crate::program())
            .args(["lab", "shell", "--bench", bench])
            .write_stdin(commands)
            .timeout(TEST_TIMEOUT)
            .output()
            .unwrap()
    };
    // More than a FIFO takes at once.
    let comment = format!("# {}\n", "x".repeat(100)).repeat(2_000);
    let commands = format!(
        "{comment}cat /sys/class/net/vcan0/operstate; echo to err >&2\n\
         candump -L -n 1 vcan0 > /tmp/d & sleep 1; cansend vcan0 123#11; wait\n\
         sed 's/.* //' /tmp/d; cangate timing 123# | wc -l; exit 3\n"
    );
    let output = run("vcan", &commands);
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert_eq!(output.status.code(), Some(3), "{out}\n{err}");
    assert!(out.starts_with("unknown\n123#11\n"), "{out}\n{err}");
    assert_eq!(err.lines().last(), Some("to err"));
    // The end of the input ends the shell, with the last command's status, and the bench is the
    // given one.
    let output = run("kvaser", "ip -br link show dev can2 | cut -d' ' -f1\nfalse");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "can2\n");
    assert_eq!(output.status.code(), Some(1));
}

/// A shell on a terminal of its own.
struct OnTerminal {
    child: Child,
    /// The user's side.
    user: File,
    /// The program's side, kept open to check its modes.
    line: File,
    shown: Receiver<Vec<u8>>,
    seen: String,
}

impl OnTerminal {
    fn start() -> Self {
        let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&user).unwrap();
        unlockpt(&user).unwrap();
        let name = ptsname(&user, Vec::new()).unwrap().into_string().unwrap();
        let line = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .unwrap();
        let user = File::from(user);
        resize(&user, 33, 111);
        let end = || line.try_clone().unwrap();
        let child = Command::new(crate::program())
            .args(["lab", "shell", "--bench", "none"])
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let (to, shown) = channel();
        let mut screen = user.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                if to.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut shell = Self {
            child,
            user,
            line,
            shown,
            seen: String::new(),
        };
        shell.until(":~# ");
        shell
    }

    fn keys(&mut self, keys: &str) {
        self.user.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this text is shown; the output after it is checked the next time.
    fn until(&mut self, words: &str) {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(at) = self.seen.find(words) {
                self.seen.drain(..at + words.len());
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.shown.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("{words:?} is not shown: {:?}", self.seen),
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Returns whether the terminal works line by line, and shows typed input.
    fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.line).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    fn end(&mut self) -> ExitStatus {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if Instant::now() >= deadline {
                for bytes in self.shown.try_iter() {
                    self.seen.push_str(&String::from_utf8_lossy(&bytes));
                }
                panic!("it does not end: {:?}", self.seen);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(terminal: &File, rows: u16, columns: u16) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).unwrap();
}

#[test]
#[ignore = "boots a guest"]
fn a_terminal_has_its_size_its_keys_and_its_modes_afterwards() {
    let Some(_lab) = lab() else { return };
    let mut shell = OnTerminal::start();
    assert!(!shell.is_cooked(), "keys go to the guest one by one");
    shell.keys("stty size; echo is $TERM; tty\n");
    shell.until("33 111");
    shell.until("/dev/pts/");
    resize(&shell.user, 20, 70);
    shell.signal(Signal::WINCH);
    // The shell is notified of it as soon as the signal has been handled.
    shell.keys("until [ \"$(stty size)\" = '20 70' ]; do :; done; echo resi''zed\n");
    shell.until("resized");
    // Ctrl-C is for the job that runs in the guest. The job itself reports that it runs: input
    // typed while the shell is between two jobs is echoed as well, and Ctrl-C then also discards
    // input typed after it.
    shell.keys("sh -c 'echo star\"\"ted; exec sleep 1000'\n");
    shell.until("started");
    shell.keys("\u{3}");
    shell.until(":~# ");
    shell.keys("exit 7\n");
    assert_eq!(shell.end().code(), Some(7));
    assert!(shell.is_cooked());
}

#[test]
#[ignore = "boots a guest"]
fn ctrl_d_and_a_signal_end_it() {
    let Some(_lab) = lab() else { return };
    let mut shell = OnTerminal::start();
    shell.keys("\u{4}");
    assert_eq!(shell.end().code(), Some(0));
    assert!(shell.is_cooked());
    let mut shell = OnTerminal::start();
    shell.keys("sleep 1000\n");
    shell.signal(Signal::TERM);
    assert_eq!(shell.end().code(), Some(128 + 15));
    assert!(shell.is_cooked());
}
