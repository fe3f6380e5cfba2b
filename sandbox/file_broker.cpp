#include "sandbox/file_broker.hpp"

#include <elf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/files.hpp"
#include "core/passed_file.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap {
namespace {

enum Kind { open_kind = 1, temporary_kind, rename_kind, remove_kind };

constexpr std::size_t paths_limit_bytes = 8192;
constexpr std::string_view own_descriptors = "/proc/self/fd/";

// A request is this and one or two paths separated by NUL. An answer is this with the errno in
// `flags`, and a name, and a descriptor if one was requested.
struct Head {
    std::int32_t kind;
    std::int32_t flags;
    std::uint32_t mode;
};

Status send_message(int socket, const Head& head, std::string_view text, int fd) {
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes += text;
    while (send_with_file(socket, bytes.data(), bytes.size(), fd) < 0)
        if (errno != EINTR) return system_error("ask for a file");
    return success();
}

struct Message {
    Head head{};
    std::string text;
    UniqueFd fd;
};

// Without `with_fd`, descriptors from the other side are dropped.
Result<Message> receive_message(int socket, bool with_fd) {
    Message received;
    received.text.resize(paths_limit_bytes);
    std::array<iovec, 2> parts{
        {{&received.head, sizeof received.head}, {received.text.data(), received.text.size()}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    if (with_fd) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
    }
    ssize_t got = -1;
    while ((got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0)
        if (errno != EINTR) return system_error("ask for a file");
    if (const cmsghdr* part = with_fd ? CMSG_FIRSTHDR(&message) : nullptr;
        part != nullptr && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part), sizeof fd);
        received.fd.reset(fd);
    }
    if (static_cast<std::size_t>(got) < sizeof received.head ||
        (message.msg_flags & MSG_TRUNC) != 0)
        return make_error(ErrorKind::Invalid, "the file broker has disconnected");
    received.text.resize(static_cast<std::size_t>(got) - sizeof received.head);
    return received;
}

Error refused(const std::filesystem::path& path) { return system_error(path.string(), EPERM); }

}  // namespace

bool is_program(int fd) {
    constexpr std::size_t type_at = EI_NIDENT;  // the same in both ELF classes
    constexpr std::size_t head_bytes = 18;
    std::array<unsigned char, head_bytes> head{};
    if (::pread(fd, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) return false;
    if (std::memcmp(head.data(), ELFMAG, SELFMAG) != 0 || head[EI_DATA] != ELFDATA2LSB)
        return false;
    const unsigned type = head[type_at] | static_cast<unsigned>(head[type_at + 1]) << 8;
    return type == ET_REL || type == ET_EXEC || type == ET_DYN;
}

struct BrokeredFiles::Answer {
    UniqueFd fd;
    std::string name;
};

struct FileBroker::Reply {
    int error = 0;
    UniqueFd fd;
    std::string name;
};

Result<BrokeredFiles::Answer> BrokeredFiles::ask(int kind, int flags, unsigned mode,
                                                 const std::string& paths) {
    if (paths.size() > paths_limit_bytes) return system_error("ask for a file", ENAMETOOLONG);
    TRY(send_message(socket_.get(), Head{kind, flags, mode}, paths, -1));
    TRY_ASSIGN(Message message, receive_message(socket_.get(), true));
    if (message.head.flags != 0)
        return system_error(paths.substr(0, paths.find('\0')), message.head.flags);
    return Answer{std::move(message.fd), std::move(message.text)};
}

Result<UniqueFd> BrokeredFiles::open(const std::filesystem::path& path, int flags, unsigned mode) {
    const std::string& text = path.native();
    if (std::string_view(text).starts_with(own_descriptors)) {
        int own = -1;
        const char* const digits = text.data() + own_descriptors.size();
        const auto [end, failed] = std::from_chars(digits, text.data() + text.size(), own);
        if (failed != std::errc{} || end != text.data() + text.size())
            return system_error(text, ENOENT);
        UniqueFd copy(::fcntl(own, F_DUPFD_CLOEXEC, 0));
        if (!copy.valid()) return system_error(text);
        (void)::lseek(copy.get(), 0, SEEK_SET);
        return copy;
    }
    TRY_ASSIGN(Answer answer, ask(open_kind, flags, mode, text));
    if (!answer.fd.valid()) return system_error(text, ENOENT);
    return std::move(answer.fd);
}

Result<UniqueFd> BrokeredFiles::make_temporary(std::string& name) {
    TRY_ASSIGN(Answer answer, ask(temporary_kind, 0, 0, name));
    if (!answer.fd.valid()) return system_error(name, EIO);
    name = std::move(answer.name);
    return std::move(answer.fd);
}

Status BrokeredFiles::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
    const auto answer = ask(rename_kind, 0, 0, from.native() + '\0' + to.native());
    return answer ? success() : Status(answer.error().within("rename"));
}

void BrokeredFiles::remove(const std::filesystem::path& path) {
    (void)ask(remove_kind, 0, 0, path.native());
}

Result<FileBroker> FileBroker::create(BrokerPolicy policy) {
    FileBroker broker;
    for (const auto& [path, name_part] : policy.folders) {
        std::error_code failed;
        const auto whole = std::filesystem::absolute(path, failed).lexically_normal();
        TRY_ASSIGN(UniqueFd fd, open_file(whole, O_PATH | O_DIRECTORY));
        broker.folders_.push_back(
            {whole.has_filename() ? whole : whole.parent_path(), name_part, std::move(fd)});
    }
    broker.policy_ = std::move(policy);
    return broker;
}

Result<FileBroker::Place> FileBroker::place_of(const std::filesystem::path& path) const {
    std::error_code failed;
    const auto whole = std::filesystem::absolute(path, failed).lexically_normal();
    for (const Folder& folder : folders_) {
        const auto below = whole.lexically_relative(folder.path);
        if (below.empty() || *below.begin() == "..") continue;
        if (below != "." && below.native().find(folder.name_part) == std::string::npos) continue;
        return Place{folder.fd.get(), below};
    }
    return refused(path);
}

Result<UniqueFd> BrokeredPrograms::open(const std::filesystem::path& path, ProgramAccess access) {
    const Links links = access == ProgramAccess::Allowed ? Links::Followed : Links::Refused;
    auto opened = open_regular_file(path, links);
    if (opened && !is_program(opened->get())) return refused(path);
    return opened;
}

bool BrokeredPrograms::may_read(const std::filesystem::path& /*path*/) { return false; }

Result<UniqueFd> FileBroker::open_program(const std::filesystem::path& path) const {
    if (!policy_.programs || !path.is_absolute()) return refused(path);
    const auto whole = path.lexically_normal();
    const ProgramAccess access = policy_.programs->access(whole);
    return access == ProgramAccess::Refused ? refused(path) : policy_.programs->open(whole, access);
}

Result<UniqueFd> FileBroker::open(const std::filesystem::path& path, int flags,
                                  unsigned mode) const {
    constexpr int known =
        O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_DIRECTORY;
    if ((flags & ~(known | O_CLOEXEC)) != 0) return refused(path);
    if (const auto place = place_of(path)) {
        // Only permissions to read and write, and none for others, are ever needed.
        const unsigned allowed_mode = (flags & O_CREAT) != 0 ? mode & 0660 : 0;
        return open_resolved(place->folder, place->name, flags | O_NOFOLLOW | O_NONBLOCK,
                             allowed_mode, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    }
    if ((flags & (O_ACCMODE | O_CREAT | O_TRUNC)) != O_RDONLY) return refused(path);
    const auto& readable = policy_.readable;
    if (std::find(readable.begin(), readable.end(), path) != readable.end())
        return open_file(path, O_RDONLY);
    if (policy_.programs && path == path.lexically_normal() && policy_.programs->may_read(path))
        return open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    return open_program(path);
}

Result<UniqueFd> FileBroker::make_temporary(std::string& name) const {
    TRY_ASSIGN(const Place place, place_of(name));
    constexpr std::string_view open_part = "XXXXXX";
    if (!name.ends_with(open_part) || place.name.native().size() < open_part.size())
        return refused(name);
    std::string below = place.name.native();
    constexpr int attempts = 100;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        std::array<char, 16> drawn{};
        std::snprintf(drawn.data(), drawn.size(), "%06x",
                      static_cast<unsigned>(::arc4random()) & 0xffffffU);
        below.replace(below.size() - open_part.size(), open_part.size(), drawn.data(),
                      open_part.size());
        auto fd = open_resolved(place.folder, below, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0640,
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
        if (!fd && fd.error().system_errno == EEXIST) continue;
        // Independent of this process's umask: the other side is not the owner and cannot change
        // the mode.
        if (fd && ::fchmod(fd->get(), 0640) != 0) return system_error(name);
        if (fd)
            name.replace(name.size() - open_part.size(), open_part.size(), drawn.data(),
                         open_part.size());
        return fd;
    }
    return system_error(name, EEXIST);
}

// Direct entries of the folder only; files in its subfolders cannot be renamed or removed.
Status FileBroker::rename(const std::filesystem::path& from,
                          const std::filesystem::path& to) const {
    TRY_ASSIGN(const Place source, place_of(from));
    TRY_ASSIGN(const Place target, place_of(to));
    if (source.name.has_parent_path() || target.name.has_parent_path()) return refused(to);
    if (::renameat(source.folder, source.name.c_str(), target.folder, target.name.c_str()) != 0)
        return system_error("rename " + from.string());
    return success();
}

Status FileBroker::remove(const std::filesystem::path& path) const {
    TRY_ASSIGN(const Place place, place_of(path));
    if (place.name.has_parent_path()) return refused(path);
    if (::unlinkat(place.folder, place.name.c_str(), 0) != 0) return system_error(path.string());
    return success();
}

FileBroker::Reply FileBroker::answer(int kind, int flags, unsigned mode, const std::string& first,
                                     const std::string& second) const {
    Reply reply;
    const auto fail = [&](const Error& error) {
        reply.error = error.system_errno != 0           ? error.system_errno
                      : error.kind == ErrorKind::Denied ? EPERM
                                                        : EIO;
    };
    if (kind == open_kind || kind == temporary_kind) {
        std::string name = first;
        auto fd = kind == open_kind ? open(first, flags, mode) : make_temporary(name);
        if (!fd) fail(fd.error());
        if (fd) reply.fd = std::move(fd).value();
        reply.name = std::move(name);
        return reply;
    }
    const Status done = kind == rename_kind ? rename(first, second) : remove(first);
    if (!done) fail(done.error());
    return reply;
}

bool FileBroker::serve(int socket) {
    const auto request = receive_message(socket, false);
    if (!request) return false;
    const Head& head = request->head;
    if (head.kind < open_kind || head.kind > remove_kind) return false;
    const std::size_t end = request->text.find('\0');
    const std::string first = request->text.substr(0, end);
    const std::string second =
        end == std::string::npos ? std::string() : request->text.substr(end + 1);
    if (first.empty() || second.find('\0') != std::string::npos) return false;
    const Reply reply = answer(head.kind, head.flags, head.mode, first, second);
    return send_message(socket, Head{head.kind, reply.error, 0},
                        reply.name.substr(0, paths_limit_bytes), reply.fd.get())
        .ok();
}

void FileBroker::serve_all(int socket) {
    while (serve(socket)) {
    }
}

}  // namespace lagtrap
