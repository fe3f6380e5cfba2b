#include "daemon/objects/object_errors.hpp"

#include <cstring>
#include <optional>
#include <string_view>

#include "daemon/calls/name_expressions.hpp"

namespace lagtrap::daemon {
namespace {

std::optional<std::uint32_t> file_with(const ProcessFiles& code, const char* pattern) {
    for (std::uint32_t file = 0; file < code.files().size(); ++file)
        if (fits(pattern, code.name_of(file))) return file;
    return std::nullopt;
}

// In glibc's __errno_location(): mov slot(%rip),%rax; add %fs:0,%rax. Returns the distance of the
// slot from the function's begin.
std::optional<std::uint64_t> distance_of_slot(std::string_view bytes) {
    static constexpr std::string_view landing("\xf3\x0f\x1e\xfa", 4), load("\x48\x8b\x05", 3);
    const std::size_t at = bytes.starts_with(landing) ? landing.size() : 0;
    std::int32_t distance = 0;
    const std::size_t end = at + load.size() + sizeof distance;
    if (bytes.size() < end || bytes.compare(at, load.size(), load) != 0) return std::nullopt;
    std::memcpy(&distance, bytes.data() + at + load.size(), sizeof distance);
    return end + static_cast<std::uint64_t>(std::int64_t{distance});
}

}  // namespace

// A statically linked program contains them itself.
ExceptionPlaces find_exceptions(ProcessFiles& code) {
    ExceptionPlaces found;
    for (std::uint32_t file = 0; file < code.files().size(); ++file) {
        if (file != 0 && !fits("libstdc++*", code.name_of(file)) &&
            !fits("libc++*", code.name_of(file)))
            continue;
        for (const CodePlace& place : code.find(file, "__cxa_throw")) found.throws.push_back(place);
        for (const CodePlace& place : code.find(file, "__cxa_begin_catch"))
            found.catches.push_back(place);
    }
    return found;
}

std::uint64_t find_errno_slot(ProcessFiles& code) {
    const auto libc = file_with(code, "libc.so*");
    if (!libc) return 0;
    const auto found = code.find(*libc, "__errno_location");
    if (found.empty()) return 0;
    const auto bytes = (*code.program(*libc))->code_at(found.front().offset);
    if (!bytes) return 0;
    const auto distance = distance_of_slot(*bytes);
    const auto address = code.address_of(found.front());
    return distance && address ? *address + *distance : 0;
}

}  // namespace lagtrap::daemon
