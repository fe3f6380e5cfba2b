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

// What a feature is for, and what to say if it is missing.
struct FeatureText {
    const char* feature;
    const char* name;
    const char* works;
    const char* advice;
    Health without;
};

constexpr FeatureText texts[] = {
    {"btf", "kernel types (BTF)", "BPF programs adapt to this kernel",
     "rebuild the kernel with CONFIG_DEBUG_INFO_BTF=y (distribution kernels have it)",
     Health::Missing},
    {"kprobe-programs", "probes in programs", "BPF programs for probes load",
     "rebuild the kernel with CONFIG_BPF_SYSCALL=y, CONFIG_BPF_EVENTS=y and CONFIG_UPROBE_EVENTS=y",
     Health::Missing},
    {"uprobe-events", "uprobes", "probes can be set in programs",
     "rebuild the kernel with CONFIG_UPROBE_EVENTS=y", Health::Missing},
    {"uprobe-multi", "many probes at once", "one attachment covers many probes",
     "not required: probes are attached one by one, and detaching takes 0.1 s each; Linux 6.6 has "
     "it",
     Health::Otherwise},
    {"cookies", "cookies of probes", "a BPF program knows which probe called it",
     "Linux 5.15 or newer has them", Health::Missing},
    {"loops", "loops in BPF", "bpf_loop() is available", "Linux 5.17 or newer has it",
     Health::Missing},
    {"ring-buffer", "BPF ring buffer", "records reach the daemon", "Linux 5.8 or newer has it",
     Health::Missing},
    {"tracepoint-programs", "tracepoint programs", "kernel events can be watched",
     "rebuild the kernel with CONFIG_BPF_EVENTS=y", Health::Missing},
    {"detached-tracefs", "names of tracepoints", "tracefs can be opened without being mounted",
     "without it, only events on tracepoints cannot be armed", Health::Otherwise},
    {"tracing-programs", "context switches", "which thread waits for which can be recorded",
     "rebuild the kernel with CONFIG_DEBUG_INFO_BTF=y", Health::Missing},
    {"perf-event-programs", "programs of samplers", "BPF programs for sampling load",
     "rebuild the kernel with CONFIG_PERF_EVENTS=y and CONFIG_BPF_EVENTS=y", Health::Missing},
    {"sampler", "sampling of CPUs", "every CPU can be sampled",
     "rebuild the kernel with CONFIG_PERF_EVENTS=y", Health::Missing},
    {"run-time-statistics", "run time of BPF programs", "the kernel measures what lagtrap costs",
     "not required: the budget uses estimates instead", Health::Otherwise},
};

Finding feature_finding(const FeatureText& text, const bpf::Feature& feature) {
    const bool needed = text.without == Health::Missing;
    switch (feature.answer) {
        case bpf::Answer::Has: return {text.name, Health::Works, text.works, {}, needed};
        case bpf::Answer::Refused:
            return {text.name, Health::Unknown,
                    "the kernel does not allow this user to check (" + feature.reason + ")",
                    "run `lagtrap doctor` as root", needed};
        case bpf::Answer::Lacks: break;
    }
    return {text.name, text.without, "the kernel lacks it (" + feature.reason + ")", text.advice,
            needed};
}

// First line of a small file in /proc or /sys; nullopt if unreadable.
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
    return {"kernel", Health::Missing, version, "lagtrap supports only x86_64", true};
}

Finding privileges(const std::vector<std::string>& missing) {
    if (missing.empty())
        return {"your privileges", Health::Works, "everything that the daemon needs", {}, false};
    return {"your privileges", Health::Otherwise,
            fmt::format("missing {}", fmt::join(missing, ", ")),
            "only root can check the lines marked so below; the daemon gets its privileges from "
            "its service",
            false};
}

Finding lockdown(const fs::path& root) {
    const auto mode = line_of(root / "sys/kernel/security/lockdown");
    if (!mode) return {"lockdown", Health::Works, "none, or not visible", {}, true};
    if (mode->find("[confidentiality]") != std::string::npos)
        return {"lockdown", Health::Missing,
                "kernel lockdown is in confidentiality mode: BPF cannot read memory",
                "boot with lockdown=integrity, or disable Secure Boot's lockdown", true};
    return {"lockdown", Health::Works, *mode, {}, true};
}

Finding addresses(const fs::path& root) {
    const auto value = line_of(root / "proc/sys/kernel/kptr_restrict");
    if (value && *value == "2")
        return {"kernel symbols", Health::Otherwise,
                "kptr_restrict is 2: kernel functions have no names",
                "sysctl kernel.kptr_restrict=1", false};
    return {"kernel symbols",
            Health::Works,
            "kptr_restrict is " + value.value_or("not shown"),
            {},
            false};
}

Finding paranoia(const fs::path& root) {
    const auto value = line_of(root / "proc/sys/kernel/perf_event_paranoid");
    return {"perf_event_paranoid",
            Health::Works,
            value.value_or("not shown") + "; irrelevant to the daemon, which has CAP_PERFMON",
            {},
            false};
}

Finding unprivileged_bpf(const fs::path& root) {
    const auto value = line_of(root / "proc/sys/kernel/unprivileged_bpf_disabled");
    return {
        "unprivileged BPF",
        Health::Works,
        "unprivileged_bpf_disabled is " + value.value_or("not shown") + "; the daemon has CAP_BPF",
        {},
        false};
}

Finding ptrace_scope(const fs::path& root) {
    const auto value = line_of(root / "proc/sys/kernel/yama/ptrace_scope");
    return {"ptrace_scope",
            Health::Works,
            value ? *value + "; the daemon reads processes but does not attach to them"
                  : "no Yama: no restriction",
            {},
            false};
}

Finding statistics_switch(const fs::path& root) {
    const auto value = line_of(root / "proc/sys/kernel/bpf_stats_enabled");
    if (value && *value == "1")
        return {"bpf_stats_enabled", Health::Otherwise,
                "1: the kernel times every BPF program all the time",
                "sysctl kernel.bpf_stats_enabled=0; lagtrap enables it when needed", false};
    return {"bpf_stats_enabled", Health::Works, value.value_or("not shown"), {}, false};
}

Finding locked_memory() {
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    const std::string shown =
        limit.rlim_cur == RLIM_INFINITY ? "no limit" : fmt::format("{} KiB", limit.rlim_cur / 1024);
    return {"locked memory",
            Health::Works,
            shown + "; does not limit BPF memory since Linux 5.11",
            {},
            false};
}

Finding clock_source(const fs::path& root) {
    const auto value =
        line_of(root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (!value) return {"clock source", Health::Works, "not shown", {}, false};
    if (*value == "tsc" || value->starts_with("kvm") || value->starts_with("hyperv"))
        return {"clock source", Health::Works, *value, {}, false};
    return {"clock source", Health::Otherwise,
            *value + ": reading the clock takes about a microsecond",
            "markers cost more; use tsc if it is stable on this machine", false};
}

Finding cgroups(const fs::path& root) {
    std::error_code ignored;
    if (fs::exists(root / "sys/fs/cgroup/cgroup.controllers", ignored))
        return {"cgroup v2", Health::Works, "the service manager can limit the daemon", {}, false};
    return {"cgroup v2", Health::Otherwise, "not mounted at /sys/fs/cgroup",
            "not required, but limits of the service may not apply", false};
}

Finding processes() {
    if (sees_all_processes())
        return {"processes", Health::Works, "all processes of the machine are visible", {}, true};
    return {
        "processes", Health::Missing, "this container cannot see host processes",
        "start it in the host's PID namespace: --pid=host, or hostPID: true (docs/containers.md)",
        true};
}

Finding processors(const fs::path& root) {
    const auto online = line_of(root / "sys/devices/system/cpu/online");
    return {"CPUs",
            Health::Works,
            fmt::format("{} online ({})", ::sysconf(_SC_NPROCESSORS_ONLN),
                        online.value_or("not shown")),
            {},
            false};
}

}  // namespace

std::vector<Finding> kernel_findings(const std::vector<bpf::Feature>& features,
                                     const std::vector<std::string>& missing_capabilities,
                                     const fs::path& root) {
    std::vector<Finding> findings{kernel_version(), privileges(missing_capabilities)};
    for (const FeatureText& text : texts) {
        const auto found =
            std::find_if(features.begin(), features.end(),
                         [&](const bpf::Feature& feature) { return feature.name == text.feature; });
        if (found != features.end()) findings.push_back(feature_finding(text, *found));
    }
    for (const auto& finding :
         {lockdown(root), addresses(root), paranoia(root), unprivileged_bpf(root),
          ptrace_scope(root), statistics_switch(root), locked_memory(), clock_source(root),
          cgroups(root), processes(), processors(root)})
        findings.push_back(finding);
    return findings;
}

}  // namespace lagtrap::cli
