#include "daemon/calls/call_costs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/clock.hpp"
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
void lagtrap_traced_simple_return_exit();
void lagtrap_traced_simple_stepped_exit();
void lagtrap_traced_simple_jump_exit();
void lagtrap_traced_stepped_return_exit();
void lagtrap_traced_stepped_stepped_exit();
void lagtrap_traced_stepped_jump_exit();
}
// One function for each pair of entry and exit. lagtrap_traced_all calls each of them in turn, so often; the other one calls that with
// a goroutine where Go's own code has it. Each does some work: code runs slower for a while after a probe than it does without.
asm(R"(
.pushsection .bss
.p2align 3
lagtrap_worked:
  .zero 8
.popsection
.pushsection .text
.macro lagtrap_some_work
  mov $300, %eax
  xor %edx, %edx
7:
  lea 1(%rdx,%rax), %rdx
  xor %rax, %rdx
  dec %eax
  jnz 7b
  mov %rdx, lagtrap_worked(%rip)
.endm
.macro lagtrap_traced name, first:vararg
.p2align 4
.type lagtrap_traced_\name, @function
lagtrap_traced_\name:
  \first
  lagtrap_some_work
lagtrap_traced_\name\()_exit:
  ret
.size lagtrap_traced_\name, .-lagtrap_traced_\name
.endm
.macro lagtrap_traced_by_jump name, first:vararg
.p2align 4
.type lagtrap_traced_\name, @function
lagtrap_traced_\name:
  \first
  lagtrap_some_work
lagtrap_traced_\name\()_exit:
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

// What disturbs this machine may last as long as some batches do.
constexpr std::size_t batches = 9;
constexpr std::uint64_t rounds = 24;  // of a batch
constexpr std::size_t kinds = 6;
// A round more than there are could be seen, and what comes last of a round has no next call.
constexpr auto patience = std::chrono::milliseconds(1000);

#if defined(__x86_64__)
using Code = void (*)();

// As if a plan had found it; without `exit`: a return probe.
std::optional<PlannedFunction> own_function(Code function, std::uint32_t level, Code exit) {
    const auto entry = own_file_offset(function);
    const auto exit_offset = exit != nullptr ? own_file_offset(exit) : entry;
    if (!entry || !exit_offset) return std::nullopt;
    PlannedFunction planned;
    planned.entry = *entry;
    planned.level = level;
    if (exit != nullptr) planned.exits.push_back({.file_offset = *exit_offset});
    planned.return_probe = exit == nullptr;
    return planned;
}

// Functions of Go have no return probes.
std::vector<PlannedFunction> own_functions(bool of_go) {
    std::vector<PlannedFunction> functions;
    const auto add = [&](std::optional<PlannedFunction> one) {
        if (one) functions.push_back(std::move(*one));
    };
    add(own_function(reinterpret_cast<Code>(lagtrap_traced_all), 0, of_go ? lagtrap_traced_all_end : nullptr));
    add(own_function(lagtrap_traced_simple_return, 1, of_go ? lagtrap_traced_simple_return_exit : nullptr));
    add(own_function(lagtrap_traced_simple_stepped, 1, lagtrap_traced_simple_stepped_exit));
    add(own_function(lagtrap_traced_simple_jump, 1, lagtrap_traced_simple_jump_exit));
    add(own_function(lagtrap_traced_stepped_return, 1, of_go ? lagtrap_traced_stepped_return_exit : nullptr));
    add(own_function(lagtrap_traced_stepped_stepped, 1, lagtrap_traced_stepped_stepped_exit));
    add(own_function(lagtrap_traced_stepped_jump, 1, lagtrap_traced_stepped_jump_exit));
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

std::uint64_t median_of(std::vector<std::uint64_t> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The mean without those that were interrupted: sums of many calls are to be right.
std::uint64_t usual_of(const std::vector<std::uint64_t>& values) {
    constexpr std::uint64_t interrupted = 3;  // times the median
    const std::uint64_t most_ns = median_of(values) * interrupted;
    if (values.empty()) return 0;
    std::uint64_t sum_ns = 0, count = 0;
    for (const std::uint64_t value_ns : values) {
        if (value_ns > most_ns) continue;
        sum_ns += value_ns;
        ++count;
    }
    return sum_ns / count;
}

// Of one kind, with all that the function does.
struct KindCosts {
    std::vector<std::uint64_t> inside, gap;  // of each batch
};

// The gap behind a call: what comes after its end, and what comes before the next begin (an entry of a known kind). Of entries the
// part before the program is nearly the same for all kinds, so the gap is counted as the call's own.
bool take_batch(const calls::Tree& tree, std::array<KindCosts, kinds>& costs) {
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
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        costs[kind].inside.push_back(usual_of(inside[kind]));
        costs[kind].gap.push_back(usual_of(gaps[kind]));
    }
    return true;
}

// Of the functions' own work, one like the other, without probes.
std::uint64_t own_work_ns() {
    std::vector<std::uint64_t> all;
    for (std::size_t batch = 0; batch < batches; ++batch) {
        const std::uint64_t began_ns = monotonic_ns();
        lagtrap_traced_all(rounds);
        all.push_back((monotonic_ns() - began_ns) / (rounds * kinds));
    }
    return median_of(std::move(all));
}
#endif

CallCosts measure(bool of_go) {
    CallCosts costs;
#if defined(__x86_64__)
    const auto functions = own_functions(of_go);
    auto program = std::make_shared<const UniqueFd>(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    if (functions.size() != kinds + 1 || !program->valid()) return costs;
    const std::uint64_t work_ns = own_work_ns();
    auto engine = CallEngine::load(::getpid(), std::chrono::nanoseconds(0),
                                   {of_go ? static_cast<std::uint32_t>(offsetof(Goroutine, number)) : 0, 0});
    if (!engine) return costs;
    const auto refused = (*engine)->attach({{"lagtrapd", program}}, functions);
    if (!refused || !refused->empty()) return costs;
    std::array<KindCosts, kinds> measured;
    std::size_t taken = 0;
    for (std::size_t batch = 0; batch < batches; ++batch) {
        if (of_go)
            call_by_goroutine();
        else
            lagtrap_traced_all(rounds);
        for (const calls::Tree& tree : (*engine)->take_trees(patience))
            if (take_batch(tree, measured)) ++taken;
    }
    if (taken == 0) return costs;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        const std::uint64_t inside_ns = median_of(measured[kind].inside);
        costs.inside[kind / 3][kind % 3] = {inside_ns - std::min(inside_ns, work_ns), median_of(measured[kind].gap)};
    }
    costs.measured = true;
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
