#include "daemon/probes/watched_file.hpp"

#include <sys/stat.h>

#include "sandbox/foreign_file.hpp"
#include "sandbox/machine_root.hpp"
#include "sandbox/other_writers.hpp"

namespace lagtrap::daemon {

FileIdentity FileIdentity::of(const struct stat& facts) {
    return {facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size),
            facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

std::optional<FileIdentity> FileIdentity::at(const std::string& path) {
    const auto facts = facts_on_machine(path);
    if (!facts) return std::nullopt;
    return of(*facts);
}

Result<std::shared_ptr<const WatchedFile>> WatchedFile::open(const std::string& path) {
    TRY_ASSIGN(UniqueFd fd, open_regular_file(on_machine(path)));
    TRY_ASSIGN(auto file, look_at(std::move(fd), path));
    file->other_writers_ = lagtrap::other_writers(path);
    return std::shared_ptr<const WatchedFile>(std::move(file));
}

Result<std::shared_ptr<const WatchedFile>> WatchedFile::adopt(UniqueFd fd, std::string path) {
    TRY_ASSIGN(auto file, look_at(std::move(fd), std::move(path)));
    return std::shared_ptr<const WatchedFile>(std::move(file));
}

Result<std::shared_ptr<WatchedFile>> WatchedFile::look_at(UniqueFd fd, std::string path) {
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return system_error(path);
    std::shared_ptr<WatchedFile> file(new WatchedFile(std::move(path), std::move(fd)));
    file->identity_ = FileIdentity::of(facts);
    file->change_time_ = {facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec};
    file->owner_ = facts.st_uid;
    return file;
}

std::string WatchedFile::descriptor_path() const { return path_of_descriptor(fd_.get()).string(); }

bool WatchedFile::unchanged() const {
    struct stat facts {};
    return ::fstat(fd_.get(), &facts) == 0 && FileIdentity::of(facts) == identity_ &&
           ChangeTime(facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec) == change_time_;
}

}  // namespace lagtrap::daemon
