//! Readings grouped into arms, in the order of the requests.

use std::collections::BTreeMap;

use super::Reading;
use crate::{Arm, Protocol, Source, Temperature};

/// Groups readings, in the order of the requests, into arms by protocol and temperature; numbers the samples. Each
/// request is a block of its own.
pub fn arms(readings: Vec<Reading>) -> Vec<Arm> {
    let mut grouped: BTreeMap<(u8, Option<Protocol>, u8), Arm> = BTreeMap::new();
    let mut switched = Switch::default();
    for (mut reading, seq) in readings.into_iter().zip(0_u32..) {
        switched.look_at(&mut reading);
        reading.sample.seq = seq;
        reading.sample.block = seq;
        let (protocol, temperature) = (reading.protocol, reading.temperature);
        let place = match temperature {
            Some(Temperature::Cold) => 0,
            Some(Temperature::Warm) => 1,
            None => 2,
        };
        grouped
            .entry((u8::from(protocol.is_none()), protocol, place))
            .or_insert_with(|| Arm::new(Source::Browser, protocol, temperature))
            .samples
            .push(reading.sample);
    }
    grouped.into_values().collect()
}

/// Watches for the switch to HTTP/3, whose handshake is then not part of any request.
#[derive(Default)]
struct Switch {
    over_tcp: bool,
    over_quic: bool,
}

impl Switch {
    fn look_at(&mut self, reading: &mut Reading) {
        let first = reading.protocol == Some(Protocol::H3) && self.over_tcp && !self.over_quic;
        if first && reading.temperature == Some(Temperature::Warm) {
            let note = "the first request over HTTP/3: its connection was made in the background, beside an earlier request";
            reading.sample.facts.notes.push(note.into());
        }
        self.over_tcp |= matches!(reading.protocol, Some(Protocol::H1 | Protocol::H2));
        self.over_quic |= reading.protocol == Some(Protocol::H3);
    }
}
