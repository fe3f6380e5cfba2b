#include "daemon/calls/cost_meter.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/clock.hpp"
#include "daemon/calls/call_engine.hpp"
#include "daemon/kernel/own_code.hpp"

#if defined(__x86_64__)
// Two sets of the same functions: one for C, one called like Go code.
#define LAGTRAP_TRACED_SET(set)                            \
    void lagtrap_traced_##set##_all(std::uint64_t rounds); \
    void lagtrap_traced_##set##_all_end();                 \
    void lagtrap_traced_##set##_simple_return();           \
    void lagtrap_traced_##set##_simple_stepped();          \
    void lagtrap_traced_##set##_simple_jump();             \
    void lagtrap_traced_##set##_stepped_return();          \
    void lagtrap_traced_##set##_stepped_stepped();         \
    void lagtrap_traced_##set##_stepped_jump();            \
    void lagtrap_traced_##set##_simple_return_exit();      \
    void lagtrap_traced_##set##_simple_stepped_exit();     \
    void lagtrap_traced_##set##_simple_jump_exit();        \
    void lagtrap_traced_##set##_stepped_return_exit();     \
    void lagtrap_traced_##set##_stepped_stepped_exit();    \
    void lagtrap_traced_##set##_stepped_jump_exit();
extern "C" {
LAGTRAP_TRACED_SET(c)
LAGTRAP_TRACED_SET(go)
void lagtrap_traced_by_goroutine(std::uint64_t rounds, const void* goroutine);
}
#undef LAGTRAP_TRACED_SET
// One function for each pair of entry and exit kind. lagtrap_traced_c_all calls each of them
// `rounds` times, one after the other. The Go set is called with a goroutine where Go code has it.
// Each function does some work, because code runs slower for a while after a probe.
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
.macro lagtrap_call_often name
  mov %rbx, %r12
8:
  call lagtrap_traced_\name
  dec %r12
  jnz 8b
.endm
.macro lagtrap_traced_set set
lagtrap_traced \set\()_simple_return, nop
lagtrap_traced \set\()_simple_stepped, nop
lagtrap_traced_by_jump \set\()_simple_jump, nop
lagtrap_traced \set\()_stepped_return, lea 1(%rdi), %rax
lagtrap_traced \set\()_stepped_stepped, lea 1(%rdi), %rax
lagtrap_traced_by_jump \set\()_stepped_jump, lea 1(%rdi), %rax
.p2align 4
.type lagtrap_traced_\set\()_all, @function
lagtrap_traced_\set\()_all:
  push %rbx
  push %r12
  mov %rdi, %rbx
  lagtrap_call_often \set\()_simple_return
  lagtrap_call_often \set\()_simple_stepped
  lagtrap_call_often \set\()_simple_jump
  lagtrap_call_often \set\()_stepped_return
  lagtrap_call_often \set\()_stepped_stepped
  lagtrap_call_often \set\()_stepped_jump
  pop %r12
  pop %rbx
lagtrap_traced_\set\()_all_end:
  ret
.size lagtrap_traced_\set\()_all, .-lagtrap_traced_\set\()_all
.endm
.p2align 4
lagtrap_traced_end:
  ret
lagtrap_traced_set c
lagtrap_traced_set go
.p2align 4
.type lagtrap_traced_by_goroutine, @function
lagtrap_traced_by_goroutine:
  push %r14
  mov %rsi, %r14
  call lagtrap_traced_go_all
  pop %r14
  ret
.size lagtrap_traced_by_goroutine, .-lagtrap_traced_by_goroutine
.popsection
)");
#endif

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t rounds_at_first = 24, rounds_again = 16;  // per batch
// The rate of interruptions takes longer to measure: one interruption is as long as several
// single-stepped instructions.
constexpr auto watched_at_first = 60ms, watched_again = 1ms;
constexpr auto costs_last = 200ms;

#if defined(__x86_64__)
constexpr auto timeout = 1000ms;

using Code = void (*)();

// As a plan would describe it. A null `exit` means a return probe.
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

struct OwnFunction {
    Code entry, exit;  // null exit: a return probe
};
// The caller of all others comes first.
const std::array<OwnFunction, 7> functions_of_c{{
    {reinterpret_cast<Code>(lagtrap_traced_c_all), nullptr},
    {lagtrap_traced_c_simple_return, nullptr},
    {lagtrap_traced_c_simple_stepped, lagtrap_traced_c_simple_stepped_exit},
    {lagtrap_traced_c_simple_jump, lagtrap_traced_c_simple_jump_exit},
    {lagtrap_traced_c_stepped_return, nullptr},
    {lagtrap_traced_c_stepped_stepped, lagtrap_traced_c_stepped_stepped_exit},
    {lagtrap_traced_c_stepped_jump, lagtrap_traced_c_stepped_jump_exit},
}};
const std::array<OwnFunction, 7> functions_of_go{{
    {reinterpret_cast<Code>(lagtrap_traced_go_all), lagtrap_traced_go_all_end},
    {lagtrap_traced_go_simple_return, lagtrap_traced_go_simple_return_exit},
    {lagtrap_traced_go_simple_stepped, lagtrap_traced_go_simple_stepped_exit},
    {lagtrap_traced_go_simple_jump, lagtrap_traced_go_simple_jump_exit},
    {lagtrap_traced_go_stepped_return, lagtrap_traced_go_stepped_return_exit},
    {lagtrap_traced_go_stepped_stepped, lagtrap_traced_go_stepped_stepped_exit},
    {lagtrap_traced_go_stepped_jump, lagtrap_traced_go_stepped_jump_exit},
}};

std::vector<PlannedFunction> own_functions(bool of_go) {
    std::vector<PlannedFunction> functions;
    for (const OwnFunction& own : of_go ? functions_of_go : functions_of_c)
        if (auto planned = own_function(own.entry, functions.empty() ? 0 : 1, own.exit))
            functions.push_back(std::move(*planned));
    return functions;
}

// The fields of a goroutine that the BPF programs read (goroutine.bpf.h).
struct Goroutine {
    std::uint64_t stack_low, stack_high, number;
};

// Presents this thread as a goroutine.
void call_by_goroutine(std::uint64_t rounds) {
    constexpr std::uint64_t stack_bytes = 64 << 10;  // below and above
    Goroutine self{0, 0, 1};
    self.stack_low = reinterpret_cast<std::uintptr_t>(&self) - stack_bytes;
    self.stack_high = self.stack_low + 2 * stack_bytes;
    lagtrap_traced_by_goroutine(rounds, &self);
}

// Work of the functions themselves, measured without probes. It is the same for all.
std::uint64_t own_work_ns(bool of_go) {
    std::vector<std::uint64_t> all;
    for (std::size_t batch = 0; batch < MeasuredCosts::batches; ++batch) {
        const std::uint64_t began_ns = monotonic_ns();
        of_go ? lagtrap_traced_go_all(rounds_at_first) : lagtrap_traced_c_all(rounds_at_first);
        all.push_back((monotonic_ns() - began_ns) / (rounds_at_first * probe_pairs));
    }
    return median_ns(std::move(all));
}
#endif

}  // namespace

CostMeter::CostMeter(bool of_go) : of_go_(of_go) {
#if defined(__x86_64__)
    const auto functions = own_functions(of_go);
    auto program = std::make_shared<const UniqueFd>(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    if (functions.size() != probe_pairs + 1 || !program->valid()) return;
    work_ns_ = own_work_ns(of_go);
    auto engine =
        CallEngine::load({::getpid(), {}}, 0ns,
                         {of_go ? static_cast<std::uint32_t>(offsetof(Goroutine, number)) : 0, 0});
    if (!engine) return;
    const auto refused = (*engine)->attach({{"lagtrapd", program}}, functions);
    if (!refused || !refused->empty()) return;
    engine_ = std::move(*engine);
    for (std::size_t batch = 0; batch < MeasuredCosts::batches; ++batch) run_batch(rounds_at_first);
    interruptions_.watch(watched_at_first);
    reckon();
#endif
}

CostMeter::~CostMeter() = default;

const CallCosts& CostMeter::costs() {
    if (!engine_ || std::chrono::steady_clock::now() - measured_at_ < costs_last) return costs_;
    run_batch(rounds_again);
    interruptions_.watch(watched_again);
    reckon();
    return costs_;
}

void CostMeter::run_batch([[maybe_unused]] std::uint64_t rounds) {
#if defined(__x86_64__)
    if (of_go_)
        call_by_goroutine(rounds);
    else
        lagtrap_traced_c_all(rounds);
    for (const calls::Tree& tree : engine_->take_trees(timeout))
        if (const auto batch = batch_costs(tree, rounds)) measured_.add(*batch);
#endif
}

void CostMeter::reckon() {
#if defined(__x86_64__)
    if (measured_.empty()) return;
    costs_.inside = measured_.table(work_ns_, interruptions_.factor());
    costs_.measured = true;
    measured_at_ = std::chrono::steady_clock::now();
#endif
}

CostMeters::Use::Use(CostMeters& meters, bool of_go) : meters_(meters), of_go_(of_go) {
    const std::lock_guard lock(meters_.mutex_);
    Meter& own = meters_.meters_[of_go_];
    if (own.uses++ == 0) own.meter = std::make_unique<CostMeter>(of_go_);
}

CostMeters::Use::~Use() {
    const std::lock_guard lock(meters_.mutex_);
    Meter& own = meters_.meters_[of_go_];
    if (--own.uses == 0) own.meter.reset();
}

CallCosts CostMeters::Use::costs() const {
    const std::lock_guard lock(meters_.mutex_);
    return meters_.meters_[of_go_].meter->costs();
}

}  // namespace lagtrap::daemon
