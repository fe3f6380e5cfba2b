#include "daemon/events/watched_path.hpp"

#include <string_view>
#include <utility>

namespace lagtrap::daemon {
namespace {

std::string_view file_name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool is_followed(const std::string& path, const PathTarget& target) {
    if (!target.seen) return true;
    return target.regular && target.seen->device != target.root_device &&
           file_name_of(target.leads_to) == file_name_of(path);
}

void WatchedPath::note_opened(std::shared_ptr<const WatchedFile> file,
                              std::optional<FileIdentity> seen) {
    file_ = std::move(file);
    seen_ = seen;
}

void WatchedPath::note_followed(bool followed, const PathTarget& target) {
    followed_ = followed;
    if (!followed) return;
    seen_ = target.seen;
    leads_to_ = target.leads_to;
}

// While we held the lease, the content cannot have changed, whatever happened to the file's
// metadata.
bool WatchedPath::has_changed(const PathTarget& target, bool follows, const Use& use) {
    if (followed_ && follows) {
        note_followed(true, target);
        return false;
    }
    if (!target.seen && use.mapped) return false;
    if (followed_ != follows) return true;
    if (!target.seen) return false;
    if (use.written) return true;
    if (use.leased && seen_ && seen_->same_file(*target.seen)) seen_ = target.seen;
    return seen_ != target.seen;
}

void WatchedPath::note_rearmed(Clock::time_point now) {
    pauses_.begin(now);
    slow_ = false;
}

}  // namespace lagtrap::daemon
