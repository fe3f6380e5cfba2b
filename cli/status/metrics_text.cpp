#include "cli/status/metrics_text.hpp"

#include <algorithm>
#include <charconv>

#include <boost/json.hpp>
#include <fmt/core.h>

#include "cli/bundles/delay_classes.hpp"
#include "cli/control/status_fields.hpp"

namespace lagtrap::cli {

namespace {

using boost::json::object;

constexpr unsigned first_power = 10, last_power = 36;

std::string seconds(double length_ns) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, length_ns / 1e9).ptr;
    return {digits, end};
}

std::string escaped(const std::string& value) {
    std::string label;
    for (const char c : value) {
        if (c == '\\' || c == '"') label += '\\';
        if (c == '\n') {
            label += "\\n";
        } else {
            label += c;
        }
    }
    return label;
}

class Writer {
  public:
    // All lines of a metric must be together, under its help and type.
    void metric(const std::string& name, const char* type, const char* help) {
        name_ = "lagtrap_" + name;
        text_ += "# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type + "\n";
    }
    void value(const std::string& labels, const std::string& value, const char* suffix = "") {
        text_ += name_ + suffix + (labels.empty() ? "" : "{" + labels + "}") + " " + value + "\n";
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

  private:
    std::string name_, text_;
};

std::string label_of(const object& event) {
    return "event=\"" + escaped(text(event, "name")) + "\"";
}

struct Bucket {
    std::uint64_t from_ns, to_ns, count;
};

std::vector<Bucket> buckets_of(const object& event) {
    std::vector<Bucket> buckets;
    for (const auto& value : list(event, "histogram"))
        if (const auto* bucket = value.if_object())
            buckets.push_back(
                {number(*bucket, "from_ns"), number(*bucket, "to_ns"), number(*bucket, "count")});
    return buckets;
}

void put_histogram(Writer& writer, const object& event) {
    const std::string label = label_of(event);
    const auto buckets = buckets_of(event);
    for (unsigned power = first_power; power <= last_power; ++power) {
        const std::uint64_t bound_ns = std::uint64_t{1} << power;
        std::uint64_t count = 0;
        for (const Bucket& bucket : buckets) count += bucket.to_ns <= bound_ns ? bucket.count : 0;
        writer.value(label + ",le=\"" + seconds(static_cast<double>(bound_ns)) + "\"",
                     std::to_string(count), "_bucket");
    }
    double sum_ns = 0;
    std::uint64_t all = 0;
    for (const auto& [from_ns, to_ns, count] : buckets) {
        sum_ns += static_cast<double>(count) *
                  (static_cast<double>(from_ns) + static_cast<double>(to_ns)) / 2;
        all += count;
    }
    // Not "runs": runs that end while the figures are read may be in only one of them, and a
    // histogram must be consistent.
    const std::string runs = std::to_string(all);
    writer.value(label + ",le=\"+Inf\"", runs, "_bucket");
    writer.value(label, seconds(sum_ns), "_sum");
    writer.value(label, runs, "_count");
}

void put_events(Writer& writer, const std::vector<const object*>& events) {
    struct Counter {
        const char* name;
        const char* field;
        const char* help;
    };
    constexpr Counter counters[] = {
        {"delays_total", "delays", "Runs over their threshold"},
        {"unmatched_begins_total", "unmatched_begins",
         "Begins replaced by a new begin with the same key"},
        {"unmatched_ends_total", "unmatched_ends", "Ends without a begin"},
        {"abandoned_total", "abandoned",
         "Runs whose thread or function exited before the end marker"},
        {"left_by_exception_total", "left_by_exception",
         "Abandoned runs left by an exception or longjmp"},
        {"failed_total", "failed", "Runs that ended as failed"},
        {"cancelled_total", "cancelled", "Runs that ended as cancelled"},
        {"lost_total", "lost", "Begins lost because the table of open runs was full"},
        {"limited_hits_total", "limited", "Hits by limited users and processes"},
    };
    for (const auto& [name, field, help] : counters) {
        writer.metric(std::string("event_") + name, "counter", help);
        for (const object* event : events)
            writer.value(label_of(*event), std::to_string(number(*event, field)));
    }
    writer.metric("event_armed", "gauge", "1 while the event is watched");
    for (const object* event : events)
        writer.value(label_of(*event),
                     truth(*event, "armed") || (truth(*event, "disabled") && !is_disabled(*event))
                         ? "1"
                         : "0");
    writer.metric("event_disabled", "gauge",
                  "1 while the event is disabled to stay within the budget");
    for (const object* event : events)
        writer.value(label_of(*event), is_disabled(*event) ? "1" : "0");
    writer.metric("event_stages_disabled", "gauge",
                  "1 while stages are disabled to stay within the budget");
    for (const object* event : events)
        writer.value(label_of(*event), truth(*event, "stages_disabled") ? "1" : "0");
    writer.metric("event_counted_total", "counter",
                  "Begins only counted while runs were not timed");
    for (const object* event : events)
        writer.value(label_of(*event), std::to_string(number(*event, "counted")));
    writer.metric("event_watched_ratio", "gauge",
                  "Share of the time the event is watched; below 1 to stay within the budget");
    for (const object* event : events)
        writer.value(label_of(*event), fmt::format("{:.3f}", real(*event, "watched_share")));
    writer.metric("event_limited_parties", "gauge",
                  "Users and processes whose hits are only counted");
    for (const object* event : events)
        writer.value(label_of(*event), std::to_string(list(*event, "limits").size()));
    writer.metric("event_processes", "gauge", "Watched processes by unit or container");
    for (const object* event : events)
        for (const auto& value : list(*event, "processes_by_unit"))
            if (const auto* of_unit = value.if_object())
                writer.value(label_of(*event) + ",unit=\"" + escaped(text(*of_unit, "unit")) + "\"",
                             std::to_string(number(*of_unit, "processes")));
    writer.metric("event_hits_total", "counter",
                  "Hits of the event's markers, including those out of scope");
    for (const object* event : events)
        writer.value(label_of(*event), std::to_string(number(*event, "hits")));
    writer.metric("event_open_runs", "gauge", "Open runs");
    for (const object* event : events)
        writer.value(label_of(*event), std::to_string(number(*event, "open")));
    writer.metric("event_threshold_seconds", "gauge", "Threshold of the event");
    for (const object* event : events)
        writer.value(label_of(*event),
                     seconds(static_cast<double>(number(*event, "threshold_ns"))));
    writer.metric("event_duration_seconds", "histogram", "Durations of finished runs");
    for (const object* event : events) put_histogram(writer, *event);
}

// Where the time of runs went, and what took most of each delay. Reports have the reasons: the
// daemon does not examine stacks.
void put_times(Writer& writer, const std::vector<const object*>& events) {
    writer.metric("event_time_seconds_total", "counter",
                  "Time of runs by thread state, for events with a time breakdown");
    for (const object* event : events) {
        const object& timed = part(*event, "timed");
        const std::uint64_t all_ns = number(timed, "ns");
        const std::uint64_t on_cpu_ns = std::min(number(timed, "on_cpu_ns"), all_ns);
        const std::uint64_t runnable_ns =
            std::min(number(timed, "runnable_ns"), all_ns - on_cpu_ns);
        const auto put = [&](const char* state, std::uint64_t time_ns) {
            writer.value(label_of(*event) + ",state=\"" + state + "\"",
                         seconds(static_cast<double>(time_ns)));
        };
        put("on_cpu", on_cpu_ns);
        put("runnable", runnable_ns);
        put("blocked", all_ns - on_cpu_ns - runnable_ns);
    }
    writer.metric("event_delays_by_class_total", "counter",
                  "Finished delays by what took most of their time");
    for (const object* event : events)
        for (const auto& [name, delays] : delay_classes(*event))
            writer.value(label_of(*event) + ",class=\"" + name + "\"", std::to_string(delays));
}

void put_daemon(Writer& writer, const object& answer) {
    writer.metric("captures_total", "counter", "Breaches and captures by outcome");
    for (const char* outcome :
         {"done", "failed", "declined", "skipped_cool_down", "skipped_hourly_limit",
          "skipped_event_share", "skipped_daily_limit", "skipped_questions", "skipped_user_share"})
        writer.value("outcome=\"" + std::string(outcome) + "\"",
                     std::to_string(number(part(answer, "captures"), outcome)));
    const object& captures = part(answer, "captures");
    writer.metric("merges_over_limit_total", "counter", "Merges that exceeded their time limit");
    writer.value("", std::to_string(number(captures, "merges_over_limit")));
    writer.metric("early_recordings_total", "counter",
                  "Recordings begun before a breach, by outcome");
    const object& early = part(part(answer, "history"), "early");
    for (const char* outcome : {"kept", "dropped", "held_back"})
        writer.value(std::string("outcome=\"") + outcome + "\"",
                     std::to_string(number(early, outcome)));
    writer.metric("captures_set_aside", "gauge", "Captures that cannot be merged");
    writer.value("", std::to_string(number(captures, "set_aside")));
    const object& batches = part(answer, "batches");
    writer.metric("batches_written_total", "counter", "Batches of runs put into the spool");
    writer.value("", std::to_string(number(batches, "written")));
    writer.metric("batches_lost_runs_total", "counter",
                  "Runs lost by write errors or a killed daemon");
    writer.value("", std::to_string(number(batches, "lost_runs")));
    const object& cost = part(answer, "cost");
    writer.metric("bpf_seconds_total", "counter",
                  "Run time of the BPF programs, while the kernel measures it");
    writer.value("", seconds(static_cast<double>(number(cost, "bpf_run_time_ns"))));
    writer.metric("cpu_seconds_total", "counter", "CPU time of the daemon");
    writer.value("", seconds(static_cast<double>(number(cost, "daemon_cpu_ns"))));
    writer.metric("memory_bytes", "gauge", "Memory of the daemon");
    writer.value("", std::to_string(number(cost, "memory_bytes")));
    const object& budget = part(answer, "budget");
    writer.metric("watching_cpu_share", "gauge",
                  "CPU share used by watching at the last budget check");
    writer.value("", seconds(static_cast<double>(number(budget, "used_ppm")) * 1000));
    writer.metric("disabled_total", "counter",
                  "Times that the budget disabled something since the settings took effect");
    writer.value("", std::to_string(number(budget, "disabled_count")));
    writer.metric("settings_error", "gauge", "1 if the last reload of the settings failed");
    writer.value("", text(part(answer, "settings"), "reload_error").empty() ? "0" : "1");
}

}  // namespace

std::string metrics_text(const object& answer) {
    std::vector<const object*> events;
    for (const auto& event : list(answer, "events"))
        if (event.is_object()) events.push_back(&event.as_object());
    Writer writer;
    put_daemon(writer, answer);
    put_events(writer, events);
    put_times(writer, events);
    return writer.take();
}

}  // namespace lagtrap::cli
