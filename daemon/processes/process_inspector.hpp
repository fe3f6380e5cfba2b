// Looks into a process of somebody else: what /proc tells of it, which files it has mapped, and opens them. Its owner shapes
// what is found there: a file system that never answers behind a mapping, or behind the page that holds the command line,
// holds up whoever reads. So only a process that can be done without looks (inspector_pool.hpp); what it reads is bounded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bpf/records.h"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/command_line_mask.hpp"
#include "daemon/processes/mount_finder.hpp"
#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {

// What tells a file, as it is now, from every other and from what it was.
struct CodeFileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size_bytes = 0;
    std::int64_t changed_ns = 0;  // the file's change time (ctime), which nobody can set
    bool only_root_writes = false;
    std::uint8_t padding[7]{};
    friend bool operator==(const CodeFileIdentity&, const CodeFileIdentity&) = default;
};

struct NamedMapping {
    lagtrap_mapping mapping{};
    std::string path;
};

struct OpenedFile {
    UniqueFd file;
    CodeFileIdentity identity;
    bool is_program = false;  // as its first bytes say, or a library or debug file
};

// What is read of one process.
struct InspectionLimits {
    std::uint32_t mappings = 4096;          // at most
    std::uint32_t text_bytes = 512 * 1024;  // of all paths, at most
    CommandLines command_lines = CommandLines::Masked;
};

struct InspectedProcess {
    RecordBuffer records;  // lagtrap_process, then lagtrap_mapping of its code, without build ids
    std::uint64_t mappings_left_out = 0;
};

// Of one request.
inline constexpr std::size_t inspected_words_limit = 262'144;
inline constexpr std::uint64_t inspected_memory_limit_bytes = 8 << 20;

// Errors: Vanished, Denied (there is no regular file), Unsupported (it is on no local file system), and of a pool Timeout
// and Busy.
class ProcessInspector {
  public:
    virtual ~ProcessInspector() = default;

    enum class Code : std::uint32_t { Read, Left };
    [[nodiscard]] virtual Result<InspectedProcess> read(std::uint32_t pid, Code code,
                                                        const InspectionLimits& limits) = 0;
    // What files are mapped there: as many answers as `mappings`, all of one process. Opens none of them.
    [[nodiscard]] virtual std::vector<Result<CodeFileIdentity>> identify(const std::vector<NamedMapping>& mappings) = 0;
    // For reading.
    [[nodiscard]] virtual Result<OpenedFile> open(const NamedMapping& mapping) = 0;
    // What the process runs, for reading.
    [[nodiscard]] virtual Result<OpenedFile> open_program(std::uint32_t pid) = 0;
    // Its root folder, wherever that lies (O_PATH): to be kept open, and to be looked into only by who may wait.
    [[nodiscard]] virtual Result<UniqueFd> open_root(std::uint32_t pid) = 0;
    // 8 bytes of the process's memory at each address, as many as `addresses`; 0 where nothing can be read.
    [[nodiscard]] virtual Result<std::vector<std::uint64_t>> read_words(
        std::uint32_t pid, const std::vector<std::uint64_t>& addresses) = 0;
    // `bytes` (up to inspected_memory_limit_bytes) of the process's memory. NotFound: they cannot be read in one piece.
    [[nodiscard]] virtual Result<std::string> read_memory(std::uint32_t pid, std::uint64_t address,
                                                          std::uint64_t bytes) = 0;
};

// In this process. One thread's.
class DirectInspector : public ProcessInspector {
  public:
    // Asked before a file on this device is opened; an error: it is not.
    using MayOpen = std::function<Status(std::uint64_t device)>;
    explicit DirectInspector(std::filesystem::path proc_root = "/proc", MayOpen may_open = {})
        : proc_root_(std::move(proc_root)), may_open_(std::move(may_open)) {}

    [[nodiscard]] Result<InspectedProcess> read(std::uint32_t pid, Code code, const InspectionLimits& limits) override;
    [[nodiscard]] std::vector<Result<CodeFileIdentity>> identify(const std::vector<NamedMapping>& mappings) override;
    [[nodiscard]] Result<OpenedFile> open(const NamedMapping& mapping) override;
    [[nodiscard]] Result<OpenedFile> open_program(std::uint32_t pid) override;
    [[nodiscard]] Result<UniqueFd> open_root(std::uint32_t pid) override;
    [[nodiscard]] Result<std::vector<std::uint64_t>> read_words(std::uint32_t pid,
                                                                const std::vector<std::uint64_t>& addresses) override;
    [[nodiscard]] Result<std::string> read_memory(std::uint32_t pid, std::uint64_t address,
                                                  std::uint64_t bytes) override;

  private:
    struct Place {
        UniqueFd fd;  // O_PATH
        CodeFileIdentity identity;
    };
    [[nodiscard]] Result<Place> find(const NamedMapping& mapping);
    [[nodiscard]] Result<Place> find_mapped(const NamedMapping& mapping);
    [[nodiscard]] Result<Place> find_program(std::uint32_t pid);
    [[nodiscard]] Result<OpenedFile> reopen(const Result<Place>& place) const;
    [[nodiscard]] Result<Place> find_by_path(const std::filesystem::path& process, const std::filesystem::path& root,
                                             const NamedMapping& mapping);
    [[nodiscard]] Result<Place> place_of(UniqueFd fd, const std::filesystem::path& process);
    [[nodiscard]] Result<UniqueFd> memory_of(std::uint32_t pid) const;
    [[nodiscard]] std::filesystem::path folder_of(std::uint32_t pid) const { return proc_root_ / std::to_string(pid); }

    std::filesystem::path proc_root_;
    MayOpen may_open_;
    MountFinder mounts_;
};

// By whom ProcessScan and CodeModules of this process look; nullptr: they do it themselves. It outlives their use; to be
// set before there are threads.
void inspect_processes_by(ProcessInspector* inspector);
[[nodiscard]] ProcessInspector* process_inspector();

}  // namespace lagtrap::daemon
