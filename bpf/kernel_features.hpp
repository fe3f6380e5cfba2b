// Tests which features of BPF and perf events the running kernel has, by trying them rather than by
// version.
#pragma once

#include <string>
#include <vector>

#include "core/capabilities.hpp"

namespace lagtrap::bpf {

enum class Answer {
    Has,
    Lacks,
    Refused,  // the caller lacks the privileges to ask
};

struct Feature {
    std::string name;  // "uprobe_multi"
    Answer answer = Answer::Lacks;
    std::string reason;  // the kernel's error if the feature is missing; may be empty
};

// Tests each by loading a program of two instructions, creating a map with one element, or opening
// an event and closing it at once. In this order: "btf", "kprobe-programs", "tracepoint-programs",
// "perf-event-programs", "tracing-programs", "ring-buffer", "cookies", "loops", "uprobe-events",
// "sampler", "uprobe-multi", "run-time-statistics", "detached-tracefs".
[[nodiscard]] std::vector<Feature> ask_kernel();

// BPF_TRACE_UPROBE_MULTI of enum bpf_attach_type (linux/bpf.h of 6.6), which may be missing in the
// build machine's headers.
inline constexpr int trace_uprobe_multi = 48;

// Whether one link can attach many uprobes (Linux 6.6). Same test as feature "uprobe-multi".
[[nodiscard]] bool has_uprobe_multi();

// A feature that a request found, or that it did not find because of this errno.
[[nodiscard]] Feature feature_of(const char* name, bool has, int number);

// Names of the capabilities (CAP_BPF, ...) that the daemon needs and a process with these lacks.
// CAP_SYS_ADMIN covers CAP_BPF and CAP_PERFMON.
[[nodiscard]] std::vector<std::string> missing_from(const Capabilities& own);

// Those that this process lacks.
[[nodiscard]] std::vector<std::string> missing_capabilities();

}  // namespace lagtrap::bpf
