// Parts of the answer to `lagtrap status`, made from values. docs/formats.md describes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "daemon/budget/overhead_watch.hpp"
#include "daemon/capture/capture_controller.hpp"
#include "daemon/events/breach_watch.hpp"
#include "daemon/merges/merge_queue.hpp"
#include "daemon/merges/spool_keeper.hpp"
#include "daemon/runs/batch_writer.hpp"
#include "daemon/unwinding/unwinder.hpp"

namespace lagtrap::daemon {

using SteadyTime = std::chrono::steady_clock::time_point;

// 0 if it is over.
[[nodiscard]] double seconds_until(SteadyTime until, SteadyTime now);

[[nodiscard]] const char* capture_state_name(CaptureState state, bool is_merging);

// Memory of a process, from the text of its /proc/PID/statm; 0 if it has no such number.
[[nodiscard]] std::uint64_t resident_bytes(std::string_view statm, std::uint64_t page_bytes);

[[nodiscard]] boost::json::object budget_report(const OverheadStatus& status);
[[nodiscard]] boost::json::object unwinder_report(const UnwinderStatus& status);
[[nodiscard]] boost::json::object batches_report(const BatchTotals& totals,
                                                 const std::string& problem);
// Spool entries that the daemon itself removed, by their state.
[[nodiscard]] boost::json::object spool_report(const SpoolKept& kept);

// Null if early recordings are off. `now_ns` is CLOCK_MONOTONIC.
[[nodiscard]] boost::json::value early_report(const BreachWatch::Early& early,
                                              const std::vector<settings::Event>& events,
                                              std::uint64_t now_ns);
// Null if no history is kept.
[[nodiscard]] boost::json::value window_report(const Recorder::History& history,
                                               const settings::History& settings);

// Null if delays of the event begin recordings.
[[nodiscard]] boost::json::value closed_report(
    const std::map<std::string, CaptureLimits::Closed>& closed, const std::string& event,
    SteadyTime now);
[[nodiscard]] boost::json::array parties_without_captures_report(
    const std::map<Party, SteadyTime>& parties, SteadyTime now);

[[nodiscard]] boost::json::object pending_report(const Unanswered::Question& question,
                                                 SteadyTime now);
// A recording belongs either to an event or to a client.
[[nodiscard]] boost::json::object capture_report(const std::string& session,
                                                 const std::string& event,
                                                 const std::optional<StreamClient>& client,
                                                 double seconds_left);
// Null if it is not cooling down.
[[nodiscard]] boost::json::value cool_down_report(CaptureState state, double seconds_left,
                                                  bool hourly_limit_reached);
[[nodiscard]] boost::json::object captures_report(const CaptureCounts& counts,
                                                  const MergeCounts& merges,
                                                  boost::json::array users_without);
// Null if there is none.
[[nodiscard]] boost::json::value last_bundle_report(const std::optional<LastBundle>& bundle);
[[nodiscard]] boost::json::value held_up_report(const std::optional<HeldUp>& held_up);

}  // namespace lagtrap::daemon
