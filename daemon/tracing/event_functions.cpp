#include "daemon/tracing/event_functions.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include <boost/asio/post.hpp>
#include <boost/json.hpp>
#include <fmt/core.h>

#include "core/timed_call.hpp"
#include "daemon/processes/process_names.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto look_interval = 1s;
constexpr auto link_timeout = 1s;

// The path of the event's program, and its target if it is a symlink: processes run it under that
// name.
std::set<std::string> names_of_program(const std::string& path) {
    if (path.empty()) return {};
    std::set<std::string> names{path};
    const auto linked = call_within<std::string>(
        link_timeout, path,
        [path]() -> Result<std::string> { return real_path_on_machine(path).string(); });
    if (linked && !linked->empty()) names.insert(*linked);
    return names;
}

// Compares the names that the kernel reports, because opening the file would access a file system
// that the process chose. A process that sees another program under this name is included too, and
// any that could be a descendant; the BPF side ignores their runs.
bool is_in_scope(const settings::Scope& scope, const std::set<std::string>& programs,
                 std::uint32_t pid) {
    if (scope.pid && *scope.pid != pid && !scope.descendants) return false;
    const std::string folder = fmt::format("/proc/{}", pid);
    struct stat found {};
    if (scope.uid && (::stat(folder.c_str(), &found) != 0 || found.st_uid != *scope.uid))
        return false;
    return programs.empty() || programs.contains(program_of(folder));
}

}  // namespace

void EventFunctions::use(const std::vector<settings::Event>& events) {
    stop();
    events_ = events;
    bool any_stands = false;
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
        if (!events_[event].functions) continue;
        wanted_[event].refused = std::make_shared<Refused>();
        wanted_[event].programs = names_of_program(events_[event].scope.binary);
        wanted_[event].sharers = std::make_shared<std::atomic<std::size_t>>(0);
        any_stands = any_stands || events_[event].functions->standing;
    }
    if (any_stands) look_regularly();
}

void EventFunctions::stop() {
    timer_.cancel();
    for (auto& [event, wanted] : wanted_) {
        for (const auto& recorder : wanted.standing) recorder->end();
        if (wanted.recorder) wanted.recorder->end();
    }
    wanted_.clear();
}

void EventFunctions::look_regularly() {
    for (auto& [event, wanted] : wanted_)
        if (events_[event].functions->standing) look(event, wanted);
    timer_.expires_after(look_interval);
    timer_.async_wait([this](const auto& failure) {
        if (!failure) look_regularly();
    });
}

std::set<std::uint32_t> EventFunctions::processes_in_scope(std::uint32_t event) const {
    std::set<std::uint32_t> pids = processes_of_(event);
    const std::set<std::string>& programs = wanted_.at(event).programs;
    std::erase_if(
        pids, [&](std::uint32_t pid) { return !is_in_scope(events_[event].scope, programs, pid); });
    return pids;
}

// Newest processes first: older ones often only start others.
void EventFunctions::look(std::uint32_t event, Wanted& wanted) {
    const std::set<std::uint32_t> pids = processes_in_scope(event);
    std::erase_if(wanted.standing, [&](const auto& recorder) {
        if (!pids.contains(recorder->pid())) recorder->end();
        return recorder->has_ended() || !pids.contains(recorder->pid());
    });
    std::erase_if(wanted.refused->pids, [&](std::uint32_t pid) { return !pids.contains(pid); });
    wanted.beyond = 0;
    for (auto pid = pids.rbegin(); pid != pids.rend(); ++pid) {
        const bool has_one =
            std::any_of(wanted.standing.begin(), wanted.standing.end(),
                        [&](const auto& recorder) { return recorder->pid() == *pid; });
        if (has_one || wanted.refused->pids.contains(*pid)) continue;
        if (wanted.standing.size() >= max_standing) {
            ++wanted.beyond;
            continue;
        }
        auto recorder = make(event, *pid, true);
        if (const Status started = threads_.begin_recorded(recorder); started)
            wanted.standing.push_back(std::move(recorder));
        else
            note_refused(wanted.refused, events_[event].name, *pid, started.error().message);
    }
    wanted.sharers->store(wanted.standing.size());
}

std::shared_ptr<FunctionRecorder> EventFunctions::make(std::uint32_t event, std::uint32_t pid,
                                                       bool standing) {
    const settings::TracedFunctions& traced = *events_[event].functions;
    FunctionRequest request;
    request.wishes = {pid, {}, traced.include, traced.exclude};
    request.min_duration = traced.least;
    request.budget = static_cast<double>(traced.share_ppm) / 1e6;
    if (standing) request.shared_by = wanted_[event].sharers;
    request.bytes_per_second = traced.bytes_per_second;
    const auto on_refused = [this, pid, refused = wanted_[event].refused,
                             name = events_[event].name](const std::string& reason) {
        boost::asio::post(context_, [this, refused, name, pid, reason] {
            note_refused(refused, name, pid, reason);
        });
    };
    return std::make_shared<FunctionRecorder>(std::move(request), standing ? traced.window : 0ns,
                                              on_refused);
}

void EventFunctions::note_refused(const std::shared_ptr<Refused>& refused, const std::string& event,
                                  std::uint32_t pid, const std::string& reason) {
    refused->pids.insert(pid);
    refused->reason = reason;
    if (reported_.emplace(event, reason).second)
        log_.warn(fmt::format("functions of event {} are not traced in process {}: {}", event, pid,
                              reason));
}

Status EventFunctions::record(std::uint32_t event, std::uint32_t pid,
                              const std::shared_ptr<AnswerLines>& lines) {
    const auto found = wanted_.find(event);
    if (found == wanted_.end()) return make_error(ErrorKind::Invalid, "the settings request none");
    Wanted& wanted = found->second;
    for (const auto& recorder : wanted.standing)
        if (recorder->pid() == pid && recorder->record(lines)) return success();
    wanted.recorder = make(event, pid, false);
    (void)wanted.recorder->record(lines);
    return threads_.begin_recorded(wanted.recorder);
}

boost::json::value EventFunctions::status(std::uint32_t event) const {
    const auto found = wanted_.find(event);
    if (found == wanted_.end()) return nullptr;
    const Wanted& wanted = found->second;
    std::vector<std::pair<std::shared_ptr<FunctionRecorder>, bool>> recorders;
    for (const auto& recorder : wanted.standing) recorders.emplace_back(recorder, true);
    if (wanted.recorder) recorders.emplace_back(wanted.recorder, false);
    boost::json::array traces;
    for (const auto& [recorder, standing] : recorders) {
        if (recorder->has_ended()) continue;
        const FunctionRecorderStatus status = recorder->status();
        traces.push_back({{"pid", recorder->pid()},
                          {"process", status.process},
                          {"standing", standing},
                          {"recording", status.recording},
                          {"watched", status.watched},
                          {"detached", status.detached},
                          {"share_ppm", static_cast<std::uint64_t>(status.budget * 1e6 + 0.5)},
                          {"kept_calls", status.kept_calls},
                          {"least_ns", status.min_ns}});
    }
    return {{"standing", events_[event].functions->standing},
            {"traces", std::move(traces)},
            {"processes_without", wanted.beyond},
            {"problem", wanted.refused->reason}};
}

}  // namespace lagtrap::daemon
