#include "daemon/processes/program_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/files.hpp"
#include "daemon/processes/mount_finder.hpp"

namespace lagtrap::daemon {

Result<ProgramFile> program_file_at(const std::filesystem::path& path,
                                    const std::filesystem::path& process) {
    TRY_ASSIGN(const UniqueFd file, open_file(path, O_PATH));
    struct stat facts {};
    if (::fstat(file.get(), &facts) != 0) return system_error(path.string());
    std::uint64_t device = device_number(major(facts.st_dev), minor(facts.st_dev));
    if (const auto mount = MountFinder().mount_of(file.get(), process)) device = mount->device;
    return ProgramFile{static_cast<std::uint32_t>(device >> 32 << 20 | (device & 0xfffff)),
                       facts.st_ino};
}

}  // namespace lagtrap::daemon
