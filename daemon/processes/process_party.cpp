#include "daemon/processes/process_party.hpp"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "bpf/party.h"
#include "core/files.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/process_texts.hpp"

namespace lagtrap::daemon {
namespace {

static_assert(first_container_party == LAGTRAP_PARTY_FIRST_NAMESPACE &&
              unknown_party == LAGTRAP_PARTY_UNKNOWN);

// The initial namespaces have fixed numbers (include/linux/proc_ns.h), which can be seen from
// inside a container too.
constexpr std::uint32_t machines_users = 0xEFFFFFFD, machines_pids = 0xEFFFFFFC;
constexpr int deepest_nesting = 33;  // kernel/user_namespace.c, kernel/pid_namespace.c

// From the link "user:[4026531837]". Most processes are in the initial namespaces, so nothing needs
// to be opened. A kernel without such namespaces has no link.
Result<std::uint32_t> linked_namespace(const std::filesystem::path& link, std::uint32_t machines) {
    std::array<char, 64> text{};
    const ssize_t bytes = ::readlink(link.c_str(), text.data(), text.size());
    if (bytes < 0 && errno == ENOENT) return machines;
    if (bytes < 0) return system_error("read " + link.string());
    const std::string_view target(text.data(), static_cast<std::size_t>(bytes));
    const std::string_view digits = target.substr(std::min(target.find('[') + 1, target.size()));
    std::uint32_t inode = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), inode).ec != std::errc{})
        return make_error(ErrorKind::Invalid, "no namespace: " + std::string(target));
    return inode;
}

std::uint32_t inode_of(const UniqueFd& of_namespace) {
    struct stat facts {};
    return ::fstat(of_namespace.get(), &facts) == 0 ? static_cast<std::uint32_t>(facts.st_ino) : 0;
}

// The namespace just below the initial one. From inside a container, the outermost visible one.
Result<UniqueFd> open_outermost(const std::filesystem::path& link, std::uint32_t machines) {
    TRY_ASSIGN(UniqueFd found, open_file(link, O_RDONLY));
    for (int i = 0; i < deepest_nesting; ++i) {
        UniqueFd parent(::ioctl(found.get(), NS_GET_PARENT));
        if (!parent.valid() || inode_of(parent) == machines) break;
        found = std::move(parent);
    }
    return found;
}

Status read_namespaces(const std::filesystem::path& process, ProcessNamespaces& into) {
    const auto pids = process / "ns/pid", users = process / "ns/user";
    TRY_ASSIGN(const std::uint32_t own_pids, linked_namespace(pids, machines_pids));
    TRY_ASSIGN(const std::uint32_t own_users, linked_namespace(users, machines_users));
    if (own_pids != machines_pids) {
        TRY_ASSIGN(const UniqueFd outermost, open_outermost(pids, machines_pids));
        const UniqueFd made_in(::ioctl(outermost.get(), NS_GET_USERNS));
        into.pids = {inode_of(outermost), made_in.valid() && inode_of(made_in) == machines_users};
    }
    if (own_users != machines_users) {
        TRY_ASSIGN(const UniqueFd outermost, open_outermost(users, machines_users));
        uid_t owner = 0;
        if (::ioctl(outermost.get(), NS_GET_OWNER_UID, &owner) != 0)
            return system_error("ask for a namespace's owner");
        into.users = {inode_of(outermost), owner};
    }
    return success();
}

}  // namespace

Party party_of(const ProcessNamespaces& process) {
    // Root in there can become any user, and create user namespaces as any user.
    if (process.pids && process.pids->made_by_machine) return process.pids->inode;
    if (!process.users) return party_of_user(process.uid);
    return process.users->owner_uid == 0 ? process.users->inode
                                         : party_of_user(process.users->owner_uid);
}

Result<Party> read_party(const std::filesystem::path& process) {
    ProcessNamespaces found;
    TRY_ASSIGN(found.uid, user_of(process));
    TRY(read_namespaces(process, found));
    return party_of(found);
}

Party read_party(const std::filesystem::path& process, std::uint32_t uid) {
    ProcessNamespaces found;
    found.uid = uid;
    return read_namespaces(process, found) ? party_of(found) : party_of_user(uid);
}

}  // namespace lagtrap::daemon
