// What the threads of a recording, or of one delay, did and where, piece by piece: the input of all
// encoders. Plain values; all texts are printable (core/text.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/recording.hpp"
#include "analysis/run_profile.hpp"
#include "core/result.hpp"

namespace lagtrap::formats {

enum class TimeChoice : std::uint8_t {
    OnCpu,
    OffCpu,  // waiting for a CPU, or blocked
    All,     // both, and, for a delay, unknown time
};

// A place in a program, or a state such as "blocked: disk", which sets `function` and `state` only.
struct Place {
    std::string function;  // "[FILE]" if the name is unknown
    std::string module;    // path of the program, library or kernel module
    std::string build_id;  // hexadecimal
    std::string source;    // path of the source file; empty if unknown
    std::uint32_t line = 0;
    std::uint64_t offset = 0;  // within the module, as linked; 0 if unknown
    bool kernel = false;
    bool state = false;
};

// A call on a stack; its callees have it as parent. Node 0 is the empty stack and its own parent.
struct StackNode {
    std::uint32_t parent = 0;
    std::uint32_t place = 0;  // index into StackProfile::places
};

// A piece of a thread's time in one state at one place. A thread's pieces are ordered by time and
// do not overlap.
struct Piece {
    std::uint64_t begin_ns = 0;  // since the profile's begin
    std::uint64_t length_ns = 0;
    // What sums count. Time on a CPU is divided among the thread's samples, so a piece without a
    // sample may have weight 0. Before anything is filtered out, a thread's weights add up to its
    // lengths.
    std::uint64_t weight_ns = 0;
    std::uint32_t stack = 0;  // node of the innermost call
    // `stack`, or a node below it that names the state; not 0 if the stack is unknown
    std::uint32_t leaf = 0;
    std::uint32_t reason = 0;  // of blocked or unknown time: index into StackProfile::texts
    std::uint16_t cpu = 0;     // of time on a CPU
    analysis::TimeKind kind = analysis::TimeKind::Unknown;
    bool sampled = false;  // of time on a CPU: a sample found the thread there
};

struct ProfiledThread {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;  // 0 if no thread is known
    std::string process;
    std::string name;
    std::vector<Piece> pieces;

    [[nodiscard]] std::uint64_t weight_ns() const;
};

// A run or one of its stages.
struct Span {
    std::string name;  // the stage's name; for a run, the event's name
    std::string event;
    std::uint64_t run = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t begin_ns = 0;  // since the profile's begin
    std::uint64_t length_ns = 0;
    bool stage = false;
    bool delay = false;
};

struct StackProfile {
    std::string title;  // "query, delay 1"
    std::string host;
    std::string system;  // operating system and kernel release
    TimeChoice time = TimeChoice::All;
    std::uint64_t realtime_ns = 0;  // wall-clock time of the begin; 0 if unknown
    std::uint64_t boottime_ns = 0;  // CLOCK_BOOTTIME at the begin
    std::uint64_t length_ns = 0;
    std::uint64_t sample_interval_ns = 1'000'000;
    std::vector<Place> places;
    std::vector<StackNode> nodes{{}};
    std::vector<std::string> texts{std::string()};
    // by time on a CPU, then by weight, descending; none is empty
    std::vector<ProfiledThread> threads;
    std::vector<Span> spans;  // by begin; a run precedes its stages

    // The nodes from the outermost call to `node`.
    [[nodiscard]] std::vector<std::uint32_t> path_of(std::uint32_t node) const;
    [[nodiscard]] std::uint64_t weight_ns() const;
};

// Returns "on CPU", "waits for a CPU", "blocked: REASON" or "unknown: REASON".
[[nodiscard]] std::string state_words(const StackProfile& profile, const Piece& piece);

struct ProfileChoice {
    // from 1, as numbered in a report: only its threads and its duration
    std::optional<std::size_t> delay{};
    std::string thread{};  // an id or a name; empty for all
    TimeChoice time = TimeChoice::All;
};

// ErrorKind::NotFound if there is no such delay or thread.
[[nodiscard]] Result<StackProfile> profile_of_recording(const analysis::Recording& recording,
                                                        const ProfileChoice& choice);

}  // namespace lagtrap::formats
