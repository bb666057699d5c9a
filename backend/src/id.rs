//! Unguessable names: 128 bits of the operating system's generator, as 22 characters of base64url.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Random bytes of a name.
const BYTES: usize = 16;

/// How many characters a name has.
pub const CHARS: usize = 22;

/// A new name for a run or a result, or a token.
///
/// # Errors
/// When the operating system has no random numbers to give.
pub fn unguessable() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Whether `text` has the form of a name. Says nothing about whether it is one.
pub fn is_well_formed(text: &str) -> bool {
    text.len() == CHARS
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_well_formed_and_differ() {
        let (a, b) = (unguessable().unwrap(), unguessable().unwrap());
        assert!(is_well_formed(&a) && is_well_formed(&b), "{a} {b}");
        assert_ne!(a, b);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "abc",
            "../../../../etc/passwd",
            "AAAAAAAAAAAAAAAAAAAAA=",
            "é34567890123456789012",
        ] {
            assert!(!is_well_formed(text), "{text}");
        }
    }
}
