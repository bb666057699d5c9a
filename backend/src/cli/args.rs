//! The command line: options named as people know them from curl.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use shared::{Family, Method, Plan, Protocol, Temperature};
use url::{Host, Url};

use super::serve::ServeArgs;

/// Where the time of a web request goes over HTTP/1.1, HTTP/2 and HTTP/3.
#[derive(Debug, Parser)]
#[command(name = "roundtrip", version, about)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure one URL and print where the time goes.
    Probe(ProbeArgs),
    /// Serve the page, the API and a test origin.
    Serve(ServeArgs),
}

/// Options of `roundtrip probe`.
#[derive(Clone, Debug, Args)]
#[command(args_override_self = true)]
#[command(after_help = "Exit status: 0 measured, 1 some arm failed, 2 usage, 3 nothing could be measured.")]
pub struct ProbeArgs {
    /// The http:// or https:// URL to measure; https:// when no scheme is given.
    #[arg(required_unless_present = "explain")]
    pub url: Option<String>,

    /// Force HTTP/1.1 (all three protocols when none is given).
    #[arg(long = "http1.1")]
    pub http1: bool,
    /// Force HTTP/2.
    #[arg(long)]
    pub http2: bool,
    /// Force HTTP/3.
    #[arg(long)]
    pub http3: bool,

    /// IPv4 only.
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// IPv6 only.
    #[arg(short = '6', long)]
    pub ipv6: bool,

    /// New connections for each protocol.
    #[arg(short = 'n', long, default_value_t = Plan::DEFAULT_SAMPLES, value_name = "N")]
    pub samples: u32,
    /// Also measure K further requests on each connection.
    #[arg(long, value_name = "K")]
    pub warm: Option<u32>,
    /// Uncounted connections for each protocol before the first counted one.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub warmup: u32,
    /// Seed of the order of samples; random when not given, and recorded in the document.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Go on when the certificate is not accepted, and say so.
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Trust the certificates of this PEM file beside the system's.
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Dial ADDR instead of asking DNS; host and port must be those of the URL.
    #[arg(long, value_name = "HOST:PORT:ADDR")]
    pub resolve: Option<String>,
    /// Ask this DNS resolver instead of the system's; port 53 when none is given.
    #[arg(long, value_name = "ADDR", value_parser = resolver)]
    pub resolver: Option<SocketAddr>,
    /// A further request field.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Send HEAD instead of GET.
    #[arg(short = 'I', long)]
    pub head: bool,
    /// Longest time for one exchange, in seconds; a fraction is allowed.
    #[arg(short = 'm', long, value_name = "SECONDS", value_parser = milliseconds, default_value = "10")]
    pub max_time: u64,
    /// Longest body to read, in bytes.
    #[arg(long, default_value_t = Plan::DEFAULT_MAX_BODY_BYTES, value_name = "BYTES")]
    pub max_body: u64,
    /// Ask for a compressed response: gzip, deflate or br.
    #[arg(long, conflicts_with = "encoding")]
    pub compressed: bool,
    /// The accept-encoding to send.
    #[arg(long, value_name = "CODINGS")]
    pub encoding: Option<String>,
    /// Measure where a redirect points to, up to ten times.
    #[arg(short = 'L', long)]
    pub follow: bool,
    /// Dial loopback, private and reserved addresses too.
    #[arg(long)]
    pub allow_private: bool,

    /// Print the result document as JSON.
    #[arg(long)]
    pub json: bool,
    /// Print what each figure means, after the result or by itself.
    #[arg(long)]
    pub explain: bool,
}

/// The value of an option cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {message}")]
pub struct UsageError {
    /// The option.
    pub option: &'static str,
    /// What is wrong with it.
    pub message: String,
}

impl ProbeArgs {
    /// The plan for `url`, with `random` as seed unless one was given.
    ///
    /// # Errors
    /// When an option's value cannot be used.
    pub fn plan(&self, url: &str, random: u64) -> Result<Plan, UsageError> {
        let mut plan = Plan::new(with_scheme(url));
        let chosen = [
            (self.http1, Protocol::H1),
            (self.http2, Protocol::H2),
            (self.http3, Protocol::H3),
        ];
        if chosen.iter().any(|(wanted, _)| *wanted) {
            plan.protocols = chosen
                .into_iter()
                .filter_map(|(wanted, protocol)| wanted.then_some(protocol))
                .collect();
        } else if plan.url.starts_with("http://") {
            plan.protocols = vec![Protocol::H1];
        }
        plan.family = match (self.ipv4, self.ipv6) {
            (true, _) => Family::Ipv4,
            (_, true) => Family::Ipv6,
            _ => Family::Auto,
        };
        if let Some(requests) = self.warm {
            plan.temperatures = vec![Temperature::Cold, Temperature::Warm];
            plan.warm_requests = requests;
        }
        plan.method = if self.head { Method::Head } else { Method::Get };
        plan.samples = self.samples;
        plan.warmup = self.warmup;
        plan.seed = self.seed.unwrap_or(random);
        plan.insecure = self.insecure;
        plan.max_time_ms = self.max_time;
        plan.max_body_bytes = self.max_body;
        plan.accept_encoding = match &self.encoding {
            Some(codings) => Some(codings.clone()),
            None => self.compressed.then(|| "gzip, deflate, br".to_owned()),
        };
        plan.headers = self
            .headers
            .iter()
            .map(|field| {
                let (name, value) = field.split_once(':').ok_or_else(|| UsageError {
                    option: "-H",
                    message: format!("`{field}` is not NAME: VALUE"),
                })?;
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            })
            .collect::<Result<_, _>>()?;
        plan.resolve = match &self.resolve {
            Some(given) => Some(resolved(given, &plan.url)?),
            None => None,
        };
        Ok(plan)
    }
}

/// People leave the scheme away.
fn with_scheme(url: &str) -> String {
    let url = url.trim();
    if url.contains("://") {
        url.to_owned()
    } else {
        format!("https://{url}")
    }
}

/// The address of `HOST:PORT:ADDR`, whose host and port must be the URL's.
fn resolved(given: &str, url: &str) -> Result<String, UsageError> {
    let fail = |message: String| UsageError {
        option: "--resolve",
        message,
    };
    let mut parts = given.splitn(3, ':');
    let (Some(host), Some(port), Some(address)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(fail(format!("`{given}` is not HOST:PORT:ADDR")));
    };
    let address = address.trim_matches(['[', ']']);
    address
        .parse::<IpAddr>()
        .map_err(|_error| fail(format!("`{address}` is not an IP address")))?;
    let url = Url::parse(url).map_err(|error| fail(format!("the URL is not valid: {error}")))?;
    let host_is_same = Host::parse(host).is_ok_and(|host| url.host() == Some(host_ref(&host)));
    if !host_is_same || url.port_or_known_default().map(|own| own.to_string()).as_deref() != Some(port) {
        return Err(fail(format!(
            "`{host}:{port}` is not the host and port of the URL"
        )));
    }
    Ok(address.to_owned())
}

fn host_ref(host: &Host<String>) -> Host<&str> {
    match host {
        Host::Domain(name) => Host::Domain(name),
        Host::Ipv4(address) => Host::Ipv4(*address),
        Host::Ipv6(address) => Host::Ipv6(*address),
    }
}

fn resolver(text: &str) -> Result<SocketAddr, String> {
    text.parse::<SocketAddr>()
        .or_else(|_error| {
            let address = text.trim_matches(['[', ']']).parse::<IpAddr>();
            address.map(|address| SocketAddr::new(address, 53))
        })
        .map_err(|_error| "not an IP address with or without a port".to_owned())
}

/// Seconds with up to three decimals, as milliseconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    let wrong = || "not a number of seconds".to_owned();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.chars().all(|digit| digit.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return Err(wrong());
    }
    let padded: String = fraction.chars().chain("000".chars()).take(3).collect();
    format!("{whole}{padded}").parse().map_err(|_error| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> ProbeArgs {
        let Command::Probe(args) = Cli::try_parse_from(line.split_whitespace()).unwrap().command else {
            panic!("not a probe: {line}");
        };
        args
    }

    fn plan(line: &str) -> Result<Plan, UsageError> {
        let args = args(line);
        args.plan(args.url.as_deref().unwrap(), 7)
    }

    #[test]
    fn a_bare_host_is_measured_over_all_three_protocols() {
        let plan = plan("roundtrip probe example.org").unwrap();
        assert_eq!(plan.url, "https://example.org");
        assert_eq!(plan.protocols, Protocol::ALL);
        assert_eq!(plan.seed, 7);
        assert_eq!(plan.validate(), Ok(()));
    }

    #[test]
    fn options_of_curl_mean_what_they_mean_there() {
        let plan = plan(
            "roundtrip probe https://example.org/a --http1.1 --http3 -6 -n 5 --warm 4 -k -I --max-time 2.5 \
             -H a:b --compressed --seed 3 --resolve example.org:443:[::1]",
        )
        .unwrap();
        assert_eq!(plan.protocols, [Protocol::H1, Protocol::H3]);
        assert_eq!(plan.family, Family::Ipv6);
        assert_eq!((plan.samples, plan.warm_requests, plan.seed), (5, 4, 3));
        assert_eq!(plan.temperatures, [Temperature::Cold, Temperature::Warm]);
        assert_eq!(plan.method, Method::Head);
        assert_eq!(plan.max_time_ms, 2500);
        assert_eq!(plan.headers, [("a".to_owned(), "b".to_owned())]);
        assert_eq!(plan.accept_encoding.as_deref(), Some("gzip, deflate, br"));
        assert_eq!(plan.resolve.as_deref(), Some("::1"));
    }

    #[test]
    fn an_http_url_is_measured_over_http1_only() {
        assert_eq!(
            plan("roundtrip probe http://example.org/").unwrap().protocols,
            [Protocol::H1]
        );
    }

    #[test]
    fn a_resolve_for_another_host_is_refused() {
        for other in [
            "other.org:443:127.0.0.1",
            "example.org:80:127.0.0.1",
            "example.org:443:x",
            "x",
        ] {
            let refused = plan(&format!("roundtrip probe https://example.org/ --resolve {other}"));
            assert_eq!(refused.unwrap_err().option, "--resolve", "{other}");
        }
    }

    #[test]
    fn seconds_may_have_a_fraction() {
        assert_eq!(milliseconds("3"), Ok(3000));
        assert_eq!(milliseconds("0.25"), Ok(250));
        assert_eq!(milliseconds(".5"), Ok(500));
        for wrong in ["", ".", "-1", "1e3", "1.5s"] {
            assert!(milliseconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_resolver_may_have_a_port() {
        assert_eq!(resolver("127.0.0.1"), Ok("127.0.0.1:53".parse().unwrap()));
        assert_eq!(resolver("[::1]:5353"), Ok("[::1]:5353".parse().unwrap()));
        assert!(resolver("dns.example").is_err());
    }
}
