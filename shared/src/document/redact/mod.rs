//! Removes what should not leave the user's hands before a document is stored or shared, and says what was removed.

mod secrets;
mod target;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use self::{secrets::Secrets, target::Target};
use crate::{DnsReport, Document, Facts, Failure, FailureKind, diagnosis, source::server_timing};

/// Response fields that are shared; all others are removed.
pub const SHARED_HEADERS: [&str; 11] = [
    "age",
    "alt-svc",
    "cache-control",
    "cf-cache-status",
    "content-encoding",
    "content-length",
    "content-type",
    "server",
    "server-timing",
    "vary",
    "x-cache",
];

/// What is kept that is removed otherwise, and the other way round. The default is what a careful person would share.
///
/// Whatever is chosen, these always go: user name and password in URLs, fragments, request fields, a fixed address,
/// response fields that are not in [`SHARED_HEADERS`], texts about certificates (they contain names), descriptions in
/// Server-Timing, and the id under which the result is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactOptions {
    /// Keep the queries of URLs.
    pub keep_query: bool,
    /// Keep private host names (`localhost`, single labels, `.local` and the like, names with a private address) and
    /// private addresses.
    pub keep_hosts: bool,
    /// Give public hosts an alias too, and remove all addresses.
    pub alias_all_hosts: bool,
}

/// A document that can be shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Redacted {
    /// The document without what was removed.
    pub document: Document,
    /// What was removed, in words, in the order of the document; empty when nothing was.
    pub removed: Vec<String>,
}

/// Removes what `options` say. Hosts that are removed become `server-a.invalid`, `server-b.invalid` and so on, wherever they
/// occur. Times are not touched; texts that contain something removed are replaced as a whole.
pub fn redact(document: &Document, options: &RedactOptions) -> Redacted {
    let mut redactor = Redactor {
        options,
        secrets: Secrets::of(document, options),
        removed: Vec::new(),
    };
    let document = redactor.document(document.clone());
    Redacted {
        document,
        removed: redactor.removed,
    }
}

struct Redactor<'a> {
    options: &'a RedactOptions,
    secrets: Secrets,
    removed: Vec<String>,
}

impl Redactor<'_> {
    fn document(&mut self, mut document: Document) -> Document {
        if document.id.take().is_some() {
            self.note("the id of the stored result");
        }
        document.plan.url = self.url(&document.plan.url);
        if !document.plan.headers.is_empty() {
            document.plan.headers.clear();
            self.note("request fields");
        }
        if document.plan.resolve.take().is_some() {
            self.note("the address the probe was told to use");
        }
        if let Some(encoding) = &mut document.plan.accept_encoding {
            self.text(encoding);
        }
        for vantage in [Some(&mut document.vantage), document.browser_vantage.as_mut()]
            .into_iter()
            .flatten()
        {
            if let Some(description) = &mut vantage.description {
                self.text(description);
            }
        }
        if let Some(dns) = &mut document.dns {
            self.dns(dns);
        }
        if let Some(address) = &mut document.address {
            self.address(address);
        }
        for index in 0..document.arms.len() {
            for sample in &mut document.arms[index].samples {
                self.facts(&mut sample.facts);
                if let Some(failure) = &mut sample.failure {
                    self.failure(failure);
                }
            }
            // The reasons of absent phases repeat facts: they are written anew.
            let step = document.clock_step(document.arms[index].source);
            document.arms[index].recompute(step);
        }
        document.findings = diagnosis::findings(&document);
        for (host, alias) in self.secrets.aliases() {
            let kind = if is_private_host(host) {
                "the private host name"
            } else {
                "a host name"
            };
            self.removed.push(format!("{kind}, now {alias}"));
        }
        document
    }

    fn url(&mut self, url: &str) -> String {
        let Some(mut target) = Target::parse(url) else {
            self.note("a URL that could not be read");
            return "https://removed.invalid/".into();
        };
        if target.userinfo.take().is_some() {
            self.note("user name and password in the URL");
        }
        if !self.options.keep_query && target.query.take().is_some() {
            self.note("the URL's query");
        }
        if target.fragment.take().is_some() {
            self.note("the URL's fragment");
        }
        let host = self.secrets.alias(target.host).unwrap_or(target.host);
        target.with_host(host)
    }

    fn dns(&mut self, dns: &mut DnsReport) {
        self.text(&mut dns.host);
        self.address(&mut dns.resolver);
        for query in &mut dns.queries {
            query.answers.iter_mut().for_each(|answer| self.address(answer));
            if let Some(detail) = &mut query.detail {
                self.text(detail);
            }
        }
        for record in &mut dns.https {
            self.text(&mut record.target);
            record.hints.iter_mut().for_each(|hint| self.address(hint));
        }
    }

    fn facts(&mut self, facts: &mut Facts) {
        if let Some(address) = &mut facts.address {
            self.address(address);
        }
        if let Some(url) = facts.redirect.take() {
            facts.redirect = Some(self.url(&url));
        }
        if let Some(error) = &mut facts.certificate_error {
            "not accepted (the text was removed)".clone_into(error);
            self.note("the text about the certificate");
        }
        for text in [&mut facts.hidden, &mut facts.dns_skipped, &mut facts.http_version]
            .into_iter()
            .flatten()
        {
            self.text(text);
        }
        facts.notes.iter_mut().for_each(|note| self.text(note));
        facts.headers.retain_mut(|(name, value)| {
            if !SHARED_HEADERS.contains(&name.as_str()) {
                self.note(&format!("the response field {name}"));
                return false;
            }
            if name == "server-timing" {
                let short = server_timing::without_descriptions(value);
                if short != *value {
                    *value = short;
                    self.note("descriptions in Server-Timing");
                }
            }
            self.field(value);
            true
        });
    }

    fn failure(&mut self, failure: &mut Failure) {
        if failure.kind == FailureKind::TlsCertificate && !failure.detail.is_empty() {
            failure.detail.clear();
            self.note("the text about the certificate");
        }
        self.text(&mut failure.detail);
    }

    /// An address, perhaps with a port; anything else is read as text.
    fn address(&mut self, text: &mut String) {
        let Some(address) = ip_of(text) else {
            self.text(text);
            return;
        };
        if self.secrets.hides_addresses() {
            "(address removed)".clone_into(text);
            self.note("addresses");
        } else if is_private(address) && !self.options.keep_hosts {
            "(private address)".clone_into(text);
            self.note("private addresses");
        }
    }

    /// A text in words: hosts get their alias; where it still contains something removed, it goes as a whole.
    fn text(&mut self, text: &mut String) {
        *text = self.secrets.with_aliases(text);
        if self.secrets.occur_in(text) {
            "(removed)".clone_into(text);
            self.note("texts that repeat something removed");
        }
    }

    /// A field value that is shared: as [`Self::text`], but short query values (`html`, `br`) are no reason to remove it.
    fn field(&mut self, value: &mut String) {
        *value = self.secrets.with_aliases(value);
        if self.secrets.long_ones_occur_in(value) {
            "(removed)".clone_into(value);
            self.note("texts that repeat something removed");
        }
    }

    fn note(&mut self, what: &str) {
        if !self.removed.iter().any(|noted| noted == what) {
            self.removed.push(what.to_owned());
        }
    }
}

/// The IP address in `1.2.3.4`, `1.2.3.4:443`, `::1`, `[::1]` or `[::1]:443`.
fn ip_of(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    text.parse::<SocketAddr>()
        .map(|address| address.ip())
        .or_else(|_| bare.unwrap_or(text).parse())
        .ok()
}

/// Whether an address is of a network of one's own: not reachable from elsewhere, and telling about its inside.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => address
            .to_ipv4_mapped()
            .map_or_else(|| is_private_v6(address), is_private_v4),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_unspecified()
        // Shared address space of carriers (RFC 6598).
        || (first == 100 && second & 0xc0 == 64)
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    address.is_loopback()
        || address.is_unspecified()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        // Site-local, deprecated but still met (RFC 3879).
        || first & 0xffc0 == 0xfec0
}

/// Whether a host is one of a network of one's own by its name: a private address, a single label, or a name under a
/// suffix that is never public.
fn is_private_host(host: &str) -> bool {
    const SUFFIXES: [&str; 11] = [
        "corp",
        "home",
        "home.arpa",
        "internal",
        "intranet",
        "lan",
        "local",
        "localdomain",
        "localhost",
        "private",
        "test",
    ];
    if let Some(address) = ip_of(host) {
        return is_private(address);
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    !host.contains('.')
        || SUFFIXES.iter().any(|suffix| {
            let rest = host.strip_suffix(suffix);
            rest.is_some_and(|rest| rest.ends_with('.'))
        })
}

#[cfg(test)]
mod tests;
