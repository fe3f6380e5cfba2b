#include "trace/logs/held_roots.hpp"

#include <algorithm>
#include <sstream>

#include "core/files.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::uint64_t limit_bytes = 4 << 20;

}  // namespace

std::optional<std::filesystem::path> HeldRoots::find(std::uint32_t pid,
                                                     const std::filesystem::path& path) const {
    const auto found = descriptors.find(pid);
    if (found == descriptors.end()) return std::nullopt;
    return std::filesystem::path("/proc") / std::to_string(holder) / "fd" /
           std::to_string(found->second) / path.relative_path();
}

bool HeldRoots::holds(int descriptor) const {
    return std::any_of(descriptors.begin(), descriptors.end(),
                       [&](const auto& entry) { return entry.second == descriptor; });
}

// "HOLDER", then lines of "PID DESCRIPTOR".
Status write_held_roots(const std::filesystem::path& capture, const HeldRoots& roots) {
    std::string text = std::to_string(roots.holder) + "\n";
    for (const auto& [pid, descriptor] : roots.descriptors)
        text += std::to_string(pid) + " " + std::to_string(descriptor) + "\n";
    return write_file_durably(capture / held_roots_name, text, 0640);
}

HeldRoots read_held_roots(const std::filesystem::path& capture) {
    const auto text = read_file(capture / held_roots_name, limit_bytes);
    if (!text) return {};
    HeldRoots roots;
    std::istringstream lines(*text);
    std::uint32_t pid = 0;
    int descriptor = -1;
    if (!(lines >> roots.holder) || roots.holder <= 0) return {};
    while (lines >> pid >> descriptor)
        if (descriptor >= 0) roots.descriptors[pid] = descriptor;
    return lines.eof() ? roots : HeldRoots{};
}

}  // namespace lagtrap::trace
