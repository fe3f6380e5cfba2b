// The tracks of a Perfetto trace that show calls, one next to each thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "trace/perfetto/packet_writer.hpp"

namespace lagtrap::trace {

// Kinds of slices. Each kind has its own sequence and tracks within a trace.
struct SliceKind {
    Sequence sequence;
    const char* category;
    std::uint64_t first_track;  // first track id of threads; those of processes follow
    std::uint64_t first_process_track;
};
// Tracks of runs count from 1.
inline constexpr SliceKind call_slices{Sequence::Calls, "lagtrap.call", 1ULL << 32, 2ULL << 32};
inline constexpr SliceKind function_slices{Sequence::Functions, "lagtrap.function", 3ULL << 32,
                                           4ULL << 32};

// Whose calls a track shows.
struct CallOwner {
    std::uint32_t pid = 0, tid = 0;
    std::uint64_t goroutine = 0;  // 0: the thread
    std::string thread, process;
};

// Not thread-safe.
class CallTracks {
  public:
    // `name` is the name of the tracks. `writer` must outlive this object.
    CallTracks(PacketWriter& writer, std::string name, const SliceKind& kind)
        : writer_(writer), name_(std::move(name)), kind_(kind) {}

    // The owner's track. Describes it in the trace when it is new, at this time (CLOCK_BOOTTIME).
    [[nodiscard]] std::uint64_t of(const CallOwner& owner, std::uint64_t at_ns);

  private:
    PacketWriter& writer_;
    std::string name_;
    const SliceKind kind_;
    // by goroutine or thread
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> tracks_;
    std::set<std::uint32_t> processes_;  // already described
};

}  // namespace lagtrap::trace
