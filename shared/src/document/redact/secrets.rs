//! What must not be left anywhere in a redacted document: hosts with their aliases, and parts of URLs.

use super::{RedactOptions, ip_of, is_private, is_private_host, target::Target};
use crate::{Document, source::alt_svc};

/// Shorter texts are no secrets, and occur everywhere.
const SHORTEST: usize = 3;
/// From this length on a text that is found is hardly found by chance.
const LONG: usize = 8;
/// Shorter hosts are only replaced where they stand alone: a host named `a` is not in `cache`.
const SHORTEST_INSIDE_WORDS: usize = 6;

/// Everything to be removed from texts.
pub(super) struct Secrets {
    /// Hosts to be replaced, in lower case, longest first, each with its alias.
    hosts: Vec<(String, String)>,
    /// Addresses to be replaced in texts.
    addresses: Vec<String>,
    /// Parts of URLs and values of request fields.
    parts: Vec<String>,
    hides_addresses: bool,
}

impl Secrets {
    /// Collects them from every place of `document` that can hold one.
    pub(super) fn of(document: &Document, options: &RedactOptions) -> Self {
        let facts = || {
            document
                .arms
                .iter()
                .flat_map(|arm| &arm.samples)
                .map(|sample| &sample.facts)
        };
        let main = Target::parse(&document.plan.url).map(|target| target.host);

        let mut addresses: Vec<&str> = facts().filter_map(|facts| facts.address.as_deref()).collect();
        addresses.extend(document.address.as_deref());
        addresses.extend(document.plan.resolve.as_deref());
        if let Some(dns) = &document.dns {
            addresses.extend(
                dns.queries
                    .iter()
                    .flat_map(|query| &query.answers)
                    .map(String::as_str),
            );
            addresses.extend(
                dns.https
                    .iter()
                    .flat_map(|record| &record.hints)
                    .map(String::as_str),
            );
        }
        let mut addresses: Vec<String> = addresses
            .into_iter()
            .filter_map(ip_of)
            .map(|address| address.to_string())
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        let private = |text: &String| ip_of(text).is_some_and(is_private);
        // A public name with a private address is a private host all the same.
        let main_is_private = main.is_some_and(is_private_host) || addresses.iter().any(private);

        let mut hosts: Vec<&str> = main.into_iter().collect();
        hosts.extend(document.dns.iter().map(|dns| dns.host.as_str()));
        hosts.extend(
            facts()
                .filter_map(|facts| facts.redirect.as_deref())
                .filter_map(Target::parse)
                .map(|target| target.host),
        );
        let alternatives: Vec<String> = distinct(facts().filter_map(|facts| facts.header("alt-svc")))
            .into_iter()
            .flat_map(|value| alt_svc::parse(value).alternatives)
            .map(|alternative| alternative.host)
            .collect();
        hosts.extend(alternatives.iter().map(String::as_str));
        if let Some(dns) = &document.dns {
            hosts.extend(dns.https.iter().map(|record| record.target.as_str()));
            hosts.extend(
                dns.queries
                    .iter()
                    .flat_map(|query| &query.answers)
                    .map(String::as_str),
            );
        }
        let hides_main = options.alias_all_hosts || (main_is_private && !options.keep_hosts);
        let hidden = |host: &str| {
            let is_main = main.is_some_and(|main| main.eq_ignore_ascii_case(host));
            options.alias_all_hosts
                || (!options.keep_hosts && (is_private_host(host) || (is_main && main_is_private)))
        };
        let mut secrets = Self {
            hosts: Vec::new(),
            addresses: Vec::new(),
            parts: parts(document, options),
            hides_addresses: hides_main,
        };
        for host in distinct(hosts.into_iter()) {
            // An answer that is an address, and `.` for the name itself.
            let is_name = main.is_some_and(|main| main == host) || ip_of(host).is_none();
            if is_name && !host.trim_matches('.').is_empty() && hidden(host) {
                secrets.add_host(host);
            }
        }
        secrets
            .hosts
            .sort_by_key(|(host, _)| std::cmp::Reverse(host.len()));
        secrets.addresses = addresses;
        secrets
            .addresses
            .retain(|address| hides_main || (!options.keep_hosts && ip_of(address).is_some_and(is_private)));
        secrets
            .addresses
            .sort_by_key(|address| std::cmp::Reverse(address.len()));
        secrets
    }

    /// Whether all addresses go, public ones too: the host they belong to does.
    pub(super) fn hides_addresses(&self) -> bool {
        self.hides_addresses
    }

    /// The hosts that get an alias, in the order of the aliases.
    pub(super) fn aliases(&self) -> Vec<(&str, &str)> {
        let mut aliases: Vec<_> = self
            .hosts
            .iter()
            .map(|(host, alias)| (host.as_str(), alias.as_str()))
            .collect();
        aliases.sort_by_key(|(_, alias)| (alias.len(), *alias));
        aliases
    }

    /// The alias of a host, if it gets one.
    pub(super) fn alias(&self, host: &str) -> Option<&str> {
        let host = host.trim_end_matches('.');
        let found = self
            .hosts
            .iter()
            .find(|(hidden, _)| hidden.eq_ignore_ascii_case(host));
        found.map(|(_, alias)| alias.as_str())
    }

    /// `text` with every hidden host and address replaced.
    pub(super) fn with_aliases(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (host, alias) in &self.hosts {
            text = replace(&text, host, alias);
        }
        for address in &self.addresses {
            text = replace(&text, address, "(address removed)");
        }
        text
    }

    /// Whether a removed part of a URL or of a request field occurs in `text`.
    pub(super) fn occur_in(&self, text: &str) -> bool {
        self.parts.iter().any(|part| text.contains(part.as_str()))
    }

    /// The same for parts that hardly occur by chance.
    pub(super) fn long_ones_occur_in(&self, text: &str) -> bool {
        let mut parts = self.parts.iter().filter(|part| part.len() >= LONG);
        parts.any(|part| text.contains(part.as_str()))
    }

    fn add_host(&mut self, host: &str) {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if self.hosts.iter().all(|(known, _)| *known != host) {
            let alias = alias(self.hosts.len());
            self.hosts.push((host, alias));
        }
    }
}

/// `server-a.invalid` to `server-z.invalid`, then with a number (`.invalid`: RFC 6761, section 6.4).
fn alias(index: usize) -> String {
    match u8::try_from(index).ok().filter(|index| *index < 26) {
        Some(index) => format!("server-{}.invalid", char::from(b'a' + index)),
        None => format!("server-{}.invalid", index + 1),
    }
}

/// Userinfo, query and fragment of every URL, whole and in their parts, and the values of request fields.
fn parts(document: &Document, options: &RedactOptions) -> Vec<String> {
    let facts = document
        .arms
        .iter()
        .flat_map(|arm| &arm.samples)
        .map(|sample| &sample.facts);
    let redirects = facts.filter_map(|facts| facts.redirect.as_deref());
    let mut parts: Vec<&str> = Vec::new();
    for url in distinct(std::iter::once(document.plan.url.as_str()).chain(redirects)) {
        let Some(target) = Target::parse(url) else {
            continue;
        };
        let query = target.query.filter(|_| !options.keep_query);
        for part in [target.userinfo, query, target.fragment].into_iter().flatten() {
            parts.push(part);
            parts.extend(part.split([':', '&', '=', ';']));
        }
    }
    parts.extend(document.plan.headers.iter().map(|(_, value)| value.as_str()));
    let long_enough = parts.into_iter().filter(|part| part.len() >= SHORTEST);
    distinct(long_enough).into_iter().map(str::to_owned).collect()
}

fn distinct<'a>(items: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    items
        .filter(|item| {
            let place = seen.binary_search(item);
            if let Err(at) = place {
                seen.insert(at, *item);
            }
            place.is_err()
        })
        .collect()
}

/// Replaces `needle` (in lower case) wherever it occurs in `text` in any case; a short one only where it stands alone.
fn replace(text: &str, needle: &str, by: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    let mut replaced = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in lower.match_indices(needle) {
        let end = at + needle.len();
        let before = at.checked_sub(1).and_then(|at| lower.as_bytes().get(at));
        let alone = !is_word(before) && !is_word(lower.as_bytes().get(end));
        if alone || needle.len() >= SHORTEST_INSIDE_WORDS {
            replaced.push_str(&text[from..at]);
            replaced.push_str(by);
            from = end;
        }
    }
    replaced.push_str(&text[from..]);
    replaced
}
