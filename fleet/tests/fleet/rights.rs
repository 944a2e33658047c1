//! A vehicle can do nothing under another vehicle's key: by user and password, and by
//! certificates with the example that is delivered.

use crate::program::{bus, file, load, start_with, tcp, wait_for};
use crate::router::{TestRouter, free_address};
use cangate_fleet::session;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use zenoh::{Config, Session, Wait as _};

/// A client's settings of Zenoh, and the name that its certificate or user has.
struct TestClient {
    name: &'static str,
    config: Config,
}

/// Vehicle v1 and the operator exchange frames, while v2 publishes under v1's keys and subscribes
/// to all keys.
fn check(router: &str, clients: [TestClient; 3]) {
    let [mut v1, mut v2, mut operator] = clients;
    for client in [&mut v1, &mut v2, &mut operator] {
        for (key, value) in [
            ("mode", "'client'".to_owned()),
            ("scouting/multicast/enabled", "false".to_owned()),
            ("connect/endpoints", format!("['{router}']")),
        ] {
            client.config.insert_json5(key, &value).unwrap();
        }
    }
    let (table, mut peer) = bus("can0", "vehicle = \"v1\"");
    let mut vehicle = start_with(&file(router, "", &[&table]), v1.config).unwrap();
    let (table, mut far) = bus("can0", "vehicle = \"v1\"\nside = \"operator\"");
    let mut far_end = start_with(&file(router, "", &[&table]), operator.config).unwrap();
    // The same program in v2, with the name of v1, and a program that listens to everything.
    assert_eq!(v2.name, "v2");
    let (table, mut wrong) = bus("can0", "vehicle = \"v1\"\ndirection = \"publish\"");
    let mut intruder = start_with(&file(router, "", &[&table]), v2.config.clone()).unwrap();
    let (table, mut wrong_side) = bus("can0", "vehicle = \"v1\"\nside = \"operator\"");
    let mut intruder_far = start_with(&file(router, "", &[&table]), v2.config.clone()).unwrap();
    let (listener, heard) = listen(v2.config, "cangate/**");

    let (mut forth, mut back) = (0, 0);
    wait_for("frames of v1 and of the operator", || {
        wrong.send(&[0x100]);
        wrong_side.send(&[0x200]);
        peer.send(&[0x100]);
        far.send(&[0x200]);
        forth += far.receive(Duration::from_millis(50)).len();
        back += peer.receive(Duration::from_millis(50)).len();
        forth >= 10 && back >= 10
    });
    let sent = intruder.end()[0].publish.unwrap();
    assert!(sent.published > 0, "{sent:?}");
    let far_sent = intruder_far.end().remove(0);
    assert!(far_sent.publish.unwrap().published > 0);
    assert_eq!(far_sent.deliver.unwrap().samples, 0, "v2 got frames of v1");
    assert_eq!(heard.load(Relaxed), 0, "v2 heard others");
    listener.close().wait().unwrap();
    // One stream for each class that was used: no other publisher.
    for counters in [vehicle.end().remove(0), far_end.end().remove(0)] {
        let deliver = counters.deliver.unwrap();
        assert_eq!((deliver.streams, deliver.malformed), (1, 0), "{deliver:?}");
    }
}

/// Returns a session that counts the samples under a key.
fn listen(config: Config, key: &str) -> (Session, Arc<AtomicU64>) {
    let session = zenoh::open(config).wait().unwrap();
    let heard = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&heard);
    let subscriber = session.declare_subscriber(key);
    let subscriber = subscriber.callback(move |_| {
        counter.fetch_add(1, Relaxed);
    });
    subscriber.background().wait().unwrap();
    (session, heard)
}

/// Returns the rules of the delivered example, with another kind of subject.
fn rules(subject: &str) -> String {
    let example = Config::from_file(examples().join("router.json5")).unwrap();
    let rules = example.get_json("access_control").unwrap();
    rules.replace("\"cert_common_names\":[", &format!("\"{subject}\":["))
}

fn examples() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples"))
}

#[test]
fn users_have_their_own_keys_only() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users.txt");
    fs::write(&users, "v1:one\nv2:two\noperator:three\n").unwrap();
    let dictionary = format!("'{}'", users.display());
    // In Zenoh's answer, subjects have all their kinds: the absent one is null.
    let rules = rules("usernames").replace(",\"usernames\":null", "");
    let router = TestRouter::start(
        "tcp",
        &[
            ("transport/auth/usrpwd/dictionary_file", &dictionary),
            ("access_control", &rules),
        ],
    );
    let clients = [("v1", "one"), ("v2", "two"), ("operator", "three")].map(|(name, password)| {
        let mut config = Config::default();
        for (key, value) in [("user", name), ("password", password)] {
            let key = format!("transport/auth/usrpwd/{key}");
            config.insert_json5(&key, &format!("'{value}'")).unwrap();
        }
        TestClient { name, config }
    });
    let mut stranger = clients[0].config.clone();
    for (key, value) in [
        ("mode", "'client'"),
        ("transport/auth/usrpwd/password", "'wrong'"),
        ("connect/endpoints", &format!("['{}']", tcp(router.address))),
    ] {
        stranger.insert_json5(key, value).unwrap();
    }
    check(&tcp(router.address), clients);
    assert!(zenoh::open(stranger).wait().is_err(), "a wrong password");
}

/// A certificate with its key, signed by the authority.
fn certify(folder: &Path, authority: &CertifiedIssuer<'_, KeyPair>, name: &str) {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    fs::write(folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
    fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

/// Reads an example with the files of a folder and another endpoint.
fn example(name: &str, folder: &Path, file: &str) -> Config {
    let mut config = Config::from_file(examples().join(name)).unwrap();
    let tls = config.get_json("transport/link/tls").unwrap();
    for (key, named) in serde_json::from_str::<serde_json::Value>(&tls)
        .unwrap()
        .as_object()
        .unwrap()
    {
        if let Some(path) = named.as_str() {
            let path = folder.join(path.replace("vehicle", file));
            let path = serde_json::to_string(&path).unwrap();
            config
                .insert_json5(&format!("transport/link/tls/{key}"), &path)
                .unwrap();
        }
    }
    config
}

/// Makes an authority, and certificates for these names.
pub(crate) fn certificates(folder: &Path, names: &[&str]) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    fs::write(folder.join("ca.pem"), authority.pem()).unwrap();
    for name in names {
        certify(folder, &authority, name);
    }
}

#[test]
fn certificates_have_their_own_keys_only() {
    zenoh::try_init_log_from_env();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    certificates(folder, &["router", "v1", "v2", "operator"]);
    let address = free_address();
    let endpoint = format!("tls/localhost:{}", address.port());
    let mut router = example("router.json5", folder, "");
    router
        .insert_json5("listen/endpoints", &format!("['tls/{address}']"))
        .unwrap();
    let router = zenoh::open(router).wait().unwrap();
    let clients = ["v1", "v2", "operator"].map(|name| TestClient {
        name,
        config: example("vehicle.json5", folder, name),
    });
    let mut stranger = Config::default();
    for (key, value) in [
        ("mode", "'client'".to_owned()),
        ("scouting/multicast/enabled", "false".to_owned()),
        (
            "transport/link/tls/root_ca_certificate",
            format!("'{}/ca.pem'", folder.display()),
        ),
        ("connect/endpoints", format!("['{endpoint}']")),
    ] {
        stranger.insert_json5(key, &value).unwrap();
    }
    check(&endpoint, clients);
    assert!(zenoh::open(stranger).wait().is_err(), "no certificate");
    router.close().wait().unwrap();
}

/// The examples that are delivered are valid.
#[test]
fn examples_are_read() {
    for name in ["vehicle.toml", "operator.toml"] {
        let text = fs::read_to_string(examples().join(name)).unwrap();
        let settings = load(&text).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        session::config(&settings.zenoh, examples()).unwrap();
    }
}
