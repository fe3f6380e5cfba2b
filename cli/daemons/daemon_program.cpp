#include "cli/daemons/daemon_program.hpp"

#include <unistd.h>

#include <filesystem>

namespace lagtrap::cli {

namespace fs = std::filesystem;

std::string find_daemon() {
    std::error_code ignored;
    const fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const fs::path& candidate :
         {own / "../sbin/lagtrapd", own / "../daemon/lagtrapd", own / "lagtrapd"})
        if (::access(candidate.c_str(), X_OK) == 0)
            return fs::weakly_canonical(candidate, ignored).string();
    return "lagtrapd";
}

std::vector<std::string> rehearsal_by(const std::string& program, const std::string& file,
                                      const std::string& settings, bool json) {
    std::vector<std::string> words{program, "--rehearse", file, "--settings", settings};
    if (json) words.emplace_back("--json");
    return words;
}

}  // namespace lagtrap::cli
