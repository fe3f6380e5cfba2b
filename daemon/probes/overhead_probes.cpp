#include "daemon/probes/overhead_probes.hpp"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>

#include "bpf/kernel_features.hpp"
#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/perf_event.hpp"
#include "core/unique_fd.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "daemon/kernel/own_code.hpp"

#if defined(__x86_64__)
extern "C" {
// One function for each probe, because two probes in one function would share its breakpoint.
void lagtrap_measured_nop();
void lagtrap_measured_lea();
void lagtrap_measured_return();
}
asm(R"(
.pushsection .text
.p2align 4
.type lagtrap_measured_nop, @function
lagtrap_measured_nop:
  nop
  ret
.size lagtrap_measured_nop, .-lagtrap_measured_nop
.p2align 4
.type lagtrap_measured_lea, @function
lagtrap_measured_lea:
  lea 1(%rdi), %rax
  ret
.size lagtrap_measured_lea, .-lagtrap_measured_lea
.p2align 4
.type lagtrap_measured_return, @function
lagtrap_measured_return:
  nop
  ret
.size lagtrap_measured_return, .-lagtrap_measured_return
.popsection
)");
#endif

namespace lagtrap::daemon {
namespace {

constexpr const char* own_program = "/proc/self/exe";

#if defined(__x86_64__)
UniqueFd load_empty_program(bool multi) {
    const std::array<bpf_insn, 2> instructions{
        {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}}};
    LIBBPF_OPTS(bpf_prog_load_opts, options);
    if (multi) options.expected_attach_type = static_cast<bpf_attach_type>(bpf::trace_uprobe_multi);
    return UniqueFd(::bpf_prog_load(BPF_PROG_TYPE_KPROBE, "measured", "GPL", instructions.data(),
                                    instructions.size(), &options));
}

UniqueFd probe_many(int program, std::uint64_t offset, bool at_return) {
    const unsigned long place = offset;
    LIBBPF_OPTS(bpf_link_create_opts, options);
    options.uprobe_multi.path = own_program;
    options.uprobe_multi.offsets = &place;
    options.uprobe_multi.cnt = 1;
    options.uprobe_multi.pid = static_cast<__u32>(::getpid());
    options.uprobe_multi.flags = at_return ? 1 : 0;  // BPF_F_UPROBE_MULTI_RETURN
    return UniqueFd(::bpf_link_create(
        program, -1, static_cast<bpf_attach_type>(bpf::trace_uprobe_multi), &options));
}

// Does the same with the older interface. The descriptor belongs to the perf event; closing it
// detaches the program.
UniqueFd probe_one(int program, std::uint64_t offset, bool at_return) {
    const auto text = read_file("/sys/bus/event_source/devices/uprobe/type", 64);
    std::uint32_t type = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), type).ec != std::errc{})
        return UniqueFd();
    perf_event_attr attributes{};
    attributes.type = type;
    attributes.config = at_return ? 1 : 0;
    attributes.config1 = reinterpret_cast<std::uintptr_t>(own_program);
    attributes.config2 = offset;
    UniqueFd event = open_perf_event(attributes, 0, -1);
    if (!event.valid()) return event;
    if (::ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program) != 0) return UniqueFd();
    ::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0);
    return event;
}

// The minimum of several rounds, because others may be interrupted.
std::uint64_t time_of_call_ns(void (*function)()) {
    constexpr int rounds = 12, calls = 16;
    std::uint64_t min_ns = UINT64_MAX;
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t begin_ns = monotonic_ns();
        for (int call = 0; call < calls; ++call) function();
        min_ns = std::min(min_ns, (monotonic_ns() - begin_ns) / calls);
    }
    return min_ns;
}

std::optional<std::uint64_t> time_of_probe_ns(void (*function)(), bool at_return) {
    const auto offset = own_file_offset(function);
    const bool multi = has_uprobe_multi();
    const UniqueFd program = load_empty_program(multi);
    if (!offset || !program.valid()) return {};
    const UniqueFd probe = multi ? probe_many(program.get(), *offset, at_return)
                                 : probe_one(program.get(), *offset, at_return);
    if (!probe.valid()) return {};
    return time_of_call_ns(function);
}
#endif

}  // namespace

std::uint64_t ProbeCosts::of(ProbeKind kind) const {
    switch (kind) {
        case ProbeKind::Simple: return simple_ns;
        case ProbeKind::Stepped: return stepped_ns;
        case ProbeKind::Return: return return_ns;
        case ProbeKind::Tracepoint: return tracepoint_ns;
        case ProbeKind::Scheduler: return scheduler_ns;
    }
    return simple_ns;
}

std::uint64_t ProbeCosts::mean(const std::vector<ProbeKind>& kinds) const {
    if (kinds.empty()) return simple_ns;
    const auto add = [this](std::uint64_t sum, ProbeKind kind) { return sum + of(kind); };
    return std::accumulate(kinds.begin(), kinds.end(), std::uint64_t{0}, add) / kinds.size();
}

ProbeKind probe_kind_of(std::string_view code) {
#if defined(__x86_64__)
    if (code.size() < 2) return ProbeKind::Stepped;
    const auto first = static_cast<unsigned char>(code[0]),
               second = static_cast<unsigned char>(code[1]);
    const auto is_push = [](unsigned char byte) { return byte >= 0x50 && byte <= 0x57; };
    // Instructions that arch/x86/kernel/uprobes.c emulates: nop, push, relative jumps and calls.
    const bool nop =
        first == 0x90 || (first == 0x66 && second == 0x90) || (first == 0x0f && second == 0x1f);
    const bool push = is_push(first) || (first == 0x41 && is_push(second));
    const bool jump = first == 0xe8 || first == 0xe9 || first == 0xeb ||
                      (first >= 0x70 && first <= 0x7f) ||
                      (first == 0x0f && second >= 0x80 && second <= 0x8f);
    return nop || push || jump ? ProbeKind::Simple : ProbeKind::Stepped;
#else
    (void)code;
    return ProbeKind::Simple;
#endif
}

ProbeCosts measure_probe_costs() {
    ProbeCosts costs;
#if defined(__x86_64__)
    const auto simple_ns = time_of_probe_ns(lagtrap_measured_nop, false);
    const auto stepped_ns = time_of_probe_ns(lagtrap_measured_lea, false);
    const auto return_ns = time_of_probe_ns(lagtrap_measured_return, true);
    if (!simple_ns || !stepped_ns || !return_ns) return costs;
    costs.simple_ns = *simple_ns;
    costs.stepped_ns = *stepped_ns;
    costs.return_ns = *return_ns > *simple_ns ? *return_ns - *simple_ns : *return_ns;
    costs.measured = true;
#endif
    return costs;
}

}  // namespace lagtrap::daemon
