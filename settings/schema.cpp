#include "settings/schema.hpp"

#include <array>
#include <vector>

#include <fmt/core.h>

#include "settings/event_schema.hpp"
#include "settings/schema_units.hpp"

namespace lagtrap::settings {
namespace {

using enum ValueKind;
using enum Presence;
using namespace units;

constexpr std::array recording_attributes{
    AttributeSpec{"sample-interval", Duration, Optional, "1ms", "", 100 * us, s,
                  "Time between two call stack samples of a CPU."},
    AttributeSpec{"cool-down", Duration, Optional, "30s", "", 0, day,
                  "Minimum pause between two recordings of an event."},
    AttributeSpec{"captures-per-hour", Count, Optional, "12", "", 1, 3600,
                  "Maximum number of recordings per hour."},
    AttributeSpec{"capture-size-limit", ByteSize, Optional, "512MiB", "", mebibyte,
                  65536 * mebibyte,
                  "Maximum size of a recording; a larger one ends early and says so."},
    AttributeSpec{"merge-limit", Duration, Optional, "10min", "", s, day,
                  "Maximum time for merging a recording; after that it is merged again without "
                  "function names."},
    AttributeSpec{"stack-copies", ByteSize, Optional, "64MiB", "", 0, 1024 * mebibyte,
                  "Maximum memory for copies of stacks that can only be unwound later; 0B: none."},
    AttributeSpec{"scheduling", Choice, Optional, "yes", "yes|no", 0, 0,
                  "Record context switches, wakeups and the stacks of blocked threads."}};

constexpr std::array auto_threshold_attributes{
    AttributeSpec{"floor", Duration, Optional, "1ms", "", us, hour, "The smallest such threshold."},
    AttributeSpec{"min-runs", Count, Optional, "100", "", 10, 1'000'000'000,
                  "Number of runs before an event gets its first threshold; until then only runs "
                  "longer than an hour are delays."},
    AttributeSpec{"learn", Duration, Optional, "1h", "", 60 * s, 7 * day,
                  "Time to watch an event before it gets its first threshold."},
    AttributeSpec{"quiet", Duration, Optional, "6h", "", 60 * s, 7 * day,
                  "After this time without a delay, a threshold that delays have raised is halved, "
                  "down to the value that follows from the runs."},
    AttributeSpec{
        "captures-per-day", Count, Optional, "12", "", 1, 1000,
        "Maximum number of recordings in any 24 hours for each event with such a threshold."}};

constexpr std::array confirm_attributes{
    AttributeSpec{"wait", Duration, Optional, "10s", "", s, hour,
                  "Without an answer, the recording is kept after this time."}};

constexpr std::array context_attributes{
    AttributeSpec{"read", Choice, Optional, "yes", "yes|no", 0, 0,
                  "Record trace id, span id and attributes of threads whose programs publish them "
                  "as OpenTelemetry's thread context."},
    AttributeSpec{"attributes", AttributeNames, Optional, "http.route", "", 0, 0,
                  "Which attributes to record."}};

constexpr std::array privacy_attributes{
    AttributeSpec{"command-lines", Choice, Optional, "masked", "masked|program|all", 0, 0,
                  "Command lines in recordings: with recognized passwords, tokens and keys masked; "
                  "only the program; or unchanged."}};

constexpr std::array spool_attributes{
    AttributeSpec{"path", Path, Optional, "/var/lib/lagtrap/spool", "", 0, 0,
                  "Folder for recordings and bundles."},
    AttributeSpec{"size-limit", ByteSize, Optional, "2GiB", "", 16 * mebibyte,
                  16384 * 1024 * mebibyte,
                  "Maximum size of the folder; the oldest bundles are deleted first."},
    AttributeSpec{"age-limit", Duration, Optional, "30d", "", hour, 3650 * day,
                  "Older bundles are deleted."},
    AttributeSpec{"keep-sent-runs", Duration, Optional, "6h", "", 0, 365 * day,
                  "How long `lagtrap runs` can read runs that were sent to a server; 0s deletes "
                  "them at once."}};

constexpr std::array unwinding_attributes{
    AttributeSpec{"memory", ByteSize, Optional, "64MiB", "", 8 * mebibyte, 4096 * mebibyte,
                  "Maximum memory for the unwind tables of all programs."},
    AttributeSpec{"cache", Path, Optional, "/var/cache/lagtrap/unwind", "", 0, 0,
                  "Folder that keeps unwind tables across restarts."},
    AttributeSpec{"cache-limit", ByteSize, Optional, "512MiB", "", 16 * mebibyte, 65536 * mebibyte,
                  "Maximum size of the folder; the least recently used tables are deleted first."}};

constexpr std::array runs_attributes{
    AttributeSpec{"batch-interval", Duration, Optional, "10s", "", 100 * ms, hour,
                  "Maximum batch age."},
    AttributeSpec{"batch-size", ByteSize, Optional, "256KiB", "", 16 * kibibyte, 8 * mebibyte,
                  "Approximate maximum batch size before compression."},
    AttributeSpec{"limit-per-second", Count, Optional, "2000", "", 1, 100'000,
                  "Maximum number of runs recorded per event and second; above it, each recorded "
                  "run carries a weight so that counts stay correct."}};

constexpr std::array budget_attributes{
    AttributeSpec{"share", Share, Optional, "10%", "", percent / 10, 100'000 * percent,
                  "CPU limit for watching, in percent of one CPU as in systemd's CPUQuota=. It "
                  "includes the time programs spend in markers and the daemon's own use."},
    AttributeSpec{"recording-share", Share, Optional, "20%", "", percent / 10, 100 * percent,
                  "CPU limit for a recording, in percent of all CPUs."},
    AttributeSpec{"interval", Duration, Optional, "2s", "", 100 * ms, 60 * s,
                  "How often the cost is checked."},
    AttributeSpec{"disable", ChoiceList, Optional,
                  "switches samples history times stacks stages events",
                  "switches|samples|history|times|stacks|stages|events|none", 0, 0,
                  "What to disable above a CPU limit, in this order. In recordings: user-space "
                  "stacks of threads that block (switches), and the full sampling rate (samples). "
                  "While watching: the time before a breach (history), the breakdown of run times "
                  "(times), stacks at markers (stacks), stages (stages), and events, most "
                  "expensive first (events). Anything not listed stays enabled.",
                  "shed"},
    AttributeSpec{"pause", Duration, Optional, "1min", "", s, day,
                  "Time until something disabled while watching is tried again; it doubles with "
                  "each retry, up to a day."},
    AttributeSpec{"open-runs", Count, Optional, "", "", 1, 262'144,
                  "Runs of all events that may be open at the same time; default: as many as fit "
                  "into 1/1024 of the machine's memory, and at least 7,168. Each needs about 1.1 "
                  "KB of the kernel's memory."}};

constexpr std::array history_attributes{
    AttributeSpec{
        "length", Duration, Optional, "5s", "", 0, 60 * s,
        "How much time before a breach to keep in memory and add to the recording; 0s: none."},
    AttributeSpec{
        "sample-interval", Duration, Optional, "20ms", "", 5 * ms, s,
        "Time between two call stack samples of a CPU in this window; idle CPUs are not woken."},
    AttributeSpec{"early-share", Share, Optional, "2%", "", 0, 50 * percent,
                  "Maximum share of the time spent on recordings that begin before a breach, when "
                  "a run is slower than nearly all others; 0%: none."},
    AttributeSpec{
        "times", Choice, Optional, "yes", "yes|no", 0, 0,
        "Whether to count where the time of each run goes: on a CPU, waiting for one, blocked."}};

constexpr std::array upload_attributes{
    AttributeSpec{"url", Url, Required, "", "", 0, 0, "Address of lagtrap-server."},
    AttributeSpec{"token-file", Path, Optional, "", "", 0, 0,
                  "File with the token for the server."},
    AttributeSpec{"ca-file", Path, Optional, "", "", 0, 0,
                  "Certificates to trust, PEM; default: the system's."},
    AttributeSpec{"proxy", ProxyUrl, Optional, "", "", 0, 0,
                  "Proxy for the connection to the server; default: none."},
    AttributeSpec{"timeout", Duration, Optional, "5min", "", s, day, "Maximum time of an upload."},
    AttributeSpec{"allow-http", Choice, Optional, "no", "yes|no", 0, 0,
                  "Allow a url without encryption to other machines."}};

constexpr std::array otlp_attributes{
    AttributeSpec{
        "url", Url, Required, "", "", 0, 0,
        "The collector's OTLP/HTTP address without /v1/traces, such as http://localhost:4318."},
    AttributeSpec{"token-file", Path, Optional, "", "", 0, 0,
                  "File with a bearer token for the collector."},
    AttributeSpec{"ca-file", Path, Optional, "", "", 0, 0,
                  "Certificates to trust, PEM; default: the system's."},
    AttributeSpec{"proxy", ProxyUrl, Optional, "", "", 0, 0,
                  "Proxy for the connection to the collector; default: none."},
    AttributeSpec{"timeout", Duration, Optional, "30s", "", s, day, "Maximum time of a request."},
    AttributeSpec{"allow-http", Choice, Optional, "no", "yes|no", 0, 0,
                  "Allow a url without encryption to other machines."}};

constexpr std::array control_attributes{
    AttributeSpec{"socket", SocketPath, Optional, "/run/lagtrap/control.sock", "", 0, 0,
                  "Where the lagtrap command reaches the daemon."},
    AttributeSpec{
        "group", Group, Optional, "", "", 0, 0,
        "Group that may use the socket, within read, change and trace; default: only root."},
    AttributeSpec{"read", Choice, Optional, "group", "root|group|anyone", 0, 0,
                  "Who may read the status; root always may."},
    AttributeSpec{"change", Choice, Optional, "group", "root|group", 0, 0,
                  "Who may start, approve or decline a recording; root always may."},
    AttributeSpec{"trace", Choice, Optional, "root", "root|group", 0, 0,
                  "Who may trace calls, functions and objects of any process, which is as powerful "
                  "as reading its memory; root always may, and users with read access may trace "
                  "their own processes."}};

constexpr std::array use_attributes{
    AttributeSpec{"preset", Name, Required, "", "", 0, 0,
                  "The name of the preset; `lagtrap presets` lists them."},
    AttributeSpec{"events", Names, Optional, "", "", 0, 0,
                  "Which of its events to use; default: all."},
    AttributeSpec{"threshold", Threshold, Optional, "", "", us, hour,
                  "Replaces the value of each of these events."},
    AttributeSpec{"threshold-floor", Duration, Optional, "", "", us, hour,
                  "Replaces the value of each of these events."},
    AttributeSpec{"trace-length", DurationRange, Optional, "", "", 10 * ms, 600 * s,
                  "Replaces the value of each of these events."},
    AttributeSpec{
        "prefix", Name, Optional, "", "", 0, 0,
        "Prefix for the event names, so that a preset can be used twice: shop- makes shop-query."},
    AttributeSpec{"binary", Program, Optional, "", "", 0, 0,
                  "Replaces the preset's program or library; default: every file with its name "
                  "that a process uses."},
    AttributeSpec{"record", Choice, Optional, "", "delays|runs", 0, 0,
                  "Replaces the value of each of these events."}};

constexpr std::array preset_program_attributes{AttributeSpec{
    "path", Program, Required, "", "", 0, 0, "Where packages install it; * is allowed."}};
constexpr std::array preset_limit_attributes{AttributeSpec{
    "text", Text, Required, "", "", 0, 0, "What the preset does not cover, and why."}};
constexpr std::array preset_attributes{
    AttributeSpec{"version", Choice, Required, "", "1", 0, 0, "Version of the preset format."},
    AttributeSpec{"about", Text, Required, "", "", 0, 0, "What the preset watches, in one line."},
    AttributeSpec{"tried-with", Text, Required, "", "", 0, 0,
                  "Programs and versions the preset was tested with."},
    AttributeSpec{
        "scope", Choice, Optional, "yes", "yes|no", 0, 0,
        "Whether <use> may have a <scope>; no if the kernel hits the markers in any process."}};

constexpr std::array root_attributes{
    AttributeSpec{"version", Choice, Required, "", "1", 0, 0, "Version of the settings format."}};

constexpr std::array use_children{ChildSpec{&scope_element, 1}};
constexpr ElementSpec use_of_preset{"use", "Use the events of a preset.", use_attributes,
                                    use_children};
constexpr ElementSpec preset_program_element{
    "program", "A program or library that the preset supports.", preset_program_attributes, {}};
constexpr ElementSpec preset_limit_element{
    "limit", "Something that the preset does not cover.", preset_limit_attributes, {}};
constexpr std::array preset_children{ChildSpec{&preset_program_element, 16},
                                     ChildSpec{&preset_limit_element, 16},
                                     ChildSpec{&event_element, stages_limit}};
constexpr ElementSpec preset_outermost{"preset",
                                       "The root element of a preset file, presets/NAME.xml.",
                                       preset_attributes, preset_children};
constexpr ElementSpec recording_element{
    "recording", "How to record, and how often.", recording_attributes, {}};
constexpr ElementSpec auto_threshold_element{
    "auto-threshold",
    "Thresholds that follow from an event's runs: threshold=\"auto\" or threshold=\"p99.9 x 3\".",
    auto_threshold_attributes,
    {}};
constexpr ElementSpec unwinding_element{
    "unwinding",
    "Limits for unwinding the stacks of programs without frame pointers.",
    unwinding_attributes,
    {}};
constexpr ElementSpec runs_element{
    "runs",
    "How to batch the runs of events with record=\"runs\" for the server.",
    runs_attributes,
    {}};
constexpr ElementSpec budget_element{
    "budget", "What lagtrap may cost, and what it disables above that.", budget_attributes, {}};
constexpr ElementSpec history_element{
    "history", "What to keep in memory from the time before a breach.", history_attributes, {}};
constexpr ElementSpec confirm_element{
    "confirm",
    "If present, recordings wait in memory for `lagtrap approve` or `lagtrap decline`.",
    confirm_attributes,
    {}};
constexpr ElementSpec context_element{
    "context", "Which requests threads work on, if their programs say so.", context_attributes, {}};
constexpr ElementSpec privacy_element{
    "privacy", "What recordings contain of program arguments.", privacy_attributes, {}};
constexpr ElementSpec spool_element{
    "spool", "Where to keep recordings and bundles.", spool_attributes, {}};
constexpr ElementSpec upload_element{
    "upload", "If present, bundles are sent to a server.", upload_attributes, {}};
constexpr ElementSpec otlp_element{
    "otlp",
    "If present, delays are sent to an OpenTelemetry collector as spans.",
    otlp_attributes,
    {}};
constexpr ElementSpec control_element{
    "control", "The daemon's control socket.", control_attributes, {}};

constexpr std::array root_children{
    ChildSpec{&recording_element, 1},       ChildSpec{&auto_threshold_element, 1},
    ChildSpec{&unwinding_element, 1},       ChildSpec{&runs_element, 1},
    ChildSpec{&budget_element, 1},          ChildSpec{&history_element, 1},
    ChildSpec{&confirm_element, 1},         ChildSpec{&context_element, 1},
    ChildSpec{&privacy_element, 1},         ChildSpec{&spool_element, 1},
    ChildSpec{&upload_element, 1},          ChildSpec{&otlp_element, 1},
    ChildSpec{&control_element, 1},         ChildSpec{&event_element, events_limit},
    ChildSpec{&use_of_preset, events_limit}};
constexpr ElementSpec lagtrap_element{"lagtrap", "The root element.", root_attributes,
                                      root_children};

void collect_parents(const ElementSpec& element, std::string_view child,
                     std::vector<std::string_view>& parents) {
    for (const ChildSpec& spec : element.children) {
        if (spec.element->name == child) parents.push_back(element.name);
        collect_parents(*spec.element, child, parents);
    }
}

}  // namespace

const ElementSpec& root_element() { return lagtrap_element; }

const ElementSpec& preset_element() { return preset_outermost; }

const ElementSpec& use_element() { return use_of_preset; }

std::string parents_of(std::string_view child) {
    std::vector<std::string_view> parents;
    collect_parents(lagtrap_element, child, parents);
    std::string text;
    for (const std::string_view parent : parents)
        text += fmt::format("{}<{}>", text.empty() ? "" : " or ", parent);
    return text;
}

}  // namespace lagtrap::settings
