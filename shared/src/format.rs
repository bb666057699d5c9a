//! Figures as text: one form for the terminal and the page.

use crate::{Nanos, PhaseValue};

/// A time in milliseconds with its unit: three decimals below 1 ms, two below 10, one below 1000, none above
/// (`0.012 ms`, `4.60 ms`, `51.2 ms`, `1204 ms`). Rounded half up.
pub fn millis(time: Nanos) -> String {
    let (decimals, unit) = match time.0 {
        0..999_500 => (3, 1_000),
        999_500..9_995_000 => (2, 10_000),
        9_995_000..999_950_000 => (1, 100_000),
        _ => (0, 1_000_000),
    };
    let mut text = decimal(time.0.saturating_add(unit / 2) / unit, decimals);
    text.push_str(" ms");
    text
}

/// A shift in milliseconds with its sign: `+4.60 ms`, `\u{2212}12.0 ms` (a minus sign, not a hyphen), `0.000 ms`.
pub fn signed_millis(shift_ns: i64) -> String {
    let size = millis(Nanos(shift_ns.unsigned_abs()));
    match shift_ns.signum() {
        1 => format!("+{size}"),
        -1 => format!("\u{2212}{size}"),
        _ => size,
    }
}

/// A count of round trips: `1.0 RTT`; one decimal below 100, none above.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to integer cast saturates; counts are not negative"
)]
pub fn round_trips(count: f64) -> String {
    let tenths = (count * 10.0).round().max(0.0) as u64;
    let mut text = if tenths < 1000 {
        decimal(tenths, 1)
    } else {
        (tenths.saturating_add(5) / 10).to_string()
    };
    text.push_str(" RTT");
    text
}

/// A size in bytes, with decimal prefixes as network tools use them: `812 B`, `48.0 kB`, `1.25 MB`.
pub fn bytes(size: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, " GB"), (1_000_000, " MB"), (1_000, " kB")];
    for (unit, name) in UNITS {
        // Three digits that carry: `unit` begins where the smaller one would round up to 1000.
        let scaled = u128::from(size);
        let unit = u128::from(unit);
        if scaled + unit / 2000 < unit {
            continue;
        }
        let in_unit = |decimals: u32| {
            let power = 10_u128.pow(decimals);
            u64::try_from((scaled * power + unit / 2) / unit).unwrap_or(u64::MAX)
        };
        let mut text = match in_unit(2) {
            0..1000 => decimal(in_unit(2), 2),
            _ if in_unit(1) < 1000 => decimal(in_unit(1), 1),
            _ => in_unit(0).to_string(),
        };
        text.push_str(name);
        return text;
    }
    format!("{size} B")
}

/// A phase's value as a table shows it: the time, `<` before one below the clock's resolution that reads 0, or the
/// quality in words where there is none.
pub fn phase_value(value: &PhaseValue) -> String {
    match value.ns {
        Some(Nanos::ZERO) => "< clock step".into(),
        Some(ns) => millis(ns),
        None => value.quality.label().into(),
    }
}

/// `scaled / 10^decimals` with exactly that many decimals.
fn decimal(scaled: u64, decimals: u32) -> String {
    if decimals == 0 {
        return scaled.to_string();
    }
    let power = 10_u64.pow(decimals);
    format!(
        "{}.{:0width$}",
        scaled / power,
        scaled % power,
        width = decimals as usize
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quality;

    #[test]
    fn times_keep_about_three_digits() {
        for (ns, text) in [
            (0, "0.000 ms"),
            (12_345, "0.012 ms"),
            (999_499, "0.999 ms"),
            (999_500, "1.00 ms"),
            (4_600_000, "4.60 ms"),
            (9_994_999, "9.99 ms"),
            (9_995_000, "10.0 ms"),
            (51_249_999, "51.2 ms"),
            (999_949_999, "999.9 ms"),
            (999_950_000, "1000 ms"),
            (1_204_499_999, "1204 ms"),
            (u64::MAX, "18446744073709 ms"),
        ] {
            assert_eq!(millis(Nanos(ns)), text, "{ns}");
        }
    }

    #[test]
    fn shifts_carry_their_sign() {
        assert_eq!(signed_millis(4_600_000), "+4.60 ms");
        assert_eq!(signed_millis(-12_000_000), "\u{2212}12.0 ms");
        assert_eq!(signed_millis(0), "0.000 ms");
        assert_eq!(signed_millis(i64::MIN), "\u{2212}9223372036855 ms");
    }

    #[test]
    fn counts_of_round_trips_have_one_decimal() {
        for (count, text) in [
            (0.0, "0.0 RTT"),
            (1.04, "1.0 RTT"),
            (2.96, "3.0 RTT"),
            (99.96, "100 RTT"),
            (1234.4, "1234 RTT"),
        ] {
            assert_eq!(round_trips(count), text);
        }
    }

    #[test]
    fn sizes_use_decimal_prefixes() {
        for (size, text) in [
            (0, "0 B"),
            (812, "812 B"),
            (999, "999 B"),
            (1_000, "1.00 kB"),
            (48_000, "48.0 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (1_250_000, "1.25 MB"),
            (16_777_216, "16.8 MB"),
            (5_000_000_000, "5.00 GB"),
        ] {
            assert_eq!(bytes(size), text, "{size}");
        }
    }

    #[test]
    fn an_absence_is_shown_in_words() {
        let absent = PhaseValue::absent(Quality::NotApplicable, "QUIC has no TCP");
        assert_eq!(phase_value(&absent), "not applicable");
        assert_eq!(
            phase_value(&PhaseValue::measured(Nanos(0), Nanos(1000))),
            "< clock step"
        );
        assert_eq!(
            phase_value(&PhaseValue::measured(Nanos(51_200_000), Nanos(1))),
            "51.2 ms"
        );
    }
}
