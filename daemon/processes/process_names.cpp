#include "daemon/processes/process_names.hpp"

#include <unistd.h>

#include <array>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t name_limit_bytes = 64;
constexpr std::size_t path_limit_bytes = 4096;

}  // namespace

// readlink() returns names that the kernel holds. Following the link would ask the file system.
std::string program_of(const std::filesystem::path& process) {
    std::array<char, path_limit_bytes> text{};
    const ssize_t bytes = ::readlink((process / "exe").c_str(), text.data(), text.size());
    return bytes > 0 ? std::string(text.data(), static_cast<std::size_t>(bytes)) : std::string();
}

std::string name_of(const std::filesystem::path& process_or_thread) {
    const auto text = read_file(process_or_thread / "comm", name_limit_bytes);
    return text ? text->substr(0, text->find('\n')) : std::string();
}

}  // namespace lagtrap::daemon
