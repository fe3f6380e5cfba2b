#include "bpf/kernel_features.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <utility>

#include "core/files.hpp"
#include "core/perf_event.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::bpf {
namespace {

constexpr unsigned capability_perfmon = 38, capability_bpf = 39;
constexpr auto uprobe_multi_attach = static_cast<bpf_attach_type>(trace_uprobe_multi);

struct Asked {
    bool has = false;
    int number = 0;  // errno of the refusal
};

Asked from_fd(int fd) {
    const int number = errno;
    const UniqueFd closed(fd);
    return {fd >= 0, fd >= 0 ? 0 : number};
}

// Loads a program: `before`, then "return 0".
Asked load(bpf_prog_type type, const std::vector<bpf_insn>& before = {}) {
    std::vector<bpf_insn> program = before;
    program.push_back({BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0});
    program.push_back({BPF_JMP | BPF_EXIT, 0, 0, 0, 0});
    return from_fd(::bpf_prog_load(type, "asked", "GPL", program.data(), program.size(), nullptr));
}

bpf_insn call(std::int32_t helper) { return {BPF_JMP | BPF_CALL, 0, 0, 0, helper}; }

Asked ask_btf() {
    btf* const types = ::btf__load_vmlinux_btf();
    const int number = errno;
    ::btf__free(types);
    return {types != nullptr, types != nullptr ? 0 : number};
}

// A BTF-based tracing program on the tracepoint that the recorder needs most.
Asked ask_tracing() {
    btf* const types = ::btf__load_vmlinux_btf();
    if (types == nullptr) return {false, errno};
    const int type = ::btf__find_by_name_kind(types, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
    ::btf__free(types);
    if (type < 0) return {false, ENOENT};
    const std::array<bpf_insn, 2> program{
        {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}}};
    LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP,
                .attach_btf_id = static_cast<__u32>(type));
    return from_fd(::bpf_prog_load(BPF_PROG_TYPE_TRACING, "asked", "GPL", program.data(),
                                   program.size(), &options));
}

Asked ask_ring() {
    return from_fd(::bpf_map_create(BPF_MAP_TYPE_RINGBUF, "asked", 0, 0,
                                    static_cast<__u32>(::sysconf(_SC_PAGESIZE)), nullptr));
}

Asked open_event(perf_event_attr& attributes, pid_t pid, int cpu) {
    attributes.disabled = 1;
    return from_fd(open_perf_event(attributes, pid, cpu).release());
}

Asked ask_sampler() {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = 1'000'000;
    return open_event(attributes, -1, 0);
}

Asked ask_uprobe_event() {
    const auto text = read_file("/sys/bus/event_source/devices/uprobe/type", 64);
    perf_event_attr attributes{};
    if (!text || std::from_chars(text->data(), text->data() + text->size(), attributes.type).ec !=
                     std::errc{})
        return {false, ENOENT};
    // Offset 0 is the file's header, which is never executed.
    attributes.config1 = reinterpret_cast<std::uintptr_t>("/proc/self/exe");
    return open_event(attributes, ::getpid(), -1);
}

// A kernel that knows this kind of link checks the path first, which is not a file.
Asked ask_uprobe_multi() {
    const std::array<bpf_insn, 2> program{
        {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}}};
    LIBBPF_OPTS(bpf_prog_load_opts, load_options, .expected_attach_type = uprobe_multi_attach);
    const UniqueFd loaded(::bpf_prog_load(BPF_PROG_TYPE_KPROBE, "asked", "GPL", program.data(),
                                          program.size(), &load_options));
    if (!loaded.valid()) return {false, errno};
    const unsigned long offset = 0;
    LIBBPF_OPTS(bpf_link_create_opts, options);
    options.uprobe_multi.path = "/";
    options.uprobe_multi.offsets = &offset;
    options.uprobe_multi.cnt = 1;
    const UniqueFd link(::bpf_link_create(loaded.get(), -1, uprobe_multi_attach, &options));
    return {link.valid() || errno == EBADF, errno};
}

// Without a visible mount, as the daemon accesses tracefs.
Asked ask_tracefs() {
    const UniqueFd context(
        static_cast<int>(::syscall(SYS_fsopen, "tracefs", 1U /* FSOPEN_CLOEXEC */)));
    return {context.valid(), context.valid() ? 0 : errno};
}

Asked ask_statistics() { return from_fd(::bpf_enable_stats(BPF_STATS_RUN_TIME)); }

Feature asked_for(const char* name, const std::function<Asked()>& ask) {
    const Asked asked = ask();
    return feature_of(name, asked.has, asked.number);
}

}  // namespace

Feature feature_of(const char* name, bool has, int number) {
    if (has) return {name, Answer::Has, {}};
    const bool refused = number == EPERM || number == EACCES;
    return {name, refused ? Answer::Refused : Answer::Lacks, std::strerror(number)};
}

bool has_uprobe_multi() { return ask_uprobe_multi().has; }

std::vector<Feature> ask_kernel() {
    ::libbpf_set_print(nullptr);
    const auto cookie = [] {
        return load(BPF_PROG_TYPE_KPROBE, {call(BPF_FUNC_get_attach_cookie)});
    };
    // bpf_loop() requires a function to call; an unknown helper is reported before its absence.
    const auto loop = [] {
        return Asked{::libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, nullptr) == 1,
                     EINVAL};
    };
    std::vector<Feature> features;
    features.push_back(asked_for("btf", ask_btf));
    features.push_back(asked_for("kprobe-programs", [] { return load(BPF_PROG_TYPE_KPROBE); }));
    features.push_back(
        asked_for("tracepoint-programs", [] { return load(BPF_PROG_TYPE_TRACEPOINT); }));
    features.push_back(
        asked_for("perf-event-programs", [] { return load(BPF_PROG_TYPE_PERF_EVENT); }));
    features.push_back(asked_for("tracing-programs", ask_tracing));
    features.push_back(asked_for("ring-buffer", ask_ring));
    features.push_back(asked_for("cookies", cookie));
    features.push_back(asked_for("loops", loop));
    // If no program can be loaded, the result for loops means nothing.
    if (features[1].answer != Answer::Has)
        features.back() = {"loops", features[1].answer, features[1].reason};
    features.push_back(asked_for("uprobe-events", ask_uprobe_event));
    features.push_back(asked_for("sampler", ask_sampler));
    features.push_back(asked_for("uprobe-multi", ask_uprobe_multi));
    features.push_back(asked_for("run-time-statistics", ask_statistics));
    features.push_back(asked_for("detached-tracefs", ask_tracefs));
    return features;
}

std::vector<std::string> missing_from(const Capabilities& own) {
    std::vector<std::string> missing;
    const bool all_of_bpf = own.has(CAP_SYS_ADMIN);
    const std::pair<unsigned, const char*> needed[] = {
        {capability_bpf, "CAP_BPF"},        {capability_perfmon, "CAP_PERFMON"},
        {CAP_SYS_PTRACE, "CAP_SYS_PTRACE"}, {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
        {CAP_SYSLOG, "CAP_SYSLOG"},         {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}};
    for (const auto& [number, name] : needed) {
        const bool of_bpf = number == capability_bpf || number == capability_perfmon;
        if (!own.has(number) && !(of_bpf && all_of_bpf)) missing.emplace_back(name);
    }
    return missing;
}

std::vector<std::string> missing_capabilities() {
    const auto own = own_capabilities();
    return own ? missing_from(*own) : std::vector<std::string>{};
}

}  // namespace lagtrap::bpf
