#include "trace/names/named_files.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "bpf/records.h"
#include "tests/fuzz/memory_file.hpp"

// A mapped file's name as chosen by its owner, and after a newline the request of a merge that was
// taken over.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = lagtrap::fuzz::text_of(data, size);
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return 0;
    lagtrap::trace::NamedFiles named;
    lagtrap_mapping mapping{};
    mapping.pid = 41;
    mapping.start = 0x400000;
    mapping.length = 0x2000;
    named.add(mapping, text.substr(0, end));
    named.close();
    const auto asked = std::filesystem::path(text.substr(end + 1)).lexically_normal();
    if (!asked.is_absolute()) return 0;
    using lagtrap::ProgramAccess;
    const ProgramAccess access = named.access(asked);
    const std::string& path = asked.native();
    if (access == ProgramAccess::Allowed && !path.starts_with("/usr/lib/debug/") &&
        !path.starts_with("/proc/41/"))
        std::abort();
    // No other process, and of this one neither its folders nor its descriptors.
    if (access != ProgramAccess::Refused && path.starts_with("/proc/") &&
        !path.starts_with("/proc/41/root/") && path != "/proc/41/exe" &&
        path != "/proc/41/map_files/400000-402000")
        std::abort();
    return 0;
}
