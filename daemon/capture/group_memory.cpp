#include "daemon/capture/group_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/files.hpp"
#include "daemon/budget/memory_group.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t folders_limit = 100, members_limit = 300, threads_limit = 100;
constexpr std::uint64_t max_bytes = 64 * 1024;

std::uint64_t number_in(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

void add_members(const fs::path& folder, std::vector<std::uint32_t>& members) {
    const auto list = read_file(folder / "cgroup.procs", max_bytes);
    std::string_view rest = list ? std::string_view(*list) : std::string_view();
    while (!rest.empty() && members.size() < members_limit) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        if (const std::uint64_t pid = number_in(rest.substr(0, end)); pid != 0)
            members.push_back(static_cast<std::uint32_t>(pid));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

// Processes of the group and of the groups in it.
std::vector<std::uint32_t> members_of(const fs::path& folder) {
    std::vector<std::uint32_t> members;
    add_members(folder, members);
    std::error_code failed;
    std::size_t seen = 0;
    for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        std::error_code ignored;
        if (!entry->is_directory(ignored)) continue;
        if (++seen > folders_limit || members.size() >= members_limit) break;
        add_members(entry->path(), members);
    }
    return members;
}

// Bytes that a thread has read from disks and written; the kernel keeps them in the page cache.
std::uint64_t file_bytes_of_thread(const fs::path& thread) {
    const auto text = read_file(thread / "io", max_bytes);
    std::uint64_t bytes = 0;
    for (const std::string_view key : {"\nread_bytes: ", "\nwrite_bytes: "}) {
        const std::size_t at = text ? text->find(key) : std::string::npos;
        if (at != std::string::npos)
            bytes += number_in(std::string_view(*text).substr(at + key.size()));
    }
    return bytes;
}

// Of its threads: what the kernel counts for the process includes its children that have ended, so
// that a shell would have written what its commands wrote.
std::uint64_t file_bytes_of(const fs::path& process) {
    std::uint64_t bytes = 0;
    std::size_t seen = 0;
    std::error_code failed;
    for (fs::directory_iterator thread(process / "task", failed), end;
         !failed && thread != end && seen < threads_limit; thread.increment(failed), ++seen)
        bytes += file_bytes_of_thread(thread->path());
    return bytes;
}

std::uint64_t resident_bytes_of(const fs::path& process) {
    const auto text = read_file(process / "statm", max_bytes);
    const std::size_t second = text ? text->find(' ') : std::string::npos;
    if (second == std::string::npos) return 0;
    return number_in(std::string_view(*text).substr(second + 1)) *
           static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::optional<GroupMemory> read_group_memory(std::uint32_t pid, const fs::path& processes,
                                             const fs::path& groups) {
    const auto memberships = read_file(processes / std::to_string(pid) / "cgroup", max_bytes);
    const auto group = memberships ? MemoryGroup::find(*memberships, groups) : std::nullopt;
    const auto fill = group ? group->fill() : std::nullopt;
    if (!fill) return std::nullopt;
    GroupMemory memory{{}, fill->path.string()};
    lagtrap_group_memory& record = memory.record;
    record.limit_bytes = fill->limit_bytes;
    record.used_bytes = fill->used_bytes;
    record.file_bytes = fill->file_bytes;
    record.anonymous_bytes = fill->anonymous_bytes;
    record.shared_bytes = fill->shared_bytes;
    record.pid = pid;
    const bool of_files = fill->file_bytes > fill->anonymous_bytes;
    for (const std::uint32_t member : members_of(fill->folder)) {
        const fs::path process = processes / std::to_string(member);
        const std::uint64_t bytes = of_files ? file_bytes_of(process) : resident_bytes_of(process);
        if (bytes <= record.filler_bytes) continue;
        record.filler_bytes = bytes;
        record.filler_pid = member;
    }
    return memory;
}

RecordBuffer record_of(const GroupMemory& memory, std::uint64_t at_ns) {
    lagtrap_group_memory record = memory.record;
    record.header = {sizeof(record), LAGTRAP_RECORD_GROUP_MEMORY, 0, at_ns};
    record.path_bytes =
        static_cast<__u16>(std::min<std::size_t>(memory.path.size(), LAGTRAP_PATH_BYTES));
    RecordBuffer records;
    records.append(&record, sizeof(record),
                   std::string_view(memory.path).substr(0, record.path_bytes));
    return records;
}

}  // namespace lagtrap::daemon
