// Details of runs from the user log: what a run had done when the recording began, and the trace id
// its begin marker carried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "bpf/records.h"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

// Not thread-safe.
class RunDetails {
  public:
    // `texts_limit` is the most trace ids to keep; it equals the most delays that can be listed.
    explicit RunDetails(std::size_t texts_limit) : texts_limit_(texts_limit) {}

    void take(const lagtrap_run_so_far& record);
    void take(const lagtrap_trace_text& record);
    // Adds the details of the run to `delay`.
    void tell(const lagtrap_run& run, Delay& delay) const;

  private:
    // Event, thread, time stamp of the begin marker.
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;
    std::size_t texts_limit_;
    std::map<Key, lagtrap_run_so_far> so_far_;
    std::map<Key, std::string> trace_texts_;
};

}  // namespace lagtrap::trace
