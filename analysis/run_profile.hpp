// Where the time of one run went, small enough to be kept for each run: by state, reason and stack, and for the time
// that it waited for another thread, by what that thread did meanwhile.
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
[[nodiscard]] std::string_view words_of(TimeKind kind);

// Whether unknown time is so for its reason because nothing was recorded then, rather than that no thread had the run.
[[nodiscard]] bool is_missing_record(std::string_view unknown_because);

struct ProfileFrame {
    std::string function;  // or "[FILE]" where its name is not known
    std::string module;    // path of its file
    bool kernel = false;
    bool operator==(const ProfileFrame&) const = default;
};

// A call on a stack: what it calls stands after it, and has it as parent. Node 0 is the empty stack, its own parent.
struct ProfileNode {
    std::uint32_t parent = 0;  // below the node's own index
    std::uint32_t frame = 0;   // index into RunProfile::frames
    bool operator==(const ProfileNode&) const = default;
};

// What one thread did in a piece of time. Indices into the profile.
struct ProfileLink {
    TimeKind kind = TimeKind::Unknown;
    std::uint32_t reason = 0;  // text: of blocked and of unknown time
    std::uint32_t thread = 0;  // text: the thread's name; of the run's own thread it may be empty
    std::uint32_t node = 0;    // the stack, by its innermost call
    bool operator==(const ProfileLink&) const = default;
};

// links[0] is the run's own thread. Where it was blocked, links[1] is what the thread did that ended the wait, and so on:
// each thread but the last was blocked until the next one woke it. Never empty.
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
    std::uint32_t tid = 0;                          // that it began in
    std::vector<ProfileFrame> frames;               // each once
    std::vector<ProfileNode> nodes{{}};             // each path once
    std::vector<std::string> texts{std::string()};  // text 0 is empty
    std::vector<ProfileEntry> entries;              // their times add up to duration_ns exactly; longest first
    std::uint64_t waits_cut = 0;  // waits that were not followed because the profile would have become too large

    // Frames of a stack, outermost first; indices into `frames`.
    [[nodiscard]] std::vector<std::uint32_t> stack_of(std::uint32_t node) const;
    bool operator==(const RunProfile&) const = default;
};

// Time on a CPU is shared out over the samples of the thread, time spent waiting for a CPU goes to the stack where the
// thread was seen last or next. A wait is followed to the thread that ended it, 16 threads deep; it is not where an
// interrupt (a timer, a device) ended it, where the thread is part of the chain already, or where the end was not seen.
[[nodiscard]] RunProfile profile_of_delay(const Recording& recording, const trace::Delay& delay);

// The runs of the event that were no delays and lie within the recording as a whole. At most `limit` of them, spread
// evenly over the recording; `left_out`, if given, is set to the number of the others.
[[nodiscard]] std::vector<RunProfile> profiles_of_normal_runs(const Recording& recording, std::string_view event,
                                                              std::size_t limit, std::uint64_t* left_out = nullptr);

inline constexpr std::size_t run_profile_limit_bytes = 1 << 20;            // written
inline constexpr std::size_t run_profile_unpacked_limit_bytes = 16 << 20;  // the message itself

// A version byte and zstd of one protobuf message. The same profile gives the same bytes. What would make it larger than
// the limit, or have more than 16,384 entries, goes: the shortest entries lose their stacks, their time stays.
[[nodiscard]] Result<std::string> write_run_profile(const RunProfile& profile);

// For bytes from elsewhere: at most the limits above are unpacked, every index is checked, texts are printable, and
// times that do not add up to the duration are refused (ErrorKind::Invalid, TooLarge; Unsupported for a later version).
[[nodiscard]] Result<RunProfile> read_run_profile(std::string_view bytes);

}  // namespace lagtrap::analysis
