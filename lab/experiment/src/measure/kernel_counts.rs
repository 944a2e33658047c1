//! The counters of a gateway whose routes are in the kernel.

use super::counts::{CountsError, GatewayCounts};
use route::StopReason;
use serde_json::Value;
use std::collections::BTreeMap;

impl GatewayCounts {
    /// Reads the answer of a gateway whose routes are rules of can-gw. Returns the number of
    /// routes.
    pub(super) fn kernel_rules(&mut self, text: &[u8]) -> Result<usize, CountsError> {
        let routes = in_kernel(text)?;
        for route in &routes {
            self.handled += route.sent;
            self.dropped += route.failed + route.stopped()?;
        }
        Ok(routes.len())
    }

    /// Reads the answer of a gateway whose routes are in BPF. Returns the number of routes.
    pub(super) fn kernel_program(&mut self, text: &[u8]) -> Result<usize, CountsError> {
        let routes = in_kernel(text)?;
        for route in &routes {
            let taken = route.taken;
            self.handled += taken.ok_or(CountsError::Lack("frames taken"))?;
            self.dropped += route.failed + route.stopped()?;
        }
        Ok(routes.len())
    }
}

/// The counters of a route in the kernel.
#[derive(serde::Deserialize)]
struct InKernel {
    taken: Option<u64>,
    sent: u64,
    failed: u64,
    /// In addition to its name, a number for each reason of [`StopReason::ALL`], by
    /// [`StopReason::key`].
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

impl InKernel {
    /// Returns the number of frames that the route stopped; no experiment's route does so on
    /// purpose.
    fn stopped(&self) -> Result<u64, CountsError> {
        let of = |why: &StopReason| self.others.get(why.key()).and_then(Value::as_u64);
        let all: Option<u64> = StopReason::ALL.iter().map(of).sum();
        all.ok_or(CountsError::Lack("frames stopped"))
    }
}

/// Returns the routes in the kernel, from a gateway's answer.
fn in_kernel(text: &[u8]) -> Result<Vec<InKernel>, CountsError> {
    #[derive(serde::Deserialize)]
    struct CountReply {
        ok: Option<CountStats>,
        error: Option<String>,
    }
    #[derive(serde::Deserialize)]
    struct CountStats {
        #[serde(default)]
        kernel: Vec<CountPart>,
    }
    #[derive(serde::Deserialize)]
    struct CountPart {
        routes: Vec<InKernel>,
    }
    let reply: CountReply = serde_json::from_slice(text).map_err(CountsError::Gateway)?;
    let refused = || CountsError::Refused(reply.error.unwrap_or_else(|| "no answer".to_owned()));
    let stats = reply.ok.ok_or_else(refused)?;
    if stats.kernel.is_empty() {
        return Err(CountsError::NotInKernel);
    }
    Ok(stats.kernel.into_iter().flat_map(|p| p.routes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an answer with one route that took `taken`, sent `sent` and failed to send `failed`,
    /// and one idle route.
    fn kernel(taken: &str, sent: u64, failed: u64) -> Vec<u8> {
        // The keys come from route's list: the answer that a gateway writes is read here.
        let number = |why: StopReason| {
            let frames = u8::from(why == StopReason::HopLimit);
            format!("\"{}\":{frames}", why.key())
        };
        let zeros = StopReason::ALL.map(number).join(",");
        format!(
            r#"{{"cangate":1,"ok":{{"ports":[],"kernel":[{{"how":"x","routes":[
                {{"name":"r0","taken":{taken},"sent":{sent},{zeros},"failed":{failed}}},
                {{"name":"r1","taken":{taken},"sent":0,{zeros},"failed":0}}]}}]}}}}"#
        )
        .into_bytes()
    }

    #[test]
    fn counters_of_routes_in_the_kernel_are_read() {
        let mut rules = GatewayCounts::default();
        assert_eq!(rules.kernel_rules(&kernel("null", 40, 3)).unwrap(), 2);
        assert_eq!((rules.handled, rules.dropped), (40, 5));
        let mut program = GatewayCounts::default();
        let queue = r#"[{"kind":"pfifo_fast","handle":"0:","root":true,"drops":4,"qlen":0},
            {"kind":"clsact","handle":"ffff:","parent":"ffff:fff1","drops":99}]"#;
        program.queue(queue).unwrap();
        assert_eq!(program.kernel_program(&kernel("20", 40, 3)).unwrap(), 2);
        assert_eq!((program.handled, program.dropped), (40, 9));
        let unsaid = program.kernel_program(&kernel("null", 1, 0)).unwrap_err();
        assert!(unsaid.to_string().contains("frames taken"), "{unsaid}");
        let text = String::from_utf8(kernel("20", 1, 0)).unwrap();
        let lacking = text.replace("hop_limit", "hops");
        let unsaid = program.kernel_program(lacking.as_bytes()).unwrap_err();
        assert!(unsaid.to_string().contains("frames stopped"), "{unsaid}");
        let none = rules.kernel_rules(br#"{"ok":{"ports":[]}}"#).unwrap_err();
        assert!(matches!(none, CountsError::NotInKernel), "{none}");
        let refused = rules.kernel_rules(br#"{"error":"no"}"#).unwrap_err();
        assert!(
            refused.to_string().ends_with("its counters: no"),
            "{refused}"
        );
        assert!(program.queue("no JSON").is_err());
    }
}
