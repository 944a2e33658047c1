//! S5: sockets that poll the driver.

use super::ways::{one_at_a_time, user};
use crate::claim::{Claim, ClaimJudgement};
use crate::conditions::Conditions;
use crate::data_path::DataPath;
use crate::evidence::{ClaimEvidence, MissingEvidence};
use crate::extent::Extent;
use crate::papers::{ClaimOrigin, Paper};
use crate::stats::{ratio, us};
use experiment::{GatewayChoice, ReceiveChoice, TransmitChoice};

pub(super) const CLAIMS: &[Claim] = &[S5];

const NONBLOCK: GatewayChoice = user(ReceiveChoice::ReadNonblock, TransmitChoice::Write);
const BUSYPOLL: GatewayChoice = user(ReceiveChoice::ReadBusypoll, TransmitChoice::Write);
const NO_IRQ: GatewayChoice = user(ReceiveChoice::BusypollNoIrq, TransmitChoice::Write);

const S5: Claim = Claim {
    id: "S5",
    origin: ClaimOrigin::Papers(&[(Paper::Syscalls2014, "§4.3")]),
    claim: "Sockets that poll the driver bring CAN little: they are about as fast as reading again and \
        again, and turning interrupts off while polling saves little more",
    figure: "−7 without interrupts",
    criterion: "p50(readbusy-write) within 15 % of p50(readnb-write); p50(readbusynoirq-write) less, by \
        at most 15 %",
    needs: |extent, _| {
        [NONBLOCK, BUSYPOLL, NO_IRQ]
            .map(|gateway| one_at_a_time(extent, gateway))
            .to_vec()
    },
    judge,
    ..Claim::BLANK
};

fn judge(
    evidence: &ClaimEvidence,
    extent: Extent,
    _: DataPath,
) -> Result<ClaimJudgement, MissingEvidence> {
    let p50 = |gateway| Ok(evidence.summary(&one_at_a_time(extent, gateway))?.p50);
    let (nonblock, busypoll, no_irq) = (p50(NONBLOCK)?, p50(BUSYPOLL)?, p50(NO_IRQ)?);
    let change = |new, old| 100.0 * (ratio(new, old) - 1.0);
    let mut conditions = Conditions::default();
    let by_polling = change(busypoll, nonblock);
    conditions.add(
        by_polling.abs() <= 15.0,
        format!("polling the driver changes the median by {by_polling:+.1} %"),
    );
    let without = change(no_irq, busypoll);
    conditions.add(
        (-15.0..=0.0).contains(&without),
        format!("doing without interrupts changes it by {without:+.1} %"),
    );
    let measured = format!(
        "{:+.1} without interrupts (read again and again {}, polling the driver {}, without interrupts {})",
        (no_irq - busypoll) as f64 / 1000.0,
        us(nonblock),
        us(busypoll),
        us(no_irq)
    );
    Ok(conditions.judge(measured, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict::{Differs, Reproduced};
    use crate::testing::verdict;
    use experiment::fake;

    #[test]
    fn s5_wants_little_of_both() {
        let with = |busypoll: u64, no_irq: u64| {
            verdict(&S5, Extent::Quick, move |e| {
                let ns = match &e.gateway {
                    g if *g == BUSYPOLL => busypoll,
                    g if *g == NO_IRQ => no_irq,
                    _ => 100_000,
                };
                fake::records(9, ns)
            })
        };
        assert_eq!(with(101_000, 94_000), Reproduced);
        assert_eq!(with(60_000, 55_000), Differs);
        assert_eq!(with(101_000, 60_000), Differs);
        assert_eq!(with(101_000, 105_000), Differs);
    }
}
