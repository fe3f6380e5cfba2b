#include "trace/system_file/machine_facts.hpp"

#include <sys/utsname.h>

#include <charconv>
#include <string_view>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::uint64_t fact_limit_bytes = 4 << 20;

std::string without_quotes(std::string_view text) { return std::string(trimmed(text, " \t\n\"")); }

// The text after `label` and `separator`, on the first line that starts with `label`.
std::string value_of(const std::filesystem::path& path, std::string_view label, char separator) {
    const auto content = read_file(path, fact_limit_bytes);
    if (!content) return {};
    std::string_view rest = *content;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        const std::size_t at = line.find(separator);
        if (line.starts_with(label) && at != std::string_view::npos &&
            without_quotes(line.substr(0, at)) == label)
            return without_quotes(line.substr(at + 1));
    }
    return {};
}

}  // namespace

void read_machine_facts(SystemFile& file, const std::filesystem::path& root) {
    utsname names{};
    if (::uname(&names) == 0) {
        file.host = names.nodename;
        file.kernel_release = names.release;
        file.architecture = names.machine;
    }
    // From the folder instead, if it stands for another machine.
    if (const auto host = read_file(root / "proc/sys/kernel/hostname", 4096))
        file.host = without_quotes(*host);
    if (const auto release = read_file(root / "proc/sys/kernel/osrelease", 4096))
        file.kernel_release = without_quotes(*release);
    if (const auto id = read_file(root / "etc/machine-id", 4096)) {
        const std::string text = without_quotes(*id);
        if (!text.empty()) file.machine_id = sha256_of(text);
    }
    file.os_name = value_of(root / "etc/os-release", "PRETTY_NAME", '=');
    file.cpu_model = value_of(root / "proc/cpuinfo", "model name", ':');
    const std::string memory = value_of(root / "proc/meminfo", "MemTotal", ':');
    std::uint64_t kibibytes = 0;
    std::from_chars(memory.data(), memory.data() + memory.size(), kibibytes);
    file.memory_bytes = kibibytes * 1024;
}

}  // namespace lagtrap::trace
