// A lasting change of an event, where it happened and which causes came with it, in the form of
// openapi.yaml.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "server/api/change_report.hpp"
#include "server/api/json_reply.hpp"
#include "server/store/cause_store.hpp"

namespace lagtrap::server {

// Before and after: nanoseconds, or a share of runs (delays per hour if runs are not recorded).
[[nodiscard]] json::object change_json(const reports::LastingChange& change);

// How many parts changed, and what they have in common.
[[nodiscard]] json::object extent_json(const reports::ChangeSplit& split);
// The same with each part, the largest change first.
[[nodiscard]] json::object split_report_json(const SplitReport& report);

// Known causes by id. The records must outlive the map.
using CausesById = std::map<std::uint64_t, const CauseRecord*>;
[[nodiscard]] CausesById causes_by_id(const std::vector<CauseRecord>& causes);

// Null if the cause is not among these.
[[nodiscard]] json::value shifted_cause_json(const reports::CauseShift& shift,
                                             const CausesById& causes);
// Without those whose cause is not among these.
[[nodiscard]] json::array shifts_json(const std::vector<reports::CauseShift>& shifts,
                                      const CausesById& causes);

}  // namespace lagtrap::server
