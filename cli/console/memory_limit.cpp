#include "cli/console/memory_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "core/sanitized.hpp"

namespace lagtrap::cli {
namespace {

constexpr std::uint64_t max_bytes = 8ULL << 30;

}  // namespace

std::uint64_t memory_limit_bytes(std::uint64_t machine_bytes) {
    return std::min(machine_bytes / 2, max_bytes);
}

void limit_memory() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page_bytes = ::sysconf(_SC_PAGESIZE);
    rlimit limit{};
    if (is_sanitized || pages <= 0 || page_bytes <= 0 || ::getrlimit(RLIMIT_DATA, &limit) != 0)
        return;
    const std::uint64_t machine_bytes =
        static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, memory_limit_bytes(machine_bytes));
    // If the limit cannot be set, continue without it.
    static_cast<void>(::setrlimit(RLIMIT_DATA, &limit));
}

}  // namespace lagtrap::cli
