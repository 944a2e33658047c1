//! By hand, for now.
#![allow(clippy::unwrap_used, missing_docs)]
use cangate_offload::bpf::{Offload, Options};
use route::{PortId, Route, Routes};

#[test]
#[ignore = "by hand"]
fn hand() {
    let seconds: u64 = std::env::var("SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(12);
    let from = std::env::var("FROM").unwrap_or("gw0".into());
    let to = std::env::var("TO").unwrap_or("gw1".into());
    let mut routes = Routes::default();
    routes.routes.push(Route::new("one", vec![PortId(0)], vec![PortId(1)]));
    let mut options = Options::default();
    options.tap = std::env::var("TAP").is_ok();
    options.exact = std::env::var("EXACT").is_ok();
    let t = std::time::Instant::now();
    match Offload::new(&routes, &[from, to], options) {
        Err(e) => println!("ERROR {e}"),
        Ok(offload) => {
            println!("loaded in {:?}", t.elapsed());
            std::thread::sleep(std::time::Duration::from_secs(seconds));
            println!("{:?}", offload.counts().unwrap());
        }
    }
}

#[test]
#[ignore = "by hand"]
fn verify() {
    let data = std::fs::read(std::env::var("OBJ").unwrap()).unwrap();
    let data: Vec<u64> = data.chunks(8).map(|c| { let mut w=[0;8]; w[..c.len()].copy_from_slice(c); u64::from_ne_bytes(w) }).collect();
    let bytes: Vec<u8> = data.iter().flat_map(|w| w.to_ne_bytes()).collect();
    let mut loader = aya::EbpfLoader::new();
    loader.btf(None).verifier_log_level(aya::VerifierLogLevel::STATS);
    let mut ebpf = loader.load(&bytes).unwrap();
    for (_, p) in ebpf.programs_mut() {
        let t = std::time::Instant::now();
        match p {
            aya::programs::Program::SchedClassifier(p) => {
                match p.load() { Err(e) => println!("ERR {e:?}"),
                Ok(()) => println!("ok {:?} {:?}", t.elapsed(), p.info().unwrap().verified_instruction_count()) }
            }
            aya::programs::Program::Xdp(p) => println!("xdp {:?}", p.load()),
            _ => {}
        }
    }
}
