//! Opening Zenoh.

use crate::settings::ZenohKeys;
use std::path::Path;
use zenoh::Config;

/// Settings of Zenoh that this program sets if its file leaves Zenoh's defaults: these listen on
/// all interfaces and look for others by multicast, and a client ends if no router is there.
///
/// An express sample takes a whole batch of a queue, and each priority has two: where the thread
/// that sends is not scheduled for 1 ms, the third sample would be dropped. Zenoh's greatest number
/// of batches is 16.
const DEFAULTS: [(&str, &str); 7] = [
    ("transport/link/tx/queue/size/real_time", "16"),
    ("transport/link/tx/queue/size/data", "16"),
    ("transport/link/tx/queue/size/background", "16"),
    ("mode", "\"client\""),
    ("scouting/multicast/enabled", "false"),
    ("connect/timeout_ms", "-1"),
    ("scouting/gossip/enabled", "false"),
];

/// Returns Zenoh's configuration. `folder` is that of the file of settings.
///
/// # Errors
/// A description: Zenoh's file cannot be read, or the endpoints cannot be set.
pub fn config(keys: &ZenohKeys, folder: &Path) -> Result<Config, String> {
    let mut config = match &keys.config {
        Some(path) => {
            let path = folder.join(path);
            Config::from_file(&path)
                .map_err(|error| format!("Zenoh cannot read {}: {error}", path.display()))?
        }
        None => Config::default(),
    };
    let zenoh = Config::default();
    for (key, value) in DEFAULTS {
        let is_left = match (config.get_json(key), zenoh.get_json(key)) {
            (Ok(here), Ok(default)) => here == default,
            _ => true,
        };
        if is_left {
            set(&mut config, key, value)?;
        }
    }
    if !keys.connect.is_empty() {
        let list = serde_json::to_string(&keys.connect).map_err(|error| error.to_string())?;
        set(&mut config, "connect/endpoints", &list)?;
    }
    Ok(config)
}

fn set(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    let done = config.insert_json5(key, value);
    done.map_err(|error| format!("Zenoh does not take {key} = {value}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(config: Option<&str>) -> ZenohKeys {
        ZenohKeys {
            config: config.map(str::to_owned),
            connect: vec!["tcp/127.0.0.1:7447".to_owned()],
        }
    }

    #[test]
    fn nothing_listens_and_nothing_is_looked_for() {
        let config = config(&keys(None), Path::new("/")).unwrap();
        let get = |key| config.get_json(key).unwrap();
        assert_eq!(get("mode"), "\"client\"");
        assert_eq!(get("scouting/multicast/enabled"), "false");
        assert_eq!(get("scouting/gossip/enabled"), "false");
        assert_eq!(get("connect/timeout_ms"), "-1");
        assert_eq!(get("transport/link/tx/queue/size/data"), "16");
        assert!(get("connect/endpoints").contains("tcp/127.0.0.1:7447"));
    }

    #[test]
    fn a_file_of_zenoh_decides() {
        let folder = tempfile::tempdir().unwrap();
        let text = "{ mode: 'peer', scouting: { multicast: { enabled: true } },
            transport: { link: { tx: { queue: { size: { data: 3 } } } } } }";
        std::fs::write(folder.path().join("z.json5"), text).unwrap();
        let config = config(&keys(Some("z.json5")), folder.path()).unwrap();
        assert_eq!(config.get_json("mode").unwrap(), "\"peer\"");
        assert_eq!(
            config.get_json("scouting/multicast/enabled").unwrap(),
            "true"
        );
        let size = "transport/link/tx/queue/size";
        assert_eq!(config.get_json(&format!("{size}/data")).unwrap(), "3");
        assert_eq!(config.get_json(&format!("{size}/real_time")).unwrap(), "16");
    }

    #[test]
    fn a_file_that_is_absent_is_named() {
        let error = config(&keys(Some("none.json5")), Path::new("/absent")).unwrap_err();
        assert!(error.contains("/absent/none.json5"), "{error}");
    }
}
