#include "daemon/calls/call_costs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "daemon/calls/call_engine.hpp"
#include "daemon/kernel/own_code.hpp"
#include "daemon/probes/overhead_probes.hpp"

#if defined(__x86_64__)
extern "C" {
void lagtrap_traced_all(std::uint64_t rounds);
void lagtrap_traced_all_end();
void lagtrap_traced_by_goroutine(std::uint64_t rounds, const void* goroutine);
void lagtrap_traced_simple_return();
void lagtrap_traced_simple_stepped();
void lagtrap_traced_simple_jump();
void lagtrap_traced_stepped_return();
void lagtrap_traced_stepped_stepped();
void lagtrap_traced_stepped_jump();
}
// One function for each pair of entry and exit. lagtrap_traced_all calls each of them in turn, so often; the other one calls that with
// a goroutine where Go's own code has it.
asm(R"(
.pushsection .text
.macro lagtrap_traced name, first:vararg
.p2align 4
.type lagtrap_traced_\name, @function
lagtrap_traced_\name:
  \first
  nop
  ret
.size lagtrap_traced_\name, .-lagtrap_traced_\name
.endm
.macro lagtrap_traced_by_jump name, first:vararg
.p2align 4
.type lagtrap_traced_\name, @function
lagtrap_traced_\name:
  \first
  nop
  jmp lagtrap_traced_end
.size lagtrap_traced_\name, .-lagtrap_traced_\name
.endm
lagtrap_traced simple_return, nop
lagtrap_traced simple_stepped, nop
lagtrap_traced_by_jump simple_jump, nop
lagtrap_traced stepped_return, lea 1(%rdi), %rax
lagtrap_traced stepped_stepped, lea 1(%rdi), %rax
lagtrap_traced_by_jump stepped_jump, lea 1(%rdi), %rax
.p2align 4
lagtrap_traced_end:
  ret
.p2align 4
.type lagtrap_traced_all, @function
lagtrap_traced_all:
  push %rbx
  mov %rdi, %rbx
1:
  call lagtrap_traced_simple_return
  call lagtrap_traced_simple_stepped
  call lagtrap_traced_simple_jump
  call lagtrap_traced_stepped_return
  call lagtrap_traced_stepped_stepped
  call lagtrap_traced_stepped_jump
  dec %rbx
  jnz 1b
  pop %rbx
lagtrap_traced_all_end:
  ret
.size lagtrap_traced_all, .-lagtrap_traced_all
.p2align 4
.type lagtrap_traced_by_goroutine, @function
lagtrap_traced_by_goroutine:
  push %r14
  mov %rsi, %r14
  call lagtrap_traced_all
  pop %r14
  ret
.size lagtrap_traced_by_goroutine, .-lagtrap_traced_by_goroutine
.popsection
)");
#endif

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t rounds = 200;
constexpr std::size_t kinds = 6;
// A round more than there are could be seen, and what comes last of a round has no next call.
constexpr auto patience = std::chrono::milliseconds(1000);

#if defined(__x86_64__)
// As if a plan had found it: `exit_at` bytes behind the entry, 0: a return probe.
std::optional<PlannedFunction> own_function(void (*function)(), std::uint32_t level, std::uint64_t exit_at) {
    const auto entry = own_file_offset(function);
    if (!entry) return std::nullopt;
    PlannedFunction planned;
    planned.entry = *entry;
    planned.level = level;
    if (exit_at != 0) planned.exits.push_back({.file_offset = *entry + exit_at});
    planned.return_probe = exit_at == 0;
    return planned;
}

std::vector<PlannedFunction> own_functions(bool of_go) {
    // A nop is one byte long, this lea four; then comes another nop. Functions of Go have no return probes.
    constexpr std::uint64_t behind_nop = 2, behind_lea = 5;
    const std::uint64_t all_end =
        reinterpret_cast<std::uintptr_t>(lagtrap_traced_all_end) - reinterpret_cast<std::uintptr_t>(lagtrap_traced_all);
    std::vector<PlannedFunction> functions;
    const auto add = [&](std::optional<PlannedFunction> one) {
        if (one) functions.push_back(std::move(*one));
    };
    add(own_function(reinterpret_cast<void (*)()>(lagtrap_traced_all), 0, of_go ? all_end : 0));
    add(own_function(lagtrap_traced_simple_return, 1, of_go ? behind_nop : 0));
    add(own_function(lagtrap_traced_simple_stepped, 1, behind_nop));
    add(own_function(lagtrap_traced_simple_jump, 1, behind_nop));
    add(own_function(lagtrap_traced_stepped_return, 1, of_go ? behind_lea : 0));
    add(own_function(lagtrap_traced_stepped_stepped, 1, behind_lea));
    add(own_function(lagtrap_traced_stepped_jump, 1, behind_lea));
    return functions;
}

// What the programs in the kernel read of a goroutine (goroutine.bpf.h).
struct Goroutine {
    std::uint64_t stack_low, stack_high, number;
};

// This thread, as if it were a goroutine.
void call_by_goroutine() {
    constexpr std::uint64_t stack_bytes = 64 << 10;  // below and above
    Goroutine self{0, 0, 1};
    self.stack_low = reinterpret_cast<std::uintptr_t>(&self) - stack_bytes;
    self.stack_high = self.stack_low + 2 * stack_bytes;
    lagtrap_traced_by_goroutine(rounds, &self);
}

// The mean without those that were interrupted: sums of many calls are to be right.
std::uint64_t usual_of(std::vector<std::uint64_t> values) {
    constexpr std::uint64_t interrupted = 3;  // times the median
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    const std::uint64_t most_ns = *middle * interrupted;
    std::uint64_t sum_ns = 0, count = 0;
    for (const std::uint64_t value_ns : values) {
        if (value_ns > most_ns) continue;
        sum_ns += value_ns;
        ++count;
    }
    return sum_ns / count;
}

// What lies between the end of one call and the begin of the next is half of either's.
bool take_costs(const calls::Tree& tree, CallCosts& costs) {
    if (tree.calls.size() != 1 + rounds * kinds) return false;
    std::array<std::vector<std::uint64_t>, kinds> inside, gaps;
    for (std::size_t number = 1; number < tree.calls.size(); ++number) {
        const calls::Call& call = tree.calls[number];
        if (call.function == 0 || call.function > kinds || call.end != calls::CallEnd::Returned) return false;
        inside[call.function - 1].push_back(call.end_ns - call.begin_ns);
        if (number + 1 < tree.calls.size())
            gaps[call.function - 1].push_back(tree.calls[number + 1].begin_ns -
                                              std::min(call.end_ns, tree.calls[number + 1].begin_ns));
    }
    // The gap behind a call: what comes after its end, and what comes before the next begin (an entry of a known kind). Of
    // entries the part before the program is nearly the same for all kinds, so the gap is counted as the call's own.
    for (std::size_t kind = 0; kind < kinds; ++kind)
        costs.inside[kind / 3][kind % 3] = {usual_of(inside[kind]), usual_of(gaps[kind])};
    costs.measured = true;
    return true;
}
#endif

CallCosts measure(bool of_go) {
    CallCosts costs;
#if defined(__x86_64__)
    const auto functions = own_functions(of_go);
    auto program = std::make_shared<const UniqueFd>(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    if (functions.size() != kinds + 1 || !program->valid()) return costs;
    auto engine = CallEngine::load(::getpid(), std::chrono::nanoseconds(0),
                                   {of_go ? static_cast<std::uint32_t>(offsetof(Goroutine, number)) : 0, 0});
    if (!engine) return costs;
    const auto refused = (*engine)->attach({{"lagtrapd", program}}, functions);
    if (!refused || !refused->empty()) return costs;
    if (of_go)
        call_by_goroutine();
    else
        lagtrap_traced_all(rounds);
    for (const calls::Tree& tree : (*engine)->take_trees(patience))
        if (take_costs(tree, costs)) break;
#endif
    return costs;
}

}  // namespace

const calls::ProbeCost& CallCosts::of(const PlannedFunction& function) const {
    const std::size_t entry = probe_kind_of(function.first_code) == ProbeKind::Simple ? SimpleEntry : SteppedEntry;
    if (function.exits.empty()) return inside[entry][ReturnProbe];
    // Most functions that end by jumps end by a return too.
    const bool jumps = std::all_of(function.exits.begin(), function.exits.end(), [](const auto& exit) {
        return exit.condition != binaries::JumpCondition::Always && !exit.by_target;
    });
    return inside[entry][jumps ? SimpleExit : SteppedExit];
}

std::uint64_t CallCosts::of_stepped_probe_ns() const {
    const auto& both = inside[SteppedEntry][SteppedExit];
    return (both.inside_ns + both.around_ns) / 2;
}

CallCosts measure_call_costs() { return measure(false); }

CallCosts measure_go_call_costs() { return measure(true); }

}  // namespace lagtrap::daemon
