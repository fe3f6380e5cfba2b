#include "daemon/events/copy_names.hpp"

#include <sys/stat.h>

#include <fmt/core.h>

namespace lagtrap::daemon {

std::uint64_t mounts_of(const std::filesystem::path& process) {
    struct stat facts {};
    return ::stat((process / "ns" / "mnt").c_str(), &facts) == 0 ? facts.st_ino : 0;
}

std::filesystem::path folder_of(std::uint32_t pid) { return "/proc/" + std::to_string(pid); }

std::string name_of_copy(const std::string& path, const RealFile& real) {
    return fmt::format("{} (inode {} of device {}:{})", path, real.inode, real.device >> 20,
                       real.device & 0xfffff);
}

Party party_of_process(std::uint32_t pid) {
    const auto party = read_party(folder_of(pid));
    return party ? *party : unknown_party;
}

}  // namespace lagtrap::daemon
