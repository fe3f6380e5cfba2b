// The rundown of managed and just-in-time compiled programs: copies the files that describe their
// generated code into the capture's folder (trace/logs/code_files.hpp). The merge parses them, not
// this process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bpf/records.h"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/code_file_copier.hpp"
#include "trace/logs/code_files.hpp"

namespace lagtrap::daemon {

struct CodeRundownLimits {
    std::size_t processes = 256;  // each needs two descriptors: its /tmp and its jitdump
    std::uint64_t file_bytes = trace::code_file_limit_bytes;
    std::uint64_t total_bytes = 256ULL << 20;
};

struct CodeRundownCounts {
    std::uint64_t files = 0;  // copied
    std::uint64_t bytes = 0;
    // Not copied:
    std::uint64_t processes_left_out = 0;  // beyond the limit
    // Of another user, older than the process, not a regular file, or not on a local file system.
    std::uint64_t files_refused = 0;
    std::uint64_t files_cut = 0;     // beyond the limit per file or in total
    std::uint64_t files_failed = 0;  // not readable or writable, or not in time

    [[nodiscard]] std::uint64_t lost() const {
        return processes_left_out + files_refused + files_cut + files_failed;
    }
};

// Use it on one thread at a time. Does not open files of processes itself (code_file_copier.hpp).
class CodeRundown {
  public:
    // `capture_directory` must exist. Its subfolder `code` is created with the first copy.
    explicit CodeRundown(std::filesystem::path capture_directory, CodeRundownLimits limits = {})
        : directory_(std::move(capture_directory)),
          limits_(limits),
          copier_(code_file_copier() ? *code_file_copier() : own_copier_) {}

    // Pass every record of the rundown log soon after it was made; most are ignored cheaply. A
    // process is followed from its first mapping of executable memory without a file (or of a
    // jitdump), so that its files can be read after its end. They are copied when it ends or starts
    // another program, which takes some milliseconds per 10 MB.
    void take(const lagtrap_record* record);

    // Ends the rundown: copies the files of all followed processes and stops following them.
    void finish();

    [[nodiscard]] const CodeRundownCounts& counts() const { return counts_; }

  private:
    struct Process {
        ProcessFacts facts;
        std::uint64_t first_ns = 0;  // its first mapping that was seen
        UniqueFd tmp;                // O_PATH; invalid if there is none
        UniqueFd jitdump;            // open for reading
        [[nodiscard]] CodeFileCopier::Owner owner(std::uint32_t pid) const {
            return {pid, facts.party};
        }
    };

    void take_mapping(const lagtrap_mapping& mapping);
    Process* follow(std::uint32_t pid, std::uint64_t at_ns);
    void leave(std::uint32_t pid, std::uint64_t at_ns);
    void copy_files(std::uint32_t pid, Process& process);
    void copy(const Result<OpenedCodeFile>& file, const trace::CodeFileName& name,
              const Process& process);
    Result<std::uint64_t> write_copy(int from, std::uint64_t limit_bytes,
                                     const trace::CodeFileName& name, const Process& process);
    void count_failure(const Error& error);

    std::filesystem::path directory_;
    CodeRundownLimits limits_;
    DirectCodeFileCopier own_copier_;
    CodeFileCopier& copier_;
    std::map<std::uint32_t, Process> processes_;
    std::set<std::uint32_t> left_out_;  // beyond the limit; never followed
    CodeRundownCounts counts_;
};

}  // namespace lagtrap::daemon
