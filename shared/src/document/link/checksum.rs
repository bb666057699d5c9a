//! CRC-32 (ISO-HDLC, as in gzip and PNG): notices a link that was cut or changed on its way.
//!
//! Bit by bit: a link has some thousand bytes, and the tables of a fast one would add 16 kB to the page.

/// The reversed polynomial.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// The checksum of `bytes`.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            let low = crc & 1;
            (crc >> 1) ^ (POLYNOMIAL * low)
        })
    });
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_checksum_of_gzip() {
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
