// Folded stacks, as flame graph scripts read them: "process;thread;outermost;...;innermost MICROSECONDS".
#pragma once

#include <map>
#include <string>

#include "analysis/recording.hpp"

namespace lagtrap::analysis {

enum class FoldedKind { OnCpu, OffCpu };

// The kernel's functions end in "_[k]". A ';' in a name becomes ':'. On-CPU: each sample counts one sample
// interval. Off-CPU: each blocked interval counts its length; stacks shorter than a microsecond are left out.
[[nodiscard]] std::map<std::string, std::uint64_t> fold_recording(const Recording& recording, FoldedKind kind);

// The same of one delay, on the threads that worked on it; its samples share out its time on a CPU.
[[nodiscard]] std::map<std::string, std::uint64_t> fold_delay(const Recording& recording, const trace::Delay& delay,
                                                              FoldedKind kind);

// One line per stack, by name.
[[nodiscard]] std::string folded_text(const std::map<std::string, std::uint64_t>& folded);

}  // namespace lagtrap::analysis
