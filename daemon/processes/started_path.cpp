#include "daemon/processes/started_path.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string_view>

#include "daemon/processes/process_names.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;

// "/usr/bin/redis-server" for "/usr/bin/redis-server 127.0.0.1:6379", "postgres" for "postgres:
// checkpointer", "bash" for "-bash".
std::string first_word(std::string_view command) {
    std::string word(command.substr(0, command.find(' ')));
    if (word.ends_with(':')) word.pop_back();
    if (word.starts_with('-')) word.erase(0, 1);
    return word;
}

class Search {
  public:
    Search(const fs::path& process, const fs::path& program)
        : process_(process), program_(program) {}

    // Empty if it is another file, or does not exist.
    std::string same_file(const fs::path& candidate) {
        if (!candidate.has_filename() || candidate == program_) return {};
        const bool beside = candidate.parent_path() == program_.parent_path();
        if (!root_) root_ = open_resolved(AT_FDCWD, process_ / "root", O_PATH | O_DIRECTORY, 0, 0);
        if (!*root_) return {};
        const auto file =
            open_resolved((*root_)->get(), candidate.relative_path(), O_PATH, 0,
                          RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | (beside ? 0 : RESOLVE_NO_XDEV));
        struct stat found {
        }, own{};
        if (!file || ::fstat(file->get(), &found) != 0 ||
            ::stat((process_ / "exe").c_str(), &own) != 0)
            return {};
        return found.st_dev == own.st_dev && found.st_ino == own.st_ino ? candidate.string()
                                                                        : std::string();
    }

  private:
    const fs::path& process_;
    const fs::path& program_;
    std::optional<Result<UniqueFd>> root_;
};

}  // namespace

std::string started_path(const fs::path& process, const std::string& program,
                         const std::string& command) {
    const fs::path path(program);
    const fs::path word = first_word(command);
    // This is true for nearly all processes.
    if (!path.is_absolute() || word.filename() == path.filename()) return {};
    Search search(process, path);
    if (word.is_absolute())
        if (auto found = search.same_file(word.lexically_normal()); !found.empty()) return found;
    if (auto found = search.same_file(path.parent_path() / word.filename()); !found.empty())
        return found;
    const std::string name = name_of(process);
    if (name.find('/') != std::string::npos || name == path.filename()) return {};
    return search.same_file(path.parent_path() / name);
}

}  // namespace lagtrap::daemon
