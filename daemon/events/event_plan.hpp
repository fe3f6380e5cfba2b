// What is to be attached for an event: found out from the files of its markers before any of it is attached, so that what
// takes long, or fails, holds nobody up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "binaries/reader/file_reader.hpp"
#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/probes/probe_places.hpp"
#include "daemon/probes/watched_file.hpp"
#include "settings/settings.hpp"
#include "settings/tracefs.hpp"

namespace lagtrap::daemon {

struct MarkerPlan {
    // Where a value is: argument or parameter, counted from 0; of tracepoints offset and size of a field.
    struct Value {
        std::uint16_t argument = LAGTRAP_NO_ARGUMENT;
        std::uint16_t bytes = 0;
    };
    settings::Marker marker;
    lagtrap_marker_role role = LAGTRAP_ROLE_BEGIN;
    std::uint16_t stage = 0;  // of ends: 0, or 1 + the place among the event's other ends
    Value key, second_key, begin_time, trace;
    ProbePlaces places;               // of markers in programs
    std::uint64_t tracepoint_id = 0;  // of those in the kernel
    bool by_frame = false;            // the call's frame is the key: calls of fibers too are told apart

    // "attach to function NAME of FILE", for errors.
    [[nodiscard]] std::string doing() const;
};

struct EventPlan {
    bool by_goroutine = false;          // its keys: its markers are functions of Go, and no value is
    std::optional<FileIdentity> scope;  // the program whose processes alone are watched
    std::vector<MarkerPlan> markers;    // in the order of attaching: the end before the begin
};

// One thread's.
class EventPlanner {
  public:
    // Whether the file of a path is found when a process maps it, like those of patterns.
    using Follows = std::function<bool(const std::string& path)>;
    explicit EventPlanner(ProbePlanner::OpenFile open, Follows follows = {})
        : places_(std::move(open)), follows_(std::move(follows)) {}

    // All of these will be planned one after the other: what is asked of a file is read once.
    void expect(const std::vector<settings::Event>& events);
    // ErrorKind::Timeout: the budget was not enough. Markers in files that are found when they are mapped are left out.
    [[nodiscard]] Result<EventPlan> plan(const settings::Event& event, const binaries::ReadBudget& budget);
    // Of the event's markers whose binary is one of `names`: in the file that is opened under the name `path`.
    [[nodiscard]] Result<EventPlan> plan_copy(const settings::Event& event, const std::set<std::string>& names,
                                              const std::string& path, const binaries::ReadBudget& budget);
    // The file that was read last; empty: none. After an error of plan() that it is about.
    [[nodiscard]] const std::string& last_file() const { return last_file_; }

  private:
    [[nodiscard]] Result<MarkerPlan> plan_marker(const settings::Event& event, const settings::Marker& marker,
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
