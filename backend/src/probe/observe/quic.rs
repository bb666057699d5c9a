//! The datagrams of a QUIC handshake, told apart by the bits that are not protected (RFC 9000, section 17.2).

use crate::probe::events::Stamp;

/// The kinds of QUIC packet that a long header names, and the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PacketType {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
    /// Version Negotiation, or a version whose layout is not known.
    OtherVersion,
    Short,
}

/// What the client sent during a QUIC handshake.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HandshakeDatagrams {
    /// The latest datagram with a Handshake packet. Until the handshake is confirmed this is where the client's
    /// Finished went.
    pub(crate) last_handshake_sent: Option<Stamp>,
}

impl HandshakeDatagrams {
    /// A datagram was handed to the kernel.
    pub(crate) fn on_sent(&mut self, datagram: &[u8], stamp: Stamp) {
        if packets(datagram).any(|packet| packet == PacketType::Handshake) {
            self.last_handshake_sent = Some(stamp);
        }
    }
}

/// The types of the coalesced packets of a datagram (RFC 9000, section 12.2).
fn packets(datagram: &[u8]) -> impl Iterator<Item = PacketType> {
    let mut rest = Some(datagram).filter(|datagram| !datagram.is_empty());
    std::iter::from_fn(move || {
        let (packet, after) = next_packet(rest?)?;
        rest = after.filter(|after| !after.is_empty());
        Some(packet)
    })
}

/// The first packet's type and what follows it, if anything can.
fn next_packet(bytes: &[u8]) -> Option<(PacketType, Option<&[u8]>)> {
    let mut reader = Reader(bytes);
    let first = reader.byte()?;
    // Only the form bit is asked: the QUIC bit may be greased (RFC 9287).
    if first & 0x80 == 0 {
        return Some((PacketType::Short, None));
    }
    if reader.take(4)? != [0, 0, 0, 1] {
        return Some((PacketType::OtherVersion, None));
    }
    for _connection_id in 0..2 {
        let length = reader.byte()?;
        reader.take(length.into())?;
    }
    let packet = match (first >> 4) & 0b11 {
        0 => PacketType::Initial,
        1 => PacketType::ZeroRtt,
        2 => PacketType::Handshake,
        _ => return Some((PacketType::Retry, None)),
    };
    if packet == PacketType::Initial {
        let token = reader.varint()?;
        reader.take(usize::try_from(token).ok()?)?;
    }
    let length = reader.varint()?;
    let after = usize::try_from(length)
        .ok()
        .and_then(|length| reader.take(length))
        .map(|_payload| reader.0);
    Some((packet, after))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    /// A variable-length integer (RFC 9000, section 16).
    fn varint(&mut self) -> Option<u64> {
        let first = self.byte()?;
        let mut value = u64::from(first & 0x3f);
        for byte in self.take((1 << (first >> 6)) - 1)? {
            value = value << 8 | u64::from(*byte);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shared::Nanos;

    use super::*;

    fn long(kind: u8, token: Option<&[u8]>, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0xc0 | kind << 4, 0, 0, 0, 1, 2, 0xaa, 0xbb, 1, 0xcc];
        if let Some(token) = token {
            packet.push(u8::try_from(token.len()).unwrap());
            packet.extend(token);
        }
        packet.push(0x40);
        packet.push(u8::try_from(payload.len()).unwrap());
        packet.extend(payload);
        packet
    }

    #[test]
    fn coalesced_packets_are_told_apart() {
        let mut datagram = long(0, Some(&[7, 7, 7]), &[1; 30]);
        datagram.extend(long(2, None, &[2; 40]));
        datagram.extend([0x41, 1, 2, 3]);
        let types: Vec<_> = packets(&datagram).collect();
        assert_eq!(
            types,
            [PacketType::Initial, PacketType::Handshake, PacketType::Short]
        );
    }

    #[test]
    fn a_greased_quic_bit_does_not_hide_a_packet() {
        let mut datagram = long(2, None, &[2; 40]);
        datagram[0] &= !0x40;
        assert_eq!(packets(&datagram).collect::<Vec<_>>(), [PacketType::Handshake]);
    }

    #[test]
    fn the_last_handshake_packet_carries_the_finished() {
        let mut seen = HandshakeDatagrams::default();
        seen.on_sent(&long(0, Some(&[]), &[1; 30]), Stamp::syscall(Nanos(1)));
        assert_eq!(seen.last_handshake_sent, None);
        seen.on_sent(&long(2, None, &[1; 30]), Stamp::syscall(Nanos(2)));
        seen.on_sent(&[0x40, 1, 2], Stamp::syscall(Nanos(3)));
        assert_eq!(seen.last_handshake_sent, Some(Stamp::syscall(Nanos(2))));
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_bounded_list(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(packets(&bytes).count() <= bytes.len());
        }
    }
}
