//! Readings grouped into arms, in the order of the requests.

use super::Reading;
use crate::{Arm, Protocol, Source, Temperature};

/// Groups readings, in the order of the requests, into arms by protocol and temperature; numbers the samples. Each
/// request is a block of its own.
pub fn arms(readings: Vec<Reading>) -> Vec<Arm> {
    let mut arms: Vec<Arm> = Vec::new();
    let mut switched = Switch::default();
    for (mut reading, seq) in readings.into_iter().zip(0_u32..) {
        switched.look_at(&mut reading);
        reading.sample.seq = seq;
        reading.sample.block = seq;
        let (protocol, temperature) = (reading.protocol, reading.temperature);
        let is_of = |arm: &Arm| (arm.protocol, arm.temperature) == (protocol, temperature);
        let at = arms.iter().position(is_of).unwrap_or_else(|| {
            arms.push(Arm::new(Source::Browser, protocol, temperature));
            arms.len() - 1
        });
        arms[at].samples.push(reading.sample);
    }
    // In the order of protocol and temperature; what is not known comes last.
    arms.sort_by_key(|arm| {
        let temperature = arm.temperature.map_or(2, |temperature| temperature as u8);
        (arm.protocol.map_or(3, |protocol| protocol as u8), temperature)
    });
    arms
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
