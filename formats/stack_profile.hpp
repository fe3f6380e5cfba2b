// What threads did and where, piece by piece, as the formats of other tools want it: of a recording, or of one delay. Plain values; all texts are printable (core/text.hpp).
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
    OffCpu,  // waiting for a CPU, and blocked
    All,     // and, of a delay, what is not known
};

// A place in a program. Of a state ("blocked: disk") all but `function` is empty.
struct Place {
    std::string function;  // or "[FILE]" where its name is not known
    std::string module;    // path of its file
    std::string build_id;  // hexadecimal
    std::string source;    // path of the source file; empty: not known
    std::uint32_t line = 0;
    std::uint64_t offset = 0;  // within the module, as linked; 0: not known
    bool kernel = false;
    bool state = false;
};

// A call on a stack; what it calls stands after it. Node 0 is the empty stack, its own parent.
struct StackNode {
    std::uint32_t parent = 0;
    std::uint32_t place = 0;  // index into StackProfile::places
};

// A piece of a thread's time in one state at one place. Pieces of a thread stand by time and do not overlap.
struct Piece {
    std::uint64_t begin_ns = 0;  // after the profile's begin
    std::uint64_t length_ns = 0;
    // What it counts in sums: time on a CPU is shared out over the thread's samples, so a piece without a sample may count
    // nothing. Before anything is chosen, weights of a thread add up to the same as lengths.
    std::uint64_t weight_ns = 0;
    std::uint32_t stack = 0;  // node of the innermost call
    std::uint32_t leaf = 0;   // the same, or a node below it that names the state; never 0 where the stack is not known
    std::uint32_t reason = 0;  // of blocked and of unknown time: index into StackProfile::texts
    std::uint16_t cpu = 0;     // on a CPU: which
    analysis::TimeKind kind = analysis::TimeKind::Unknown;
    bool sampled = false;  // on a CPU: a sample found it there
};

struct ProfiledThread {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;  // 0: no thread can be named
    std::string process;
    std::string name;
    std::vector<Piece> pieces;

    [[nodiscard]] std::uint64_t weight_ns() const;
};

// A run or one of its stages.
struct Span {
    std::string name;  // of the stage; of a run the event
    std::string event;
    std::uint64_t run = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t begin_ns = 0;  // after the profile's begin
    std::uint64_t length_ns = 0;
    bool stage = false;
    bool delay = false;
};

struct StackProfile {
    std::string title;  // "query, delay 1"
    std::string host;
    std::string system;  // name of the operating system, and the kernel's release
    TimeChoice time = TimeChoice::All;
    std::uint64_t realtime_ns = 0;  // wall clock of the begin; 0: not known
    std::uint64_t boottime_ns = 0;  // CLOCK_BOOTTIME of the begin
    std::uint64_t length_ns = 0;
    std::uint64_t sample_interval_ns = 1'000'000;
    std::vector<Place> places;
    std::vector<StackNode> nodes{{}};
    std::vector<std::string> texts{std::string()};
    std::vector<ProfiledThread> threads;  // by time on a CPU, then by weight, most first; none is empty
    std::vector<Span> spans;              // by begin; a run before its stages

    // Nodes from the outermost call to `node`.
    [[nodiscard]] std::vector<std::uint32_t> path_of(std::uint32_t node) const;
    [[nodiscard]] std::uint64_t weight_ns() const;
};

// "on CPU", "waits for a CPU", "blocked: REASON" or "unknown: REASON".
[[nodiscard]] std::string state_words(const StackProfile& profile, const Piece& piece);

struct ProfileChoice {
    std::optional<std::size_t> delay{};  // from 1, as a report counts them; its own threads, while it lasted
    std::string thread{};                // an id or a name; empty: all
    TimeChoice time = TimeChoice::All;
};

// ErrorKind::NotFound where there is no such delay or thread.
[[nodiscard]] Result<StackProfile> profile_of_recording(const analysis::Recording& recording,
                                                        const ProfileChoice& choice);

}  // namespace lagtrap::formats
