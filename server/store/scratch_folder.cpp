#include "server/store/scratch_folder.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <system_error>

#include "core/files.hpp"

namespace lagtrap::server {

namespace fs = std::filesystem;

Result<std::vector<fs::path>> paths_in(const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code error;
    fs::directory_iterator files(folder, error);
    for (; !error && files != fs::directory_iterator(); files.increment(error))
        found.push_back(files->path());
    if (error) return system_error("listing " + folder.string(), error.value());
    return found;
}

Result<std::uint32_t> make_empty(const fs::path& folder) {
    TRY(make_directories(folder, blob_folder_mode));
    TRY_ASSIGN(const auto leftovers, paths_in(folder));
    for (const fs::path& leftover : leftovers)
        if (::unlink(leftover.c_str()) != 0) return system_error("removing " + leftover.string());
    return static_cast<std::uint32_t>(leftovers.size());
}

Result<std::uint64_t> free_bytes_at(const fs::path& folder) {
    struct statvfs facts {};
    if (::statvfs(folder.c_str(), &facts) != 0) return system_error(folder.string());
    return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
}

}  // namespace lagtrap::server
