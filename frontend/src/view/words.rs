//! Words put together: what the model says in clauses becomes sentences here.

/// A clause as a sentence: a capital in front and one full stop behind.
pub(crate) fn sentence(clause: &str) -> String {
    let mut text = capitalised(clause.trim());
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

/// With a capital in front.
fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| std::iter::once(first.to_ascii_uppercase()).chain(chars).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_becomes_one_sentence() {
        assert_eq!(sentence("the link was cut"), "The link was cut.");
        assert_eq!(sentence("Is it still running?"), "Is it still running?");
        assert_eq!(sentence(""), ".");
    }
}
