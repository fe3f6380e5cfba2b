#include "analysis/spin_kind.hpp"

#include <algorithm>
#include <array>

#include "analysis/frame_role.hpp"
#include "trace/names/busy_wait_name.hpp"

namespace lagtrap::analysis {

namespace {

struct SpinFunction {
    std::string_view pattern;  // if it ends in '*', matches as a prefix
    SpinKind kind;
};

constexpr auto kernel_functions = std::to_array<SpinFunction>({
    {"__do_sys_sched_yield", SpinKind::Yield},
    {"__x64_sys_sched_yield", SpinKind::Yield},
    {"__arm64_sys_sched_yield", SpinKind::Yield},
    {"do_sched_yield", SpinKind::Yield},
    {"futex_wait*", SpinKind::Futex},
    {"native_queued_spin_lock_slowpath", SpinKind::KernelLock},
    {"__pv_queued_spin_lock_slowpath", SpinKind::KernelLock},
    {"queued_spin_lock_slowpath", SpinKind::KernelLock},
    {"queued_read_lock_slowpath", SpinKind::KernelLock},
    {"queued_write_lock_slowpath", SpinKind::KernelLock},
    {"osq_lock", SpinKind::KernelLock},
    {"mutex_spin_on_owner", SpinKind::KernelLock},
    {"rwsem_spin_on_owner", SpinKind::KernelLock},
    {"rwsem_optimistic_spin", SpinKind::KernelLock},
});

// Names as returned by plain_function().
constexpr auto user_functions = std::to_array<SpinFunction>({
    {"sched_yield", SpinKind::Yield},
    {"runtime.osyield*", SpinKind::Yield},
    {"pthread_spin_lock", SpinKind::SpinLock},
    {"runtime.procyield*", SpinKind::SpinLock},
    {"s_lock", SpinKind::SpinLock},
    {"ut_delay", SpinKind::SpinLock},
    {"spin_lock", SpinKind::SpinLock},
    {"spinlock_lock", SpinKind::SpinLock},
    {"spinlock_acquire", SpinKind::SpinLock},
    {trace::busy_wait_name, SpinKind::Memory},
    {trace::possible_busy_wait_name, SpinKind::LockWord},
});

template <std::size_t Count>
SpinKind spin_of_function(std::string_view function, const std::array<SpinFunction, Count>& table) {
    for (const SpinFunction& entry : table) {
        const bool open = entry.pattern.ends_with('*');
        const std::string_view text =
            open ? entry.pattern.substr(0, entry.pattern.size() - 1) : entry.pattern;
        if (open ? function.starts_with(text) : function == text) return entry.kind;
    }
    return SpinKind::None;
}

// Such as "folly::MicroSpinLock::lock() const".
bool locks_spin_lock(std::string_view function) {
    constexpr auto methods = std::to_array<std::string_view>({"lock", "Lock", "SlowLock"});
    constexpr auto classes =
        std::to_array<std::string_view>({"pinLock", "pinlock", "pin_lock", "pin_mutex"});
    function = function.substr(0, function.find('('));
    const std::size_t separator = function.rfind("::");
    if (separator == std::string_view::npos) return false;
    const std::string_view method = function.substr(separator + 2);
    const std::string_view type = function.substr(0, separator);
    return std::find(methods.begin(), methods.end(), method) != methods.end() &&
           std::any_of(classes.begin(), classes.end(), [&](std::string_view name) {
               return type.find(name) != std::string_view::npos;
           });
}

}  // namespace

SpinKind spin_of_stack(const Recording& recording, StackId stack) {
    SpinKind in_kernel = SpinKind::None;
    SpinKind in_program = SpinKind::None;
    for (const std::uint32_t place : recording.stacks[stack]) {
        const Frame& frame = recording.frames[place];
        if (!frame.named) continue;
        const std::string_view function = recording.name(frame.label);
        if (frame.kernel) {
            if (const SpinKind kind = spin_of_function(function, kernel_functions);
                kind != SpinKind::None)
                in_kernel = kind;
        } else if (!function.ends_with("@plt")) {
            in_program = locks_spin_lock(function)
                             ? SpinKind::SpinLock
                             : spin_of_function(plain_function(function), user_functions);
        }
    }
    return in_kernel != SpinKind::None ? in_kernel : in_program;
}

std::string_view to_text(SpinKind kind) {
    switch (kind) {
        case SpinKind::Yield: return "calling sched_yield over and over";
        case SpinKind::Futex: return "trying a futex over and over";
        case SpinKind::SpinLock: return "in a loop around a lock";
        case SpinKind::Memory:
        case SpinKind::LockWord: return "checking the same memory over and over";
        case SpinKind::KernelLock: return "on a kernel lock";
        case SpinKind::None: break;
    }
    return "";
}

}  // namespace lagtrap::analysis
