//! The other side is OpenSSL: DTLS with a pre-shared key, and TLS with certificates.

use crate::program::{
    SecureProcess, TestAuthority, TestProcess, free_tcp, free_udp, has_program, wait_for,
    write_secret,
};
use cangate_secure::counters::LinkReport;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const KEY: &str = "00112233445566778899aabbccddeeff";

/// OpenSSL as a peer, with what it has written to standard output.
struct OpensslPeer {
    process: TestProcess,
    stdin: ChildStdin,
    output: Arc<Mutex<Vec<u8>>>,
}

impl OpensslPeer {
    fn start(arguments: &[String]) -> Self {
        let mut openssl = Command::new("openssl");
        openssl.args(arguments);
        openssl.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = TestProcess::start(&mut openssl);
        let stdin = process.child.stdin.take().unwrap();
        let mut stdout = process.child.stdout.take().unwrap();
        let output = Arc::new(Mutex::new(Vec::new()));
        let reading = Arc::clone(&output);
        std::thread::spawn(move || {
            let mut bytes = [0; 1000];
            while let Ok(len @ 1..) = stdout.read(&mut bytes) {
                reading.lock().unwrap().extend_from_slice(&bytes[..len]);
            }
        });
        Self {
            process,
            stdin,
            output,
        }
    }

    fn has_written(&self, part: &str) -> bool {
        let output = self.output.lock().unwrap();
        String::from_utf8_lossy(&output).contains(part)
    }

    fn wait_for(&self, part: &str) {
        wait_for(&format!("{part} of openssl"), || self.has_written(part));
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// The options for the only suite of DTLS that both have.
fn psk(identity: &str, key: &str) -> String {
    format!("-dtls1_2 -psk_identity {identity} -psk {key} -cipher PSK-AES128-CCM8:@SECLEVEL=0")
}

/// A gateway's port for datagrams, with the keys of its peer.
fn gateway(folder: &Path, key: &str) -> (UdpSocket, String) {
    write_secret(&folder.join("v1.psk"), key);
    let (gateway, plain) = (UdpSocket::bind("127.0.0.1:0").unwrap(), free_udp());
    gateway.connect(("127.0.0.1", plain)).unwrap();
    gateway
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let keys = format!(
        "identity = \"v1\"\nkey = \"v1.psk\"\nplain = \"127.0.0.1:{plain}\"\ngateway = \"{}\"\n",
        gateway.local_addr().unwrap()
    );
    (gateway, keys)
}

fn receive(gateway: &UdpSocket) -> Vec<u8> {
    let mut buffer = [0; 2000];
    let len = gateway.recv(&mut buffer).unwrap();
    buffer[..len].to_vec()
}

#[test]
fn openssl_connects_by_dtls() {
    if !has_program("openssl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (gateway, peer) = gateway(folder.path(), KEY);
    let port = free_udp();
    let text =
        format!("[[udp]]\nname = \"zone\"\nlisten = \"127.0.0.1:{port}\"\n[[udp.peers]]\n{peer}");
    let secure = SecureProcess::start(folder.path(), "secure.toml", &text);
    let client = |identity: &str, key: &str| {
        let options = psk(identity, key);
        OpensslPeer::start(&words(&format!(
            "s_client -connect 127.0.0.1:{port} {options}"
        )))
    };
    let _wrong = client("v1", "ffeeddccbbaa99887766554433221100");
    secure.0.wait_for("wrong key for identity `v1`");
    let _unknown = client("v2", KEY);
    secure.0.wait_for("unknown identity `v2`");

    let mut good = client("v1", KEY);
    secure.0.wait_for("v1 has joined from");
    good.stdin.write_all(b"from openssl\n").unwrap();
    assert_eq!(receive(&gateway), b"from openssl\n");
    gateway.send(b"from the gateway\n").unwrap();
    good.wait_for("from the gateway");
    // Q ends the session.
    good.stdin.write_all(b"Q\n").unwrap();
    secure.0.wait_for("has closed its session");
    let reports = secure.end();
    let LinkReport::Udp {
        handshakes, peers, ..
    } = &reports[0]
    else {
        panic!("{reports:?}");
    };
    assert_eq!((handshakes.completed, handshakes.failed), (1, 2));
    assert_eq!((peers[0].gateway.sent, peers[0].gateway.delivered), (1, 1));
}

#[test]
fn openssl_listens_by_dtls() {
    if !has_program("openssl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (gateway, peer) = gateway(folder.path(), KEY);
    let port = free_udp();
    let options = psk("v1", KEY);
    let mut server = OpensslPeer::start(&words(&format!(
        "s_server -accept 127.0.0.1:{port} -nocert -listen {options}"
    )));
    let text = format!("[[udp]]\nname = \"zone\"\nconnect = \"127.0.0.1:{port}\"\n{peer}");
    let secure = SecureProcess::start(folder.path(), "secure.toml", &text);
    secure.0.wait_for("v1 has joined 127.0.0.1");
    gateway.send(b"from the gateway\n").unwrap();
    server.wait_for("from the gateway");
    server.stdin.write_all(b"from openssl\n").unwrap();
    assert_eq!(receive(&gateway), b"from openssl\n");
    secure.end();
}

#[test]
fn openssl_with_another_key_is_named() {
    if !has_program("openssl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_gateway, peer) = gateway(folder.path(), KEY);
    let port = free_udp();
    let options = psk("v1", "ffeeddccbbaa99887766554433221100");
    let _server = OpensslPeer::start(&words(&format!(
        "s_server -accept 127.0.0.1:{port} -nocert -listen {options}"
    )));
    let text = format!(
        "[[udp]]\nname = \"zone\"\nconnect = \"127.0.0.1:{port}\"\nhandshake_timeout = \"2s\"\n{peer}"
    );
    let secure = SecureProcess::start(folder.path(), "secure.toml", &text);
    secure.0.wait_for("identity `v1`");
    let said = secure.0.said();
    assert!(said.contains("key"), "{said}");
    secure.end();
}

/// The keys of a link of connections for the certificate with this name.
fn files(name: &str) -> String {
    format!("authority = \"test-ca.pem\"\ncertificate = \"{name}.pem\"\nkey = \"{name}.key\"\n")
}

/// A program that returns what it gets, and ends when the other side does.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut &stream, &mut &stream);
                let _ = stream.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    port
}

#[test]
fn openssl_connects_by_tls() {
    if !has_program("openssl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let authority = TestAuthority::new(folder, "test");
    authority.sign(folder, "server", false);
    authority.sign(folder, "laptop", false);
    authority.sign(folder, "old", true);
    TestAuthority::new(folder, "other").sign(folder, "stranger", false);
    let (port, gateway) = (free_tcp(), echo());
    let text = format!(
        "[[tcp]]\nname = \"tools\"\nlisten = \"127.0.0.1:{port}\"\n\
         gateway = \"127.0.0.1:{gateway}\"\n{}",
        files("server")
    );
    let secure = SecureProcess::start(folder, "secure.toml", &text);
    let client = |name: Option<&str>| {
        let path = |file: &str| folder.join(file).display().to_string();
        let mut arguments = words(&format!(
            "s_client -connect 127.0.0.1:{port} -tls1_3 -quiet"
        ));
        arguments.extend(["-CAfile".to_owned(), path("test-ca.pem")]);
        arguments.push("-verify_return_error".to_owned());
        if let Some(name) = name {
            let files = [path(&format!("{name}.pem")), path(&format!("{name}.key"))];
            let [certificate, key] = files;
            arguments.extend(["-cert".to_owned(), certificate, "-key".to_owned(), key]);
        }
        OpensslPeer::start(&arguments)
    };
    let _none = client(None);
    secure.0.wait_for("it shows no certificate");
    let _old = client(Some("old"));
    secure.0.wait_for("its certificate has expired");
    let _stranger = client(Some("stranger"));
    secure
        .0
        .wait_for("its certificate is not by our `authority`");
    let mut good = client(Some("laptop"));
    good.stdin.write_all(b"there and back\n").unwrap();
    good.wait_for("there and back");
    drop(good.stdin);
    drop(good.process);
    wait_for("its end", || true);
    let reports = secure.end();
    let LinkReport::Tcp { streams, .. } = &reports[0] else {
        panic!("{reports:?}");
    };
    assert_eq!(
        (streams.refused, streams.read, streams.written),
        (3, 15, 15)
    );
}

#[test]
fn openssl_listens_by_tls() {
    if !has_program("openssl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let authority = TestAuthority::new(folder, "test");
    authority.sign(folder, "server", false);
    authority.sign(folder, "old", true);
    authority.sign(folder, "laptop", false);
    let link = |name: &str, server: &str| {
        let (port, plain) = (free_tcp(), free_tcp());
        let path = |file: String| folder.join(file).display().to_string();
        let mut arguments = words(&format!(
            "s_server -accept 127.0.0.1:{port} -tls1_3 -quiet -Verify 1 -verify_return_error"
        ));
        arguments.extend(["-CAfile".to_owned(), path("test-ca.pem".to_owned())]);
        arguments.extend(["-cert".to_owned(), path(format!("{server}.pem"))]);
        arguments.extend(["-key".to_owned(), path(format!("{server}.key"))]);
        let text = format!(
            "[[tcp]]\nname = \"{name}\"\nplain = \"127.0.0.1:{plain}\"\n\
             connect = \"127.0.0.1:{port}\"\n{}",
            files("laptop")
        );
        wait_for("openssl", || TcpListener::bind(("127.0.0.1", port)).is_ok());
        let server = OpensslPeer::start(&arguments);
        wait_for("openssl", || {
            TcpListener::bind(("127.0.0.1", port)).is_err()
        });
        (server, plain, text)
    };
    let (mut server, plain, good) = link("good", "server");
    let (_old, old_plain, old) = link("old", "old");
    let secure = SecureProcess::start(folder, "secure.toml", &format!("{good}{old}"));
    let _refused = TcpStream::connect(("127.0.0.1", old_plain)).unwrap();
    secure.0.wait_for("its certificate has expired");
    let mut stream = TcpStream::connect(("127.0.0.1", plain)).unwrap();
    stream.write_all(b"from here\n").unwrap();
    server.wait_for("from here");
    server.stdin.write_all(b"from openssl\n").unwrap();
    let mut came = [0; 13];
    stream.read_exact(&mut came).unwrap();
    assert_eq!(&came, b"from openssl\n");
    secure.end();
}
