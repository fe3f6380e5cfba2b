#include "daemon/processes/mount_finder.hpp"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

// Maximum age of a table that is used only to decide whether to be careful.
constexpr auto careful_table_age = 1s;
constexpr const char* own_process = "/proc/self";
constexpr std::size_t namespaces_limit = 64;
constexpr std::size_t known_mounts_limit = 4096;

// In linux/fcntl.h since 6.12 and 6.5; the build's headers may be older than the kernel.
constexpr int handle_unique_mount_id = 0x001;
constexpr int handle_of_any_file = 0x200;

// 0 if the kernel has none (before 6.12). Does not use statx(), which asks the server of some file
// systems even for this.
std::uint64_t unique_mount_id(int fd) {
    struct {
        std::uint32_t bytes = 0;
        int type = 0;
    } no_handle;
    std::uint64_t id = 0;
    const long done = ::syscall(SYS_name_to_handle_at, fd, "", &no_handle, &id,
                                AT_EMPTY_PATH | handle_of_any_file | handle_unique_mount_id);
    return done == 0 || errno == EOVERFLOW ? id : 0;
}

// 0 if it cannot be read.
std::uint64_t mount_id(int fd) {
    const auto text = read_file("/proc/self/fdinfo/" + std::to_string(fd), 64 * 1024);
    if (!text) return 0;
    const std::size_t label = text->find("mnt_id:");
    if (label == std::string::npos) return 0;
    const std::size_t digits = text->find_first_of("0123456789", label);
    std::uint64_t id = 0;
    if (digits != std::string::npos)
        std::from_chars(text->data() + digits, text->data() + text->size(), id);
    return id;
}

// File systems answer this without asking their server.
Result<std::uint64_t> device_of(int fd) {
    struct statx facts {};
    if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &facts) != 0)
        return system_error("statx");
    return device_number(facts.stx_dev_major, facts.stx_dev_minor);
}

std::set<std::uint64_t> find_memory_devices() {
    std::set<std::uint64_t> devices;
    const std::array<unsigned, 4> kinds{0U, MFD_HUGETLB, MFD_HUGETLB | MFD_HUGE_2MB,
                                        MFD_HUGETLB | MFD_HUGE_1GB};
    for (const unsigned kind : kinds) {
        const UniqueFd memory(::memfd_create("lagtrap", MFD_CLOEXEC | kind));
        if (!memory.valid()) continue;
        if (const auto device = device_of(memory.get())) devices.insert(*device);
    }
    return devices;
}

}  // namespace

MountFinder::MountFinder() : memory_devices_(find_memory_devices()) {}

MountFinder::Table MountFinder::table_of(const std::filesystem::path& process,
                                         Clock::duration age_limit) {
    std::error_code failed;
    const std::string name = std::filesystem::read_symlink(process / "ns" / "mnt", failed).string();
    if (failed) return nullptr;
    const auto known = tables_.find(name);
    if (age_limit.count() > 0 && known != tables_.end() &&
        Clock::now() - known->second.read_at < age_limit)
        return known->second.table;
    const auto text = read_file(process / "mountinfo", mountinfo_limit_bytes);
    if (!text) return nullptr;
    const bool has_overlays = text->find(" - overlay ") != std::string::npos;
    const Table machine = process == own_process
                              ? nullptr
                              : table_of(own_process, has_overlays ? age_limit : careful_table_age);
    auto table = std::make_shared<const MountTable>(MountTable::parse(*text, machine.get()));
    if (tables_.size() >= namespaces_limit) tables_.clear();
    tables_[name] = {table, Clock::now()};
    return table;
}

// Reads the tables only after `fd` was opened.
Result<Mount> MountFinder::look_up(int fd, std::uint64_t id, const std::filesystem::path& process) {
    const Table its = table_of(process, 0s);
    if (const Mount* const mount = its ? its->by_id(id) : nullptr) return *mount;
    const Table own = table_of(own_process, 0s);
    if (const Mount* const mount = own ? own->by_id(id) : nullptr) return *mount;
    TRY_ASSIGN(const std::uint64_t device, device_of(fd));
    const Mount* same = its ? its->by_device(device) : nullptr;
    if (!same && own) same = own->by_device(device);
    if (!same && !memory_devices_.contains(device))
        return make_error(ErrorKind::NotFound, "no longer mounted");
    Mount mount = same ? *same : Mount{id, device, {}, "tmpfs", true, false};
    mount.set_uid_counts = false;
    return mount;
}

Result<Mount> MountFinder::mount_of(int fd, const std::filesystem::path& process) {
    const std::uint64_t unique_id = unique_mount_id(fd);
    if (const auto known = by_unique_id_.find(unique_id); known != by_unique_id_.end())
        return known->second;
    const std::uint64_t id = mount_id(fd);
    if (const auto known = of_request_.find(id); known != of_request_.end())
        return known->second.mount;
    TRY_ASSIGN(const Mount mount, look_up(fd, id, process));
    if (unique_id != 0) {
        if (by_unique_id_.size() >= known_mounts_limit) by_unique_id_.clear();
        by_unique_id_[unique_id] = mount;
        return mount;
    }
    UniqueFd pin(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (pin.valid()) of_request_[id] = {mount, std::move(pin)};
    return mount;
}

Error MountFinder::not_local(std::string_view type) {
    return make_error(
        ErrorKind::Unsupported,
        fmt::format("it is on a file system ({}) that may never respond; only local ones are read",
                    type));
}

Status MountFinder::check_local(int fd, const std::filesystem::path& process) {
    const auto mount = mount_of(fd, process);
    if (mount && mount->local) return success();
    return not_local(mount ? std::string_view(mount->type)
                           : std::string_view(mount.error().message));
}

std::string MountFinder::server_behind(const std::filesystem::path& process,
                                       const std::function<std::uint64_t()>& device) {
    const Table careful = table_of(process, careful_table_age);
    if (!careful || careful->answers_to_a_look()) return {};
    const std::uint64_t of_file = device();
    const Table now = table_of(process, 0s);
    const Mount* const mount = now ? now->by_device(of_file) : nullptr;
    return mount && !mount->local ? mount->type : std::string();
}

}  // namespace lagtrap::daemon
