#include "server/ingest/parse_bundle.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "analysis/delay_timeline.hpp"
#include "analysis/recording.hpp"
#include "analysis/run_profile.hpp"
#include "formats/format_table.hpp"
#include "server/ingest/delay_details.hpp"
#include "server/ingest/machine_json.hpp"
#include "server/ingest/parsed_bundle.hpp"
#include "server/ingest/timeline_json.hpp"
#include "server/store/delay_store.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::server {
namespace {

// of the longest delays; the rest have only the system file's facts
constexpr std::size_t profiles_limit = 1000;
constexpr std::size_t normal_runs_limit = 50;  // per event
constexpr std::size_t events_limit = 20;

BundleFacts facts_of(const trace::SystemFile& file) {
    BundleFacts facts;
    facts.session_id = shortened(file.session_id);
    facts.host = shortened(file.host);
    facts.event = shortened(file.trigger_event);
    facts.started_realtime_ns = file.started_realtime_ns;
    facts.delays = static_cast<std::uint32_t>(file.delays.size());
    const auto longest = std::max_element(
        file.delays.begin(), file.delays.end(),
        [](const auto& a, const auto& b) { return a.duration_ns < b.duration_ns; });
    if (longest != file.delays.end()) {
        facts.event = shortened(longest->event);
        facts.process = shortened(longest->process);
        facts.longest_delay_ns = longest->duration_ns;
    }
    return facts;
}

std::uint64_t realtime_of(const trace::SystemFile& system, std::uint64_t boottime_ns) {
    return system.started_realtime_ns + (boottime_ns - system.started_boottime_ns);
}

BundleDelay delay_of(const trace::SystemFile& system, const trace::Delay& delay) {
    BundleDelay row;
    row.event = shortened(delay.event);
    row.begin_realtime_ns = realtime_of(system, delay.begin_ns);
    row.duration_ns = delay.duration_ns;
    row.threshold_ns = delay.threshold_ns;
    row.pid = delay.begin_pid;
    row.tid = delay.begin_tid;
    row.process = shortened(delay.process);
    row.thread = shortened(delay.thread);
    row.build = shortened(delay.program_build_id);
    row.user = shortened(delay.user);
    row.program_version = shortened(delay.program_version);
    row.trace_id = delay.trace.trace_id;
    return row;
}

// Empty if it cannot be written: a delay without a profile is still useful.
std::string profile_bytes(const analysis::RunProfile& profile) {
    auto bytes = analysis::write_run_profile(profile);
    return bytes ? std::move(bytes).value() : std::string();
}

// The users of a recording's processes. Only the recorded machine knows their names, so a user has
// a name only if one of its delays does; otherwise (and in older bundles) the number is used.
class Users {
  public:
    explicit Users(const analysis::Recording& recording) : recording_(recording) {
        for (const trace::Delay& delay : recording.system.delays)
            if (const auto uid = uid_of(delay.begin_pid); uid && !delay.user.empty())
                names_.try_emplace(*uid, shortened(delay.user));
    }
    // Empty if unknown.
    [[nodiscard]] std::string of(std::uint32_t pid) const {
        const auto uid = uid_of(pid);
        if (!uid) return {};
        const auto name = names_.find(*uid);
        return name != names_.end() ? name->second : std::to_string(*uid);
    }

  private:
    [[nodiscard]] std::optional<std::uint32_t> uid_of(std::uint32_t pid) const {
        const auto process = recording_.processes.find(pid);
        return process == recording_.processes.end() ? std::nullopt : process->second.uid;
    }

    const analysis::Recording& recording_;
    std::unordered_map<std::uint32_t, std::string> names_;
};

void add_normal_runs(const analysis::Recording& recording, const Users& users,
                     const std::string& event, ParsedBundle& parsed) {
    for (const analysis::RunProfile& profile :
         analysis::profiles_of_normal_runs(recording, event, normal_runs_limit)) {
        BundleDelay row;
        row.delayed = false;
        row.event = shortened(profile.event);
        row.begin_realtime_ns = realtime_of(recording.system, profile.begin_ns);
        row.duration_ns = profile.duration_ns;
        row.threshold_ns = profile.threshold_ns;
        row.pid = profile.pid;
        row.tid = profile.tid;
        row.process = shortened(profile.process);
        row.thread = shortened(recording.thread_name(profile.tid));
        row.unit = shortened(recording.unit_of(profile.pid));
        row.user = users.of(profile.pid);
        for (const trace::Delay& delay : recording.system.delays)
            if (delay.begin_pid == profile.pid && !delay.program_build_id.empty())
                row.build = shortened(delay.program_build_id);
        row.profile = profile_bytes(profile);
        parsed.delays.push_back(std::move(row));
    }
}

// For each delay, whether it is among the longest.
std::vector<bool> among_longest(const std::vector<trace::Delay>& delays, std::size_t count) {
    std::vector<std::size_t> order(delays.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return delays[a].duration_ns > delays[b].duration_ns;
    });
    order.resize(std::min(order.size(), count));
    std::vector<bool> among(delays.size(), false);
    for (const std::size_t index : order) among[index] = true;
    return among;
}

}  // namespace

Result<std::string> describe_bundle(int fd) {
    TRY_ASSIGN(trace::BundleContent content, trace::read_open_bundle(fd, parsed_trace_limit_bytes));
    TRY_ASSIGN(const trace::SystemFile system, trace::read_system_file(content.system_xml));
    ParsedBundle parsed;
    parsed.facts = facts_of(system);
    const auto recording = analysis::decode_recording(content.trace, system);
    const std::string damage = recording ? "" : recording.error().message;
    const std::optional<Users> users = recording ? std::optional<Users>(*recording) : std::nullopt;
    const std::vector<bool> profiled = among_longest(system.delays, profiles_limit);
    std::uint32_t number = 0;
    for (const trace::Delay& delay : system.delays) {
        if (++number > bundle_delays_limit) break;
        BundleDelay row = delay_of(system, delay);
        row.number = number;
        if (recording) row.unit = shortened(recording->unit_of(delay.begin_pid));
        if (users && row.user.empty()) row.user = users->of(delay.begin_pid);
        if (profiled[number - 1]) {
            DelayDetails details =
                delay_details(system, recording ? &*recording : nullptr, delay, damage);
            row.details = std::move(details.json);
            row.edges = std::move(details.edges);
            if (recording)
                row.profile = profile_bytes(analysis::profile_of_delay(*recording, delay));
        }
        parsed.delays.push_back(std::move(row));
    }
    std::set<std::string> events;
    for (const trace::Delay& delay : system.delays)
        if (events.size() < events_limit) events.insert(delay.event);
    if (recording)
        for (const std::string& event : events) add_normal_runs(*recording, *users, event, parsed);
    return write_parsed_bundle(parsed);
}

Result<std::string> read_system_xml(int fd) {
    TRY_ASSIGN(std::string xml, trace::read_open_bundle_system_file(fd));
    TRY(trace::read_system_file(xml));
    return xml;
}

Result<std::string> describe_quality(int fd) {
    TRY_ASSIGN(const std::string xml, trace::read_open_bundle_system_file(fd));
    TRY_ASSIGN(const trace::SystemFile system, trace::read_system_file(xml));
    return quality_json(system, {});
}

namespace {

// The recording of a bundle, checked to have a delay of this number.
Result<analysis::Recording> recording_with_delay(int fd, std::uint32_t number) {
    TRY_ASSIGN(trace::BundleContent content, trace::read_open_bundle(fd, parsed_trace_limit_bytes));
    TRY_ASSIGN(trace::SystemFile system, trace::read_system_file(content.system_xml));
    if (number == 0 || number > system.delays.size())
        return make_error(ErrorKind::NotFound, "it has no delay " + std::to_string(number));
    return analysis::decode_recording(content.trace, std::move(system));
}

}  // namespace

Result<std::string> describe_timeline(int fd, std::uint32_t number) {
    TRY_ASSIGN(const analysis::Recording recording, recording_with_delay(fd, number));
    return timeline_json(
        recording, analysis::timeline_of_delay(recording, recording.system.delays[number - 1]));
}

Result<std::string> describe_machine(int fd, std::uint32_t number,
                                     const analysis::MachineWindow& window) {
    TRY_ASSIGN(const analysis::Recording recording, recording_with_delay(fd, number));
    return machine_json(recording, recording.system.delays[number - 1], window);
}

Result<std::string> delay_in_form(int fd, std::uint32_t number, std::string_view name,
                                  formats::TimeChoice time) {
    const formats::Format* format = formats::find_format(name);
    if (format == nullptr || format->encode == nullptr)
        return make_error(ErrorKind::NotFound, "delays have no form \"" + std::string(name) + "\"");
    TRY_ASSIGN(trace::BundleContent content, trace::read_open_bundle(fd, parsed_trace_limit_bytes));
    TRY_ASSIGN(trace::SystemFile system, trace::read_system_file(content.system_xml));
    TRY_ASSIGN(const analysis::Recording recording,
               analysis::decode_recording(content.trace, std::move(system)));
    formats::ProfileChoice choice;
    choice.delay = number;
    choice.time = time;
    TRY_ASSIGN(const formats::StackProfile profile,
               formats::profile_of_recording(recording, choice));
    return format->encode(profile);
}

Status stream_trace(int fd, const std::function<Status(std::string_view)>& take) {
    return trace::read_open_bundle_trace(fd, parsed_trace_limit_bytes, take);
}

}  // namespace lagtrap::server
