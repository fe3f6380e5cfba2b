// Translates the kernel's records about tasks (perf_event.h) into ours. Uses no kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "bpf/records.h"

namespace lagtrap::daemon {

// The record is valid during the call.
using OnTaskRecord = std::function<void(const lagtrap_record*)>;

// Takes one record of a perf event with sample_id_all and PERF_SAMPLE_TID | TIME | CPU. Ignores
// other types and truncated records. Returns how many records the kernel reports as lost.
std::uint64_t take_task_record(const char* record, std::size_t bytes, std::uint16_t cpu,
                               const OnTaskRecord& on_record);

// Walks the records from `tail` to `head` in a ring, whose size is a power of two. Records that
// wrap are passed in one piece. Returns the new tail; it stops at a record that cannot be right.
class PerfRing {
  public:
    using OnPerfRecord = std::function<void(const char* record, std::size_t bytes)>;
    std::uint64_t read(const char* data, std::size_t data_bytes, std::uint64_t head,
                       std::uint64_t tail, const OnPerfRecord& on_record);

  private:
    std::vector<char> wrapped_;
};

}  // namespace lagtrap::daemon
