#include "spool/spool.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "core/accounts.hpp"
#include "core/digest.hpp"
#include "core/duration.hpp"
#include "core/fault_point.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap::spool {
namespace {

namespace fs = std::filesystem;

constexpr const char* removed_bundles_file = ".removed";
constexpr const char* removed_batches_file = ".removed-batches";
constexpr const char* reason_suffix = ".reason";
constexpr std::chrono::hours torn_age{1};  // longer than writing any file takes
constexpr std::uint64_t reason_limit_bytes = 4096;
// Readable for everyone who can enter the spool.
constexpr unsigned note_mode = 0644;
constexpr const char* retention_lock = ".retention";
constexpr std::array all_states{EntryState::Ready, EntryState::Sending, EntryState::Sent,
                                EntryState::Rejected};

const char* folder_name(EntryState state) {
    switch (state) {
        case EntryState::Ready: return "ready";
        case EntryState::Sending: return "sending";
        case EntryState::Sent: return "sent";
        case EntryState::Rejected: break;
    }
    return "rejected";
}

// Changes mode and group only if they differ, so that a correct folder needs no privilege.
Status make_folder(const fs::path& folder, unsigned mode, std::optional<gid_t> group) {
    // Without the setgid bit: services that may not set it are refused such a mkdir, even if the
    // folder exists.
    TRY(make_directories(folder, mode & 0777));
    TRY_ASSIGN(const UniqueFd fd, open_file(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return system_error(folder.string());
    // Before the mode, because changing the group clears the setgid bit.
    if (group && facts.st_gid != *group &&
        ::fchown(fd.get(), static_cast<uid_t>(-1), *group) != 0) {
        Error error = system_error("change the group of " + folder.string() + "");
        error.message +=
            "; the user who creates the spool must be in that group (SupplementaryGroups= of the "
            "unit)";
        return error;
    }
    if ((facts.st_mode & 07777) != mode || (group && facts.st_gid != *group)) {
        if (::fchmod(fd.get(), mode) != 0) return system_error("chmod " + folder.string());
    }
    return success();
}

std::chrono::system_clock::time_point to_time_point(const timespec& time) {
    return std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)));
}

// Number in a file, or 0 if there is none.
std::uint64_t count_in(const fs::path& path) {
    const auto text = read_regular_file(path, 32);
    std::uint64_t count = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), count);
    return count;
}

// Free space that the disk lacks for the next recording.
std::uint64_t shortage_of(const fs::path& path) {
    struct statvfs facts {};
    if (::statvfs(path.c_str(), &facts) != 0) return 0;
    const std::uint64_t whole_bytes = static_cast<std::uint64_t>(facts.f_blocks) * facts.f_frsize;
    const std::uint64_t free_bytes = static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
    return shortage_of_disk(whole_bytes, free_bytes);
}

// "NAME.XXXXXX", the temporary name of write_file_durably(). NAME is that of an entry, a reason or
// a count.
bool is_torn_name(const std::string& name) {
    constexpr std::size_t torn_part = 7;
    if (name.size() <= torn_part || name[name.size() - torn_part] != '.') return false;
    std::string_view whole(name.data(), name.size() - torn_part);
    if (whole == removed_bundles_file || whole == removed_batches_file) return true;
    if (whole.ends_with(reason_suffix)) whole.remove_suffix(std::string_view(reason_suffix).size());
    return parse_entry_name(whole).has_value();
}

// Their writers were killed. Whatever they contained is written again.
void remove_torn_files(const fs::path& folder, std::chrono::system_clock::time_point now) {
    std::error_code error;
    fs::directory_iterator files(folder, error);
    for (; !error && files != fs::directory_iterator(); files.increment(error)) {
        struct stat facts {};
        if (!is_torn_name(files->path().filename().string()) ||
            ::lstat(files->path().c_str(), &facts) != 0)
            continue;
        if (S_ISREG(facts.st_mode) && now - to_time_point(facts.st_mtim) > torn_age)
            ::unlink(files->path().c_str());
    }
}

}  // namespace

std::string group_of_writers() { return find_group(spool_writers) ? spool_writers : std::string(); }

Result<Spool> Spool::create(const fs::path& path, const std::string& group) {
    std::optional<gid_t> group_id;
    if (!group.empty()) {
        auto found = find_group(group);
        if (!found && found.error().kind == ErrorKind::NotFound) {
            Error error = found.error();
            error.message += "; the package creates it, or use: groupadd --system " + group;
            return error;
        }
        TRY_ASSIGN(group_id, std::move(found));
    }
    if (path.has_parent_path()) TRY(make_directories(path.parent_path(), 0755));
    const Spool spool(path);
    TRY(make_folder(path, 0750, group_id));
    TRY(make_folder(spool.captures(), 0750, std::nullopt));
    const unsigned shared_mode = group_id ? 0775 : 02770;
    for (const EntryState state : all_states)
        TRY(make_folder(spool.folder(state), shared_mode, group_id));
    return spool;
}

Result<Spool> Spool::open(const fs::path& path) {
    const Spool spool(path);
    for (const EntryState state : all_states) {
        const fs::path folder = spool.folder(state);
        // access() tells whether it worked
        if (state != EntryState::Ready) ::mkdir(folder.c_str(), 02770);
        if (::access(folder.c_str(), R_OK | W_OK | X_OK) == 0) continue;
        Error error = system_error("spool folder " + folder.string());
        error.message += error.kind == ErrorKind::NotFound
                             ? "; lagtrapd creates it at startup, or check <spool path>"
                             : "; this user must be in the folder's group";
        return error;
    }
    return spool;
}

fs::path Spool::folder(EntryState state) const { return path_ / folder_name(state); }

fs::path Spool::path_of(EntryState state, const std::string& name) const {
    return folder(state) / name;
}

Result<std::vector<SpoolEntry>> Spool::list(EntryState state) const {
    std::vector<SpoolEntry> entries;
    std::error_code error;
    fs::directory_iterator files(folder(state), error);
    for (; !error && files != fs::directory_iterator(); files.increment(error)) {
        const std::string name = files->path().filename().string();
        struct stat facts {};
        const auto parsed = parse_entry_name(name);
        if (!parsed || ::lstat(files->path().c_str(), &facts) != 0 || !S_ISREG(facts.st_mode))
            continue;
        SpoolEntry entry{name,
                         state,
                         parsed->kind,
                         static_cast<std::uint64_t>(facts.st_size),
                         to_time_point(facts.st_mtim),
                         {}};
        if (state == EntryState::Rejected) {
            const auto reason =
                read_regular_file(files->path().string() + reason_suffix, reason_limit_bytes);
            entry.reason = reason ? printable(reason->substr(0, reason->find('\n'))) : "unknown";
        }
        entries.push_back(std::move(entry));
    }
    if (error) return system_error("listing " + folder(state).string(), error.value());
    std::sort(entries.begin(), entries.end(), [](const SpoolEntry& a, const SpoolEntry& b) {
        return a.made != b.made ? a.made < b.made : a.name < b.name;
    });
    return entries;
}

Result<std::vector<SpoolEntry>> Spool::list_all() const {
    std::vector<SpoolEntry> all;
    for (const EntryState state : all_states) {
        TRY_ASSIGN(auto entries, list(state));
        std::move(entries.begin(), entries.end(), std::back_inserter(all));
    }
    return all;
}

namespace {

// The daemon and the uploader are different users who share the folder's group. A lock needs only
// read permission. The creator's umask may have denied that to the group, and nobody else should
// have it.
Status give_to_group(int fd, const fs::path& folder) {
    constexpr unsigned mode = 0640;
    struct stat facts {};
    struct stat of_folder {};
    if (::fstat(fd, &facts) != 0 || facts.st_uid != ::geteuid()) return success();
    const bool of_another_group =
        ::stat(folder.c_str(), &of_folder) == 0 && facts.st_gid != of_folder.st_gid;
    // The uploader's unit may not change owners. The daemon can read the file anyway, and nobody
    // else needs to.
    if (of_another_group && ::fchown(fd, static_cast<uid_t>(-1), of_folder.st_gid) != 0)
        return errno == EPERM
                   ? set_mode(fd, 0600)
                   : Status(system_error("change the group of the lock in " + folder.string()));
    return (facts.st_mode & 07777) == mode ? success() : set_mode(fd, mode);
}

// The folder may belong to another user, who could put a pipe or a link to somebody's file there.
// So do not block on it, and do not change it.
Result<UniqueFd> open_lock(const fs::path& path) {
    TRY_ASSIGN(UniqueFd fd, open_file(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600));
    struct stat facts {};
    if (::fstat(fd.get(), &facts) != 0) return system_error(path.string());
    if (!S_ISREG(facts.st_mode) || facts.st_nlink > 1)
        return make_error(ErrorKind::Denied,
                          path.string() + " is not a regular file with one link; remove it");
    return fd;
}

// An exclusive lock, released with the descriptor and therefore when the process ends.
Result<UniqueFd> lock_file(const fs::path& path) {
    TRY_ASSIGN(UniqueFd fd, open_lock(path));
    TRY(give_to_group(fd.get(), path.parent_path()));
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            return make_error(ErrorKind::Busy, path.string() + " is held by another process");
        return system_error("locking " + path.string());
    }
    return fd;
}

// Reads /proc/locks: "NUMBER: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE START END". Returns 0 if
// nobody holds the lock or the holder is not visible.
std::uint64_t holder_of(const fs::path& path) {
    constexpr std::uint64_t locks_limit_bytes = 16 << 20;
    struct stat facts {};
    const auto locks = read_file("/proc/locks", locks_limit_bytes);
    if (!locks || ::stat(path.c_str(), &facts) != 0) return 0;
    const std::string file =
        fmt::format("{:02x}:{:02x}:{}", major(facts.st_dev), minor(facts.st_dev), facts.st_ino);
    std::istringstream lines(*locks);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string number, kind, advisory, access, place;
        std::uint64_t pid = 0;
        if (words >> number >> kind >> advisory >> access >> pid >> place && kind == "FLOCK" &&
            place == file)
            return pid;
    }
    return 0;
}

}  // namespace

Result<UniqueFd> Spool::lock_for_sending() const {
    auto lock = lock_file(folder(EntryState::Sending) / ".lock");
    if (!lock && lock.error().kind == ErrorKind::Busy)
        return make_error(
            ErrorKind::Busy,
            "another lagtrap-uploader works on " + path_.string() +
                " and sends the bundles there; `lagtrap upload BUNDLE` sends one immediately");
    return lock;
}

Status Spool::claim(const std::string& name) const {
    FAULT_POINT("spool.claim");
    return rename_durably(path_of(EntryState::Ready, name), path_of(EntryState::Sending, name));
}

Status Spool::mark_sent(const std::string& name, SentBatch batch) const {
    const auto parsed = parse_entry_name(name);
    if (batch == SentBatch::Delete && parsed && parsed->kind == EntryKind::Batch) {
        const fs::path path = path_of(EntryState::Sending, name);
        FAULT_POINT("spool.batch_sent");
        if (::unlink(path.c_str()) != 0) return system_error("removing " + path.string());
        return success();
    }
    FAULT_POINT("spool.sent");
    return rename_durably(path_of(EntryState::Sending, name), path_of(EntryState::Sent, name));
}

Status Spool::mark_rejected(const std::string& name, std::string_view reason) const {
    const std::string text = printable(reason).substr(0, reason_limit_bytes - 1) + "\n";
    const fs::path target = path_of(EntryState::Rejected, name);
    // Write the reason first, so that a bundle in rejected/ always has one.
    TRY(write_file_durably(target.string() + reason_suffix, text, note_mode));
    FAULT_POINT("spool.rejected");
    return rename_durably(path_of(EntryState::Sending, name), target);
}

Status Spool::put_back(const std::string& name) const {
    FAULT_POINT("spool.put_back");
    return rename_durably(path_of(EntryState::Sending, name), path_of(EntryState::Ready, name));
}

Status Spool::add_spans(std::string_view session_id, std::string_view spans) const {
    const std::string name = make_spans_name(session_id, sha256_of(spans));
    return write_file_durably(path_of(EntryState::Ready, name), spans, 0640);
}

Result<std::uint32_t> Spool::recover() const {
    TRY_ASSIGN(const auto left, list(EntryState::Sending));
    for (const SpoolEntry& entry : left) TRY(put_back(entry.name));
    return static_cast<std::uint32_t>(left.size());
}

Result<RetentionOutcome> Spool::apply_retention(const RetentionLimits& limits,
                                                std::chrono::system_clock::time_point now) const {
    RetentionOutcome outcome;
    const auto lock = lock_file(folder(EntryState::Ready) / retention_lock);
    if (!lock && lock.error().kind == ErrorKind::Busy) {
        outcome.left_to_another = true;
        return outcome;
    }
    if (!lock) return lock.error();

    TRY_ASSIGN(const auto entries, list_all());
    std::vector<RetentionEntry> candidates;
    candidates.reserve(entries.size());
    for (const SpoolEntry& entry : entries)
        candidates.push_back({entry.state, entry.size_bytes,
                              std::chrono::nanoseconds(now - entry.made), entry.kind});

    RetentionLimits with_room = limits;
    with_room.shortage_bytes = std::max(limits.shortage_bytes, shortage_of(path_));
    for (const std::size_t index : choose_removals(candidates, with_room)) {
        const SpoolEntry& entry = entries[index];
        const fs::path path = path_of(entry.state, entry.name);
        FAULT_POINT("retention.remove");
        if (::unlink(path.c_str()) != 0) {
            if (errno == ENOENT) continue;  // claimed in the meantime
            return system_error("removing " + path.string());
        }
        // Sent batches are copies for `lagtrap runs`; losing one is not worth a message.
        if (entry.state == EntryState::Sent && entry.kind == EntryKind::Batch) continue;
        if (entry.state == EntryState::Rejected) ::unlink((path.string() + reason_suffix).c_str());
        outcome.bytes += entry.size_bytes;
        if (entry.state == EntryState::Sent) ++outcome.sent;
        if (entry.state == EntryState::Rejected) ++outcome.rejected;
        // Not spans: their bundle still exists, or was counted itself.
        if (entry.state == EntryState::Ready && entry.kind == EntryKind::Batch) ++outcome.batches;
        if (entry.state == EntryState::Ready && entry.kind == EntryKind::Bundle) ++outcome.unsent;
    }
    FAULT_POINT("retention.removed");
    remove_torn_files(folder(EntryState::Ready), now);
    remove_torn_files(folder(EntryState::Rejected), now);
    const auto add_to = [&](const char* file, std::uint32_t removed) -> Status {
        const fs::path path = folder(EntryState::Ready) / file;
        if (removed == 0) return success();
        return write_file_durably(path, std::to_string(count_in(path) + removed) + "\n", note_mode);
    };
    TRY(add_to(removed_bundles_file, outcome.unsent));
    TRY(add_to(removed_batches_file, outcome.batches));
    return outcome;
}

std::string Spool::who_holds_retention() const {
    const fs::path lock = folder(EntryState::Ready) / retention_lock;
    const std::uint64_t pid = holder_of(lock);
    struct stat facts {};
    if (pid == 0 || ::stat(fmt::format("/proc/{}", pid).c_str(), &facts) != 0)
        return "a process holds " + lock.string();
    return fmt::format("process {} of user {} holds {}", pid, facts.st_uid, lock.string());
}

std::uint64_t Spool::unsent_removed() const {
    return count_in(folder(EntryState::Ready) / removed_bundles_file);
}

std::uint64_t Spool::unsent_batches_removed() const {
    return count_in(folder(EntryState::Ready) / removed_batches_file);
}

}  // namespace lagtrap::spool
