// What the user log has of runs beside the runs themselves: what they had done by the moment the recording began, and the trace that
// their begin markers named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "bpf/records.h"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

// Not for several threads at once.
class RunDetails {
  public:
    // `texts_limit`: names of traces that are kept, as many as delays can be told.
    explicit RunDetails(std::size_t texts_limit) : texts_limit_(texts_limit) {}

    void take(const lagtrap_run_so_far& record);
    void take(const lagtrap_trace_text& record);
    // Adds what is known of the run.
    void tell(const lagtrap_run& run, Delay& delay) const;

  private:
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // event, thread, hit of the begin marker
    std::size_t texts_limit_;
    std::map<Key, lagtrap_run_so_far> so_far_;
    std::map<Key, std::string> trace_texts_;
};

}  // namespace lagtrap::trace
