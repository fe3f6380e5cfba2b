#include "daemon/kernel/context_switches.hpp"

#include <charconv>
#include <string>

#include "core/files.hpp"

namespace lagtrap::daemon {

std::uint64_t context_switches() {
    constexpr std::size_t max_bytes = 1 << 20;
    const auto text = read_file("/proc/stat", max_bytes);
    const auto place = text ? text->find("\nctxt ") : std::string::npos;
    std::uint64_t switches = 0;
    if (place != std::string::npos)
        std::from_chars(text->data() + place + 6, text->data() + text->size(), switches);
    return switches;
}

}  // namespace lagtrap::daemon
