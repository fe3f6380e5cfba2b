// Inspects processes of other users: reads /proc, identifies mapped files, and opens them. The
// owner of a process controls what is found there. For example, a file system that never answers,
// behind a mapping or behind the page with the command line, blocks the reader. So only expendable
// processes do this (inspector_pool.hpp), and what they read is limited.
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
#include "daemon/processes/process_context.hpp"
#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {

// Identifies a file and the version of its content.
struct CodeFileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size_bytes = 0;
    std::int64_t changed_ns = 0;  // change time (ctime), which nobody can set
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
    bool is_program = false;  // an executable, library or debug file, judged by its first bytes
};

// Limits for reading one process.
struct InspectionLimits {
    std::uint32_t mappings = 4096;          // maximum
    std::uint32_t text_bytes = 512 * 1024;  // maximum for all paths
    CommandLines command_lines = CommandLines::Masked;
};

struct InspectedProcess {
    RecordBuffer records;  // lagtrap_process, then lagtrap_mapping of its code, without build ids
    std::uint64_t mappings_left_out = 0;
};

// Limits per request.
inline constexpr std::size_t inspected_words_limit = 262'144;
inline constexpr std::uint64_t inspected_memory_limit_bytes = 8 << 20;

// Errors: Vanished, Denied (not a regular file), Unsupported (not on a local file system). A pool
// also returns Timeout and Busy.
class ProcessInspector {
  public:
    virtual ~ProcessInspector() = default;

    enum class Code : std::uint32_t { Read, Left };
    [[nodiscard]] virtual Result<InspectedProcess> read(std::uint32_t pid, Code code,
                                                        const InspectionLimits& limits) = 0;
    // Identifies the files mapped there without opening them. Returns one result per mapping; all
    // must be of one process.
    [[nodiscard]] virtual std::vector<Result<CodeFileIdentity>> identify(
        const std::vector<NamedMapping>& mappings) = 0;
    // Opens the file for reading.
    [[nodiscard]] virtual Result<OpenedFile> open(const NamedMapping& mapping) = 0;
    // Opens the program of the process for reading.
    [[nodiscard]] virtual Result<OpenedFile> open_program(std::uint32_t pid) = 0;
    // Opens its root folder with O_PATH, on any file system. Keep it open, but access files in it
    // only on threads that may block.
    [[nodiscard]] virtual Result<UniqueFd> open_root(std::uint32_t pid) = 0;
    // Reads 8 bytes of the process's memory at each address; 0 where it cannot be read.
    [[nodiscard]] virtual Result<std::vector<std::uint64_t>> read_words(
        std::uint32_t pid, const std::vector<std::uint64_t>& addresses) = 0;
    // Reads `bytes` (up to inspected_memory_limit_bytes) of the process's memory. NotFound: not all
    // of it can be read.
    [[nodiscard]] virtual Result<std::string> read_memory(std::uint32_t pid, std::uint64_t address,
                                                          std::uint64_t bytes) = 0;
    // What it publishes about the contexts of its threads. NotFound: nothing.
    [[nodiscard]] virtual Result<ProcessContext> process_context(std::uint32_t pid) = 0;
};

// Does this in the calling process. Use it on one thread.
class DirectInspector : public ProcessInspector {
  public:
    // Called before a file on this device is opened; an error prevents that.
    using MayOpen = std::function<Status(std::uint64_t device)>;
    explicit DirectInspector(std::filesystem::path proc_root = "/proc", MayOpen may_open = {})
        : proc_root_(std::move(proc_root)), may_open_(std::move(may_open)) {}

    [[nodiscard]] Result<InspectedProcess> read(std::uint32_t pid, Code code,
                                                const InspectionLimits& limits) override;
    [[nodiscard]] std::vector<Result<CodeFileIdentity>> identify(
        const std::vector<NamedMapping>& mappings) override;
    [[nodiscard]] Result<OpenedFile> open(const NamedMapping& mapping) override;
    [[nodiscard]] Result<OpenedFile> open_program(std::uint32_t pid) override;
    [[nodiscard]] Result<UniqueFd> open_root(std::uint32_t pid) override;
    [[nodiscard]] Result<std::vector<std::uint64_t>> read_words(
        std::uint32_t pid, const std::vector<std::uint64_t>& addresses) override;
    [[nodiscard]] Result<std::string> read_memory(std::uint32_t pid, std::uint64_t address,
                                                  std::uint64_t bytes) override;
    [[nodiscard]] Result<ProcessContext> process_context(std::uint32_t pid) override;

  private:
    struct Place {
        UniqueFd fd;  // O_PATH
        CodeFileIdentity identity;
    };
    [[nodiscard]] Result<Place> find(const NamedMapping& mapping);
    [[nodiscard]] Result<Place> find_mapped(const NamedMapping& mapping);
    [[nodiscard]] Result<Place> find_program(std::uint32_t pid);
    [[nodiscard]] Result<OpenedFile> reopen(const Result<Place>& place) const;
    [[nodiscard]] Result<Place> find_by_path(const std::filesystem::path& process,
                                             const std::filesystem::path& root,
                                             const NamedMapping& mapping);
    [[nodiscard]] Result<Place> place_of(UniqueFd fd, const std::filesystem::path& process);
    [[nodiscard]] Result<UniqueFd> memory_of(std::uint32_t pid) const;
    [[nodiscard]] std::filesystem::path folder_of(std::uint32_t pid) const {
        return proc_root_ / std::to_string(pid);
    }

    std::filesystem::path proc_root_;
    MayOpen may_open_;
    MountFinder mounts_;
};

// Sets the inspector for ProcessScan and CodeModules of this process. nullptr (the default) means
// that they inspect directly. It must outlive its use. Call it before threads start.
void inspect_processes_by(ProcessInspector* inspector);
[[nodiscard]] ProcessInspector* process_inspector();

}  // namespace lagtrap::daemon
