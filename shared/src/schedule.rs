//! The order of a run's connections: warm-ups, then blocks whose inner order comes from the plan's seed.

use oorandom::Rand32;

use crate::{Plan, Protocol};

/// One new connection of one protocol, on which [`Plan::requests_per_connection`] exchanges are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The block it belongs to, from 0; `None` for an uncounted warm-up.
    pub block: Option<u32>,
    /// The protocol to force.
    pub protocol: Protocol,
}

/// All connections of `plan` in the order to make them. The same plan always gives the same order.
///
/// The warm-ups come first, in rounds, in the plan's own order of protocols. Then every block holds each protocol
/// once, in an order shuffled (Fisher-Yates) by `plan.seed`: a drift of the path or of the host then falls on all arms
/// alike, and no protocol is always the one that runs after another.
pub fn schedule(plan: &Plan) -> Vec<Slot> {
    let warmups = (0..plan.warmup).flat_map(|_| plan.protocols.iter());
    let mut slots: Vec<Slot> = warmups
        .map(|protocol| Slot {
            block: None,
            protocol: *protocol,
        })
        .collect();
    let mut random = Rand32::new(plan.seed);
    let mut order = plan.protocols.clone();
    for block in 0..plan.samples {
        shuffle(&mut order, &mut random);
        slots.extend(order.iter().map(|protocol| Slot {
            block: Some(block),
            protocol: *protocol,
        }));
    }
    slots
}

fn shuffle(order: &mut [Protocol], random: &mut Rand32) {
    let mut left = u32::try_from(order.len()).unwrap_or(u32::MAX);
    while left > 1 {
        let chosen = random.rand_range(0..left);
        left -= 1;
        order.swap(left as usize, chosen as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seed: u64) -> Plan {
        Plan {
            samples: 30,
            warmup: 2,
            seed,
            ..Plan::new("https://example.org/")
        }
    }

    #[test]
    fn every_block_holds_every_protocol_once() {
        let slots = schedule(&plan(7));
        for block in 0..30 {
            let mut protocols: Vec<_> = slots
                .iter()
                .filter(|slot| slot.block == Some(block))
                .map(|slot| slot.protocol)
                .collect();
            protocols.sort_unstable();
            assert_eq!(protocols, Protocol::ALL);
        }
    }

    #[test]
    fn warm_ups_come_first_and_are_not_counted() {
        let slots = schedule(&plan(7));
        assert_eq!(slots.len(), 3 * (2 + 30));
        assert!(slots[..6].iter().all(|slot| slot.block.is_none()));
        assert!(slots[6..].iter().all(|slot| slot.block.is_some()));
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(schedule(&plan(7)), schedule(&plan(7)));
        assert_ne!(schedule(&plan(7)), schedule(&plan(8)));
        let first_of_block: std::collections::BTreeSet<_> = schedule(&plan(7))[6..]
            .chunks(3)
            .map(|block| block[0].protocol)
            .collect();
        assert_eq!(first_of_block.len(), 3, "each protocol opens some block");
    }
}
