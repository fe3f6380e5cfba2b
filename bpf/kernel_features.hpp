// What of BPF and perf events the running kernel has, found by asking it, not by its version.
#pragma once

#include <string>
#include <vector>

namespace lagtrap::bpf {

enum class Answer {
    Has,
    Lacks,
    Refused,  // the caller may not ask: privileges are missing
};

struct Feature {
    std::string name;  // "uprobe_multi"
    Answer answer = Answer::Lacks;
    std::string reason;  // what the kernel said, where it lacks the feature; may be empty
};

// Each asked for by loading a program of two instructions, making a map of one element, or opening an event that is
// closed at once: "btf", "kprobe-programs", "tracepoint-programs", "perf-event-programs", "tracing-programs", "ring-buffer",
// "cookies", "loops", "uprobe-events", "sampler", "uprobe-multi", "run-time-statistics", "detached-tracefs". In this order.
[[nodiscard]] std::vector<Feature> ask_kernel();

// BPF_TRACE_UPROBE_MULTI of enum bpf_attach_type (linux/bpf.h of 6.6): the build machine's headers may be older.
inline constexpr int trace_uprobe_multi = 48;

// Whether the kernel attaches many uprobes by one link (Linux 6.6), as the feature "uprobe-multi" is asked for.
[[nodiscard]] bool has_uprobe_multi();

// Capabilities (CAP_BPF, ...) that the daemon needs and this process lacks, by name; empty: none, or all are covered by
// CAP_SYS_ADMIN.
[[nodiscard]] std::vector<std::string> missing_capabilities();

}  // namespace lagtrap::bpf
