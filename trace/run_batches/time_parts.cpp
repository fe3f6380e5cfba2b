#include "trace/run_batches/time_parts.hpp"

#include <algorithm>

namespace lagtrap::trace {
namespace {

// By lagtrap_wait_class.
constexpr std::array<std::string_view, LAGTRAP_WAIT_CLASSES> names{
    "other", "lock",      "events",    "input", "output",     "socket", "sleep",
    "child", "file-lock", "semaphore", "disk",  "page-fault", "stopped"};

std::uint64_t add_up(std::uint64_t a, std::uint64_t b) { return a + std::min(b, UINT64_MAX - a); }

// If `sum` is negative, raises it to 0 and takes the difference from `other`.
void make_up(std::uint64_t& sum, std::uint64_t& other) {
    const auto missing = static_cast<std::int64_t>(sum);
    if (missing >= 0) return;
    other -= std::min(other, std::uint64_t{0} - sum);
    sum = 0;
}

}  // namespace

std::string_view wait_class_name(std::uint32_t wait_class) {
    return wait_class < names.size() ? names[wait_class] : names[LAGTRAP_WAIT_OTHER];
}

std::uint32_t wait_class_of(std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return LAGTRAP_WAIT_OTHER;
    return static_cast<std::uint32_t>(found - names.begin());
}

std::uint64_t TimeParts::blocked_total_ns() const {
    std::uint64_t total_ns = 0;
    for (const std::uint64_t part_ns : blocked_ns) total_ns = add_up(total_ns, part_ns);
    return total_ns;
}

std::uint64_t TimeParts::total_ns() const {
    return add_up(add_up(on_cpu_ns, runnable_ns), blocked_total_ns());
}

TimeParts time_parts(const lagtrap_time_parts& record) {
    TimeParts parts;
    parts.on_cpu_ns = record.on_cpu_ns;
    parts.runnable_ns = record.runnable_ns;
    make_up(parts.runnable_ns, parts.on_cpu_ns);
    make_up(parts.on_cpu_ns, parts.runnable_ns);
    parts.throttled_ns = std::min<std::uint64_t>(record.throttled_ns, parts.runnable_ns);
    std::copy(std::begin(record.blocked_ns), std::end(record.blocked_ns), parts.blocked_ns.begin());
    return parts;
}

}  // namespace lagtrap::trace
