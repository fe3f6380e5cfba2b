// What the threads of a capture worked for, as their programs published it: OpenTelemetry's thread
// context (bpf/thread_context.bpf.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "trace/perfetto/packet_writer.hpp"
#include "trace/system_file/trace_context.hpp"

namespace lagtrap::trace {

struct ContextAttribute {
    std::string name;
    std::string value;
    bool operator==(const ContextAttribute&) const = default;
};

// Not thread-safe.
class ThreadContexts {
  public:
    static constexpr std::size_t contexts_limit = 262'144, processes_limit = 4'096;

    // The records must be complete (record_check.hpp).
    void take(const lagtrap_context_keys& record);
    void take(const lagtrap_context& record);

    // The attributes whose names the process has published, and the settings want.
    [[nodiscard]] std::vector<ContextAttribute> attributes_of(const lagtrap_context& record) const;
    // The trace that the thread worked for during most of this time, as far as it was seen; empty
    // if none. Its parent is the span of the thread.
    [[nodiscard]] TraceContext trace_of(std::uint32_t tid, std::uint64_t begin_ns,
                                        std::uint64_t end_ns) const;

  private:
    struct Seen {
        std::uint64_t at_ns = 0;
        TraceContext trace;  // empty: none
    };
    std::map<std::uint32_t, std::vector<std::string>> keys_;     // by process
    std::unordered_map<std::uint32_t, std::vector<Seen>> seen_;  // by thread, in the log's order
    std::size_t contexts_ = 0;
};

// Writes a context as a packet at `at_ns` (CLOCK_BOOTTIME).
void write_context(const lagtrap_context& record, const std::vector<ContextAttribute>& attributes,
                   std::uint64_t at_ns, PacketWriter& writer);

}  // namespace lagtrap::trace
