//! The browser reduced to name, major version and platform: enough to judge its figures, too little to track anyone.

/// From `navigator.userAgent`.
pub(super) fn describe() -> Option<String> {
    gloo::utils::window()
        .navigator()
        .user_agent()
        .ok()
        .map(|agent| reduce(&agent))
}

/// Browsers by the token that only they have, most particular first: each claims to be those below it.
const BROWSERS: [(&str, &str); 5] = [
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chromium"),
    ("Version/", "Safari"),
];

const PLATFORMS: [(&str, &str); 6] = [
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

fn reduce(agent: &str) -> String {
    // Headless Chromium names itself HeadlessChrome/.
    let named = BROWSERS.iter().find_map(|(token, name)| {
        let rest = agent.split_once(token)?.1;
        let major = rest.split(|byte: char| !byte.is_ascii_digit()).next()?;
        Some(format!("{name} {major}"))
    });
    let platform = PLATFORMS.iter().find(|(token, _)| agent.contains(token));
    let mut text = named.unwrap_or_else(|| "a browser".into());
    if let Some((_, platform)) = platform {
        text.push_str(" on ");
        text.push_str(platform);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_browser_is_told_from_those_it_claims_to_be() {
        for (agent, text) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36",
                "Chromium 156 on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36 Edg/150.0.0.0",
                "Edge 150 on Windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.4 Safari/605.1.15",
                "Safari 26 on macOS",
            ),
            ("curl", "a browser"),
        ] {
            assert_eq!(reduce(agent), text);
        }
    }
}
