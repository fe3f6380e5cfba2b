#include "daemon/processes/careful_walk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace lagtrap::daemon {
namespace {

constexpr int links_limit = 40;  // the kernel's limit
constexpr std::size_t link_limit_bytes = 4096;

bool is_link(int place) {
    struct statx facts {};
    return ::statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &facts) == 0 &&
           S_ISLNK(facts.stx_mode);
}

Result<std::filesystem::path> target_of(int place) {
    std::array<char, link_limit_bytes> target{};
    const ssize_t bytes = ::readlinkat(place, "", target.data(), target.size());
    if (bytes < 0) return system_error("read a link");
    return std::filesystem::path(std::string(target.data(), static_cast<std::size_t>(bytes)));
}

class Walk {
  public:
    Walk(UniqueFd root, const std::filesystem::path& path, const MayEnter& may_enter)
        : may_enter_(may_enter), names_(path.begin(), path.end()) {
        folders_.push_back(std::move(root));
    }

    Result<UniqueFd> to_the_end() {
        TRY(may_enter_(folders_.back().get()));
        while (!names_.empty()) {
            const std::filesystem::path name = std::move(names_.front());
            names_.pop_front();
            if (name == "..") {
                if (folders_.size() > 1) folders_.pop_back();
            } else if (name == "/") {
                folders_.resize(1);
            } else if (!name.empty() && name != ".") {
                TRY(enter(name));
            }
        }
        return std::move(folders_.back());
    }

  private:
    Status enter(const std::filesystem::path& name) {
        UniqueFd place(
            ::openat(folders_.back().get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        if (!place.valid()) return system_error(name.string());
        TRY(may_enter_(place.get()));
        if (!is_link(place.get())) {
            folders_.push_back(std::move(place));
            return success();
        }
        if (++links_ > links_limit) return make_error(ErrorKind::Denied, "too many symbolic links");
        TRY_ASSIGN(const std::filesystem::path target, target_of(place.get()));
        names_.insert(names_.begin(), target.begin(), target.end());
        return success();
    }

    const MayEnter& may_enter_;
    std::deque<std::filesystem::path> names_;
    std::vector<UniqueFd> folders_;  // the folders from the root to the current one
    int links_ = 0;
};

}  // namespace

Result<UniqueFd> walk_to(UniqueFd root, const std::filesystem::path& path,
                         const MayEnter& may_enter) {
    return Walk(std::move(root), path, may_enter).to_the_end();
}

}  // namespace lagtrap::daemon
