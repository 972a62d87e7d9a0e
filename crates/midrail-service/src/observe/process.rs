//! The standard metrics of a process, as `/proc` reports them.

use std::fs;

use midrail::metrics::MetricsText;

/// Writes the metrics that the system provides.
pub(crate) fn write(out: &mut MetricsText) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program name is in parentheses and may contain anything.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4_096);
    let mut one = |name: &str, kind: &str, help: &str, value: Option<String>| {
        if let Some(value) = value {
            out.family(name, kind, help, [(Vec::new(), value)]);
        }
    };
    let hundredths = |ticks_spent: u64| {
        let hundredths = ticks_spent.saturating_mul(100) / ticks;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    };
    let spent = field(11).zip(field(12)).map(|(user, system)| hundredths(user + system));
    one("process_cpu_seconds_total", "counter", "Processor time of the process, in seconds.", spent);
    one(
        "process_virtual_memory_bytes",
        "gauge",
        "Virtual memory of the process.",
        field(20).map(|it| it.to_string()),
    );
    let resident = field(21).map(|pages| pages.saturating_mul(page).to_string());
    one("process_resident_memory_bytes", "gauge", "Memory that the process holds.", resident);
    one("process_threads", "gauge", "Threads of the process.", field(17).map(|it| it.to_string()));
    let open = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count().to_string());
    one("process_open_fds", "gauge", "Files that the process has open.", open);
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let most = limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next());
    one("process_max_fds", "gauge", "Files that the process may have open.", most.map(str::to_owned));
    let boot = fs::read_to_string("/proc/stat").unwrap_or_default();
    let boot = boot.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse::<u64>().ok());
    let started = boot.zip(field(19)).map(|(boot, since)| (boot + since / ticks).to_string());
    one("process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.", started);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_metrics_have_values() {
        let mut text = MetricsText::default();
        write(&mut text);
        for name in [
            "process_cpu_seconds_total",
            "process_resident_memory_bytes",
            "process_threads",
            "process_open_fds",
        ] {
            let line = text.0.lines().find(|line| line.starts_with(name));
            assert!(line.is_some(), "{name}\n{}", text.0);
        }
        let value = |name: &str| -> f64 {
            let line = text.0.lines().find(|line| line.starts_with(name)).unwrap();
            line.split(' ').next_back().unwrap().parse().unwrap()
        };
        assert!(value("process_resident_memory_bytes") > 1e6);
        assert!(value("process_start_time_seconds") > 1.6e9);
    }
}
