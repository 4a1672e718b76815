//! Metrics of one server. No global recorder: two servers in one process count apart.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};
use metrics::{Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use warren_model::{ErrorCode, ProviderKind};
use warren_workspace::RegistryMetrics;

use crate::fleet_metrics;

/// Upper bounds of latency buckets, in seconds.
const BUCKETS: &[f64] =
    &[0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

static METADATA: Metadata<'static> = Metadata::new("warren", Level::INFO, None);

/// Times that wait to be put into buckets. Each takes its own place in memory until then, and where nobody asks for metrics,
/// nobody else does it.
const MAX_LOOSE: u64 = 4_096;

pub struct Telemetry {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    /// Since the start; what was recorded is put into buckets every `MAX_LOOSE` of them.
    recorded: AtomicU64,
}

impl Telemetry {
    pub fn new() -> Self {
        let builder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), BUCKETS)
            .expect("the list of buckets is not empty");
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        for (name, help) in [
            ("warren_http_requests_total", "Requests answered, by method, route and status."),
            ("warren_requests_forwarded_total", "Requests passed on to other replicas, by outcome."),
            ("warren_workspace_opens_total", "Workspaces opened, by provider and outcome."),
            ("warren_workspace_evictions_total", "Open workspaces that were lost, by provider."),
            ("warren_workspace_retries_total", "Opens that were tried again, by provider."),
        ] {
            recorder.describe_counter(name.into(), None, help.into());
        }
        for (name, help) in [
            ("warren_http_request_duration_seconds", "Time to answer a request, by route."),
            ("warren_workspace_open_duration_seconds", "Time to open a workspace, by provider."),
        ] {
            recorder.describe_histogram(name.into(), Some(metrics::Unit::Seconds), help.into());
        }
        for (name, help) in [
            (
                "warren_workspace_operation_retries_total",
                "Operations repeated after an eviction, by provider.",
            ),
            (
                "warren_workspace_operations_given_up_total",
                "Operations given up after evictions, by provider.",
            ),
            ("warren_workspace_closes_total", "Workspaces closed, by provider and whether it ended in time."),
        ] {
            recorder.describe_counter(name.into(), None, help.into());
        }
        for (name, help) in fleet_metrics::COUNTERS {
            recorder.describe_counter((*name).into(), None, (*help).into());
        }
        for (name, help) in fleet_metrics::GAUGES {
            recorder.describe_gauge((*name).into(), None, (*help).into());
        }
        recorder.describe_gauge("warren_event_streams".into(), None, "Event streams open now.".into());
        recorder.describe_gauge("warren_build_info".into(), None, "Always 1; the version is a label.".into());
        let telemetry = Self { recorder, handle, recorded: AtomicU64::new(0) };
        telemetry.gauge("warren_build_info", &[("version", crate::VERSION)]).set(1.0);
        telemetry
    }

    /// The text format of Prometheus.
    pub fn render(&self) -> String {
        self.handle.run_upkeep();
        self.handle.render()
    }

    pub fn counter(&self, name: &'static str, labels: &[(&'static str, &str)]) -> metrics::Counter {
        self.recorder.register_counter(&key(name, labels), &METADATA)
    }

    pub fn gauge(&self, name: &'static str, labels: &[(&'static str, &str)]) -> metrics::Gauge {
        self.recorder.register_gauge(&key(name, labels), &METADATA)
    }

    fn record(&self, name: &'static str, labels: &[(&'static str, &str)], took: Duration) {
        self.recorder.register_histogram(&key(name, labels), &METADATA).record(took.as_secs_f64());
        if self.recorded.fetch_add(1, Ordering::Relaxed) % MAX_LOOSE == MAX_LOOSE - 1 {
            self.handle.run_upkeep();
        }
    }

    pub(crate) fn request_finished(&self, method: &Method, route: &str, status: StatusCode, took: Duration) {
        let labels = [("method", known_method(method)), ("route", route), ("status", status.as_str())];
        self.counter("warren_http_requests_total", &labels).increment(1);
        self.record("warren_http_request_duration_seconds", &[("route", route)], took);
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

/// What the registry counts, by provider (W17).
impl RegistryMetrics for Telemetry {
    fn opened(&self, provider: ProviderKind, latency: Duration) {
        let provider = provider.as_str();
        let labels = [("provider", provider), ("outcome", "ok")];
        self.counter("warren_workspace_opens_total", &labels).increment(1);
        let labels = [("provider", provider)];
        self.record("warren_workspace_open_duration_seconds", &labels, latency);
    }

    fn open_retried(&self, provider: ProviderKind) {
        self.counter("warren_workspace_retries_total", &[("provider", provider.as_str())]).increment(1);
    }

    fn open_failed(&self, provider: ProviderKind, code: ErrorCode) {
        let labels = [("provider", provider.as_str()), ("outcome", code.as_str())];
        self.counter("warren_workspace_opens_total", &labels).increment(1);
    }

    fn evicted(&self, provider: ProviderKind) {
        self.counter("warren_workspace_evictions_total", &[("provider", provider.as_str())]).increment(1);
    }

    fn operation_retried(&self, provider: ProviderKind) {
        let labels = [("provider", provider.as_str())];
        self.counter("warren_workspace_operation_retries_total", &labels).increment(1);
    }

    fn eviction_retries_exhausted(&self, provider: ProviderKind) {
        let labels = [("provider", provider.as_str())];
        self.counter("warren_workspace_operations_given_up_total", &labels).increment(1);
    }

    fn closed(&self, provider: ProviderKind, is_finished: bool) {
        let in_time = if is_finished { "yes" } else { "no" };
        let labels = [("provider", provider.as_str()), ("in_time", in_time)];
        self.counter("warren_workspace_closes_total", &labels).increment(1);
    }
}

impl std::fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Telemetry")
    }
}

/// Anybody can make up a method; a label for each would let strangers fill the memory.
fn known_method(method: &Method) -> &str {
    match *method {
        Method::GET | Method::HEAD | Method::POST | Method::PUT | Method::PATCH | Method::DELETE => {
            method.as_str()
        }
        _ => "other",
    }
}

fn key(name: &'static str, labels: &[(&'static str, &str)]) -> Key {
    let labels: Vec<_> = labels.iter().map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
    Key::from_parts(name, labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What this process has for itself, in KiB.
    fn own_memory() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    // O2 (3): where nobody asks for metrics, a request leaves nothing behind
    #[test]
    fn requests_that_nobody_asks_the_metrics_of_do_not_grow_the_memory() {
        let telemetry = Telemetry::new();
        let count = |times: u32| {
            for number in 0..times {
                let took = Duration::from_micros(u64::from(number % 5_000));
                telemetry.request_finished(&Method::GET, "/api/v1/workspaces", StatusCode::OK, took);
            }
        };
        count(50_000);
        let before = own_memory();
        count(1_000_000);
        let grown = own_memory().saturating_sub(before);
        assert!(grown < 2_048, "a million requests left {grown} KiB behind");
        assert!(
            telemetry
                .render()
                .contains("warren_http_request_duration_seconds_count{route=\"/api/v1/workspaces\"} 1050000")
        );
    }
}
