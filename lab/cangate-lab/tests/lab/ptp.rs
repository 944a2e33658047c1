//! Machines that follow another machine's clock by PTP: presentation times hold between them.

use crate::plans::run_file;
use crate::waiting_lab;
use std::path::Path;

mod long {
    use super::*;

    /// The clocks differ by 80 ppm. With PTP, each frame is handed on 20 ms after it came to the
    /// other gateway, within 0.1 ms, although two clocks measure these 20 ms.
    #[test]
    #[ignore = "boots guests"]
    fn presentation_times_hold_between_machines_that_follow_a_clock() {
        if !Path::new("/usr/sbin/ptp4l").is_file() {
            println!("SKIPPED because there is no ptp4l (Debian: linuxptp)");
            return;
        }
        let Some(_lab) = waiting_lab() else { return };
        let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptp/plan.toml");
        let first = run_file(&plan, &["left:right"]);
        let [sent, delivered] = ["in", "delivered"].map(|word| first.matched(word));
        assert_eq!((sent, delivered), (1000, 1000), "{}", first.out());
        let latest = first.at_most("end of frame to the far card");
        assert!((20_000_000..20_200_000).contains(&latest), "{latest}");
        let worst_gap = first.at_most("error of the gaps");
        assert!(worst_gap < 100_000, "{worst_gap}");
        assert_eq!(first.digest(), run_file(&plan, &["left:right"]).digest());
    }
}
