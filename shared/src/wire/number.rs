//! Decimal numbers to binary fractions and back.
//!
//! The standard library's own are exact to the last bit of numbers with 17 digits, by means of 20 kB of tables. No clock has
//! 17 digits, and the page has to carry the tables.

/// Reads a number as JSON has it, also one with more digits than fit: digits, with or without sign, fraction, exponent.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut number = 0.0_f64;
    let mut any = false;
    for byte in whole.bytes().chain(fraction.bytes()) {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number = number * 10.0 + f64::from(digit);
        any = true;
    }
    let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    // Division is exact where a multiplication by a negative power is not: 53.2 stays 53.2.
    let number = if shift < 0 {
        number / 10_f64.powi(shift.checked_neg()?)
    } else {
        number * 10_f64.powi(shift)
    };
    (any && number.is_finite()).then_some(if negative { -number } else { number })
}

/// Decimals that are written: far finer than any count of round trips is known.
const DECIMALS: usize = 6;

/// Writes a number with six decimals at most; `null` for what JSON has no number for, or what is too large to have
/// decimals.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "range checked first"
)]
pub(super) fn write(number: f64, out: &mut String) {
    let millionths = (number.abs() * 1e6).round();
    // Not a number, infinite, or beyond 2^53.
    if !(0.0..9_007_199_254_740_992.0).contains(&millionths) {
        out.push_str("null");
        return;
    }
    let millionths = millionths as u64;
    if number < 0.0 && millionths > 0 {
        out.push('-');
    }
    out.push_str(&(millionths / 1_000_000).to_string());
    let rest = millionths % 1_000_000;
    if rest > 0 {
        let digits = rest.to_string();
        out.push('.');
        for _ in digits.len()..DECIMALS {
            out.push('0');
        }
        out.push_str(digits.trim_end_matches('0'));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_as_clocks_have_them_are_read_as_the_standard_library_reads_them(millionths in 0_u64..1_000_000_000_000_000) {
            let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
            prop_assert_eq!(parse(&text), text.parse().ok());
        }

        #[test]
        fn what_is_written_is_read_again(number in 0.0_f64..1e6) {
            let mut text = String::new();
            write(number, &mut text);
            let read = parse(&text).unwrap();
            prop_assert!((read - number).abs() <= 5.1e-7, "{number} {text}");
        }
    }

    #[test]
    fn signs_and_exponents_are_understood_and_the_rest_refused() {
        assert_eq!(parse("-1.5e2"), Some(-150.0));
        assert_eq!(parse("25E-1"), Some(2.5));
        for bad in [
            "",
            "-",
            ".",
            "1e",
            "0x1",
            "inf",
            "nan",
            "1e999",
            "1 ",
            "1e-99999999999",
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_is_no_json_number_is_null() {
        for (number, text) in [
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
            (1e300, "null"),
            (0.0, "0"),
            (2.5, "2.5"),
            (-0.25, "-0.25"),
        ] {
            let mut out = String::new();
            write(number, &mut out);
            assert_eq!(out, text);
        }
    }
}
