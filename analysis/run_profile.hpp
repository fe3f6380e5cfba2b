// A compact profile of one run, small enough to store for every run: time by state, reason and
// stack, and for waits on other threads, what those threads did.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/recording.hpp"
#include "core/result.hpp"

namespace lagtrap::analysis {

enum class TimeKind : std::uint8_t { Unknown, OnCpu, Runnable, Blocked };

// "on CPU", "runnable", "blocked" or "unknown".
[[nodiscard]] std::string_view to_text(TimeKind kind);

// True if the reason means that nothing was recorded then; false if it means that the run was on no
// thread.
[[nodiscard]] bool is_missing_record(std::string_view unknown_because);

struct ProfileFrame {
    std::string function;  // or "[FILE]" if the name is unknown
    std::string module;    // path of its file
    bool kernel = false;
    bool operator==(const ProfileFrame&) const = default;
};

// A call on a stack. Callees follow it and have it as their parent. Node 0 is the empty stack and
// its own parent.
struct ProfileNode {
    std::uint32_t parent = 0;  // less than the node's own index
    std::uint32_t frame = 0;   // index into RunProfile::frames
    bool operator==(const ProfileNode&) const = default;
};

// What one thread did in a period of time. Indexes refer to the profile.
struct ProfileLink {
    TimeKind kind = TimeKind::Unknown;
    std::uint32_t reason = 0;  // text, for blocked and unknown time
    std::uint32_t thread = 0;  // text: the thread's name; may be empty for the run's own thread
    std::uint32_t node = 0;    // innermost call of the stack
    bool operator==(const ProfileLink&) const = default;
};

// links[0] is the run's own thread. If it was blocked, links[1] is what the thread that ended the
// wait did, and so on: each thread but the last was blocked until the next one woke it. Never
// empty.
struct ProfileEntry {
    std::uint64_t time_ns = 0;
    std::vector<ProfileLink> links;
    bool operator==(const ProfileEntry&) const = default;
};

struct RunProfile {
    std::string event;
    std::string process;
    std::uint64_t run_id = 0;    // as in the recording
    std::uint64_t begin_ns = 0;  // CLOCK_BOOTTIME
    std::uint64_t duration_ns = 0;
    std::uint64_t threshold_ns = 0;
    bool delay = false;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;                          // thread that began it
    std::vector<ProfileFrame> frames;               // without duplicates
    std::vector<ProfileNode> nodes{{}};             // without duplicate paths
    std::vector<std::string> texts{std::string()};  // text 0 is empty
    std::vector<ProfileEntry> entries;              // add up to duration_ns exactly; longest first
    // waits whose further chain was left out, to limit the profile's size
    std::uint64_t waits_cut = 0;

    // Frames of a stack, outermost first; indexes into `frames`.
    [[nodiscard]] std::vector<std::uint32_t> stack_of(std::uint32_t node) const;
    bool operator==(const RunProfile&) const = default;
};

// Time on a CPU is distributed over the thread's samples. Time spent waiting for a CPU counts at
// the stack where the thread was last or next seen. A wait is followed to the thread that ended it,
// up to 16 threads deep, unless an interrupt (timer, device) ended it, the thread is already in the
// chain, or the end was not recorded.
[[nodiscard]] RunProfile profile_of_delay(const Recording& recording, const trace::Delay& delay);

// Profiles runs of the event that were not delays and lie entirely within the recording. Returns at
// most `limit`, spread evenly over the recording; sets `left_out`, if given, to the number of
// others.
[[nodiscard]] std::vector<RunProfile> profiles_of_normal_runs(const Recording& recording,
                                                              std::string_view event,
                                                              std::size_t limit,
                                                              std::uint64_t* left_out = nullptr);

inline constexpr std::size_t run_profile_limit_bytes = 1 << 20;            // compressed
inline constexpr std::size_t run_profile_unpacked_limit_bytes = 16 << 20;  // the message itself

// Returns a version byte and one zstd-compressed protobuf message. Equal profiles give equal bytes.
// If the result would exceed the limit or 16,384 entries, the shortest entries lose their stacks
// but keep their time.
[[nodiscard]] Result<std::string> write_run_profile(const RunProfile& profile);

// For untrusted bytes: unpacks at most the limits above, checks every index, and makes texts
// printable. Refuses times that do not add up to the duration (ErrorKind::Invalid, TooLarge;
// Unsupported for a later version).
[[nodiscard]] Result<RunProfile> read_run_profile(std::string_view bytes);

}  // namespace lagtrap::analysis
