// Plans the probes of an event from the files of its markers, before anything is attached, so that
// slow or unreadable files delay nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "binaries/reader/file_reader.hpp"
#include "bpf/event_monitor.h"
#include "core/result.hpp"
#include "daemon/probes/probe_places.hpp"
#include "daemon/processes/program_file.hpp"
#include "settings/settings.hpp"
#include "settings/tracefs.hpp"

namespace lagtrap::daemon {

struct MarkerPlan {
    // Where to find a value: argument or parameter number, counted from 0. For tracepoints, offset
    // and size of a field.
    struct Value {
        std::uint16_t argument = LAGTRAP_NO_ARGUMENT;
        std::uint16_t bytes = 0;
    };
    settings::Marker marker;
    lagtrap_marker_role role = LAGTRAP_ROLE_BEGIN;
    std::uint16_t stage = 0;  // for ends: 0, or 1 + index among the event's other ends
    Value key, second_key, begin_time, trace;
    ProbePlaces places;               // for markers in programs
    std::uint64_t tracepoint_id = 0;  // for markers in the kernel
    // the call's stack frame is the key, which also distinguishes calls of fibers
    bool by_frame = false;

    // For errors: "attach to function NAME of FILE".
    [[nodiscard]] std::string doing() const;
};

struct EventPlan {
    // goroutines are the keys: the markers are Go functions, and no value is a key
    bool by_goroutine = false;
    std::optional<ProgramFile> scope;  // limits the event to processes of this program
    std::vector<MarkerPlan> markers;   // in attach order: ends before the begin
};

// Use it on one thread.
class EventPlanner {
  public:
    // True if the file at this path is opened only when a process maps it, like files that match
    // patterns.
    using Follows = std::function<bool(const std::string& path)>;
    explicit EventPlanner(ProbePlanner::OpenFile open, Follows follows = {})
        : places_(std::move(open)), follows_(std::move(follows)) {}

    // Announces events that will be planned, so that each file is read once for all of them.
    void expect(const std::vector<settings::Event>& events);
    // ErrorKind::Timeout: the budget ran out. Skips markers in files that are opened only when
    // mapped.
    [[nodiscard]] Result<EventPlan> plan(const settings::Event& event,
                                         const binaries::ReadBudget& budget);
    // Plans the event's markers whose binary is in `names`, for the file that is opened under the
    // name `path`.
    [[nodiscard]] Result<EventPlan> plan_copy(const settings::Event& event,
                                              const std::set<std::string>& names,
                                              const std::string& path,
                                              const binaries::ReadBudget& budget);
    // The file that was read last, or empty. After an error of plan(), the file that it is about.
    [[nodiscard]] const std::string& last_file() const { return last_file_; }

  private:
    [[nodiscard]] Result<MarkerPlan> plan_marker(const settings::Event& event,
                                                 const settings::Marker& marker,
                                                 lagtrap_marker_role role, std::uint16_t stage);
    [[nodiscard]] Result<MarkerPlan::Value> value_of(const settings::Marker& marker,
                                                     const settings::ArgumentRef& reference);
    [[nodiscard]] Result<ProbePlaces> places_of(const MarkerPlan& plan);
    [[nodiscard]] Result<settings::TraceFs*> tracefs();

    [[nodiscard]] bool is_found_when_mapped(const settings::Marker& marker) const;

    ProbePlanner places_;
    Follows follows_;
    std::string last_file_;
    std::unique_ptr<settings::TraceFs> tracefs_;
};

}  // namespace lagtrap::daemon
