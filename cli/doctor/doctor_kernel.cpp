#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "cli/doctor/doctor_findings.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

// What a feature is for, and what is to be said where it lacks.
struct FeatureText {
    const char* feature;
    const char* name;
    const char* works;
    const char* advice;
    Health without;
};

constexpr FeatureText texts[] = {
    {"btf", "kernel types (BTF)", "the BPF programs fit themselves to this kernel",
     "the kernel is to be built with CONFIG_DEBUG_INFO_BTF, as those of distributions are", Health::Missing},
    {"kprobe-programs", "probes in programs", "BPF programs of probes load",
     "the kernel is to be built with CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and CONFIG_UPROBE_EVENTS", Health::Missing},
    {"uprobe-events", "uprobes", "a probe can be put into a program",
     "the kernel is to be built with CONFIG_UPROBE_EVENTS", Health::Missing},
    {"uprobe-multi", "many probes at once", "one attachment holds many probes",
     "works without: probes are attached one by one, at 0.1 s each when they go; Linux 6.6 has it", Health::Otherwise},
    {"cookies", "cookies of probes", "a program knows which probe it was called for", "Linux 5.15 or newer has them",
     Health::Missing},
    {"loops", "loops in BPF", "bpf_loop() is there", "Linux 5.17 or newer has it", Health::Missing},
    {"ring-buffer", "BPF ring buffer", "records reach the daemon", "Linux 5.8 or newer has it", Health::Missing},
    {"tracepoint-programs", "tracepoint programs", "events of the kernel can be watched",
     "the kernel is to be built with CONFIG_BPF_EVENTS", Health::Missing},
    {"detached-tracefs", "names of tracepoints", "tracefs can be opened without a mount",
     "without it events on tracepoints are not armed; others are", Health::Otherwise},
    {"tracing-programs", "context switches", "who waits for whom can be recorded",
     "the kernel is to be built with CONFIG_DEBUG_INFO_BTF", Health::Missing},
    {"perf-event-programs", "programs of samplers", "BPF programs of samplers load",
     "the kernel is to be built with CONFIG_PERF_EVENTS and CONFIG_BPF_EVENTS", Health::Missing},
    {"sampler", "sampling of CPUs", "the clock of each CPU can be sampled",
     "the kernel is to be built with CONFIG_PERF_EVENTS", Health::Missing},
    {"run-time-statistics", "run time of BPF programs", "what lagtrap costs is counted by the kernel",
     "works without: the budget reckons with assumed times", Health::Otherwise},
};

Finding feature_finding(const FeatureText& text, const bpf::Feature& feature) {
    const bool needed = text.without == Health::Missing;
    switch (feature.answer) {
        case bpf::Answer::Has: return {text.name, Health::Works, text.works, {}, needed};
        case bpf::Answer::Refused:
            return {text.name, Health::Unknown, "the kernel does not let this user ask (" + feature.reason + ")",
                    "run `lagtrap doctor` as root", needed};
        case bpf::Answer::Lacks: break;
    }
    return {text.name, text.without, "the kernel lacks it (" + feature.reason + ")", text.advice, needed};
}

// The first line of a small file of /proc or /sys; nothing where it cannot be read.
std::optional<std::string> line_of(const fs::path& path) {
    const auto content = read_file(path, 4096);
    if (!content) return {};
    return printable(std::string_view(*content).substr(0, content->find('\n')));
}

Finding kernel_version() {
    utsname names{};
    ::uname(&names);
    const std::string machine = names.machine;
    const std::string version = fmt::format("Linux {} on {}", printable(names.release), machine);
    if (machine == "x86_64") return {"kernel", Health::Works, version, {}, true};
    return {"kernel", Health::Missing, version, "lagtrap is made for x86_64", true};
}

Finding privileges(const std::vector<std::string>& missing) {
    if (missing.empty()) return {"your privileges", Health::Works, "all that the daemon needs", {}, false};
    return {"your privileges", Health::Otherwise, fmt::format("without {}", fmt::join(missing, ", ")),
            "lines below that say so can only be answered as root; the daemon has what its service gives it", false};
}

Finding lockdown(const fs::path& root) {
    const auto mode = line_of(root / "sys/kernel/security/lockdown");
    if (!mode) return {"lockdown", Health::Works, "none, or not shown", {}, true};
    if (mode->find("[confidentiality]") != std::string::npos)
        return {"lockdown", Health::Missing, "the kernel is locked down for confidentiality: BPF may not read memory",
                "boot with lockdown=integrity, or without Secure Boot's lockdown", true};
    return {"lockdown", Health::Works, *mode, {}, true};
}

Finding addresses(const fs::path& root) {
    const auto value = line_of(root / "proc/sys/kernel/kptr_restrict");
    if (value && *value == "2")
        return {"kernel symbols", Health::Otherwise, "kptr_restrict is 2: kernel functions have no names",
                "sysctl kernel.kptr_restrict=1", false};
    return {"kernel symbols", Health::Works, "kptr_restrict is " + value.value_or("not shown"), {}, false};
}

Finding paranoia(const fs::path& root) {
    const auto value = line_of(root / "proc/sys/kernel/perf_event_paranoid");
    return {"perf_event_paranoid",
            Health::Works,
            value.value_or("not shown") + "; with CAP_PERFMON, as the daemon has it, it does not count",
            {},
            false};
}

Finding unprivileged_bpf(const fs::path& root) {
    const auto value = line_of(root / "proc/sys/kernel/unprivileged_bpf_disabled");
    return {"unprivileged BPF",
            Health::Works,
            "unprivileged_bpf_disabled is " + value.value_or("not shown") + "; the daemon has CAP_BPF",
            {},
            false};
}

Finding ptrace_scope(const fs::path& root) {
    const auto value = line_of(root / "proc/sys/kernel/yama/ptrace_scope");
    return {"ptrace_scope",
            Health::Works,
            value ? *value + "; the daemon reads processes, it attaches to none" : "no Yama: nothing restricts",
            {},
            false};
}

Finding statistics_switch(const fs::path& root) {
    const auto value = line_of(root / "proc/sys/kernel/bpf_stats_enabled");
    if (value && *value == "1")
        return {"bpf_stats_enabled", Health::Otherwise, "1: every BPF program of the machine is timed, all the time",
                "sysctl kernel.bpf_stats_enabled=0; lagtrap switches it on where it needs it", false};
    return {"bpf_stats_enabled", Health::Works, value.value_or("not shown"), {}, false};
}

Finding locked_memory() {
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    const std::string shown =
        limit.rlim_cur == RLIM_INFINITY ? "no limit" : fmt::format("{} KiB", limit.rlim_cur / 1024);
    return {"locked memory", Health::Works, shown + "; BPF memory does not count since Linux 5.11", {}, false};
}

Finding clock_source(const fs::path& root) {
    const auto value = line_of(root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (!value) return {"clock source", Health::Works, "not shown", {}, false};
    if (*value == "tsc" || value->starts_with("kvm") || value->starts_with("hyperv"))
        return {"clock source", Health::Works, *value, {}, false};
    return {"clock source", Health::Otherwise, *value + ": each look at the clock costs about a microsecond",
            "markers cost more; choose tsc where the machine has a steady one", false};
}

Finding cgroups(const fs::path& root) {
    std::error_code ignored;
    if (fs::exists(root / "sys/fs/cgroup/cgroup.controllers", ignored))
        return {"cgroup v2", Health::Works, "the service manager can hold the daemon to its limits", {}, false};
    return {"cgroup v2", Health::Otherwise, "not mounted at /sys/fs/cgroup",
            "works without; limits of the service may not hold", false};
}

Finding processes() {
    if (sees_all_processes()) return {"processes", Health::Works, "all of the machine are seen", {}, true};
    return {"processes", Health::Missing, "this container sees its own alone",
            "start it with the machine's: --pid=host, or hostPID: true (docs/containers.md)", true};
}

Finding processors(const fs::path& root) {
    const auto online = line_of(root / "sys/devices/system/cpu/online");
    return {"CPUs",
            Health::Works,
            fmt::format("{} online ({})", ::sysconf(_SC_NPROCESSORS_ONLN), online.value_or("not shown")),
            {},
            false};
}

}  // namespace

std::vector<Finding> kernel_findings(const std::vector<bpf::Feature>& features,
                                     const std::vector<std::string>& missing_capabilities, const fs::path& root) {
    std::vector<Finding> findings{kernel_version(), privileges(missing_capabilities)};
    for (const FeatureText& text : texts) {
        const auto found = std::find_if(features.begin(), features.end(),
                                        [&](const bpf::Feature& feature) { return feature.name == text.feature; });
        if (found != features.end()) findings.push_back(feature_finding(text, *found));
    }
    for (const auto& finding :
         {lockdown(root), addresses(root), paranoia(root), unprivileged_bpf(root), ptrace_scope(root),
          statistics_switch(root), locked_memory(), clock_source(root), cgroups(root), processes(), processors(root)})
        findings.push_back(finding);
    return findings;
}

}  // namespace lagtrap::cli
