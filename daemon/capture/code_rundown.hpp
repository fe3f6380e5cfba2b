// The rundown of managed and just-in-time compiled programs: copies what they tell of the code they made into the
// capture's folder (trace/logs/code_files.hpp). Only copies; what the files say is read by the merge.
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
    std::size_t processes = 256;  // of each two descriptors are held: its /tmp and its jitdump
    std::uint64_t file_bytes = trace::code_file_limit_bytes;
    std::uint64_t total_bytes = 256ULL << 20;
};

struct CodeRundownCounts {
    std::uint64_t files = 0;  // copied
    std::uint64_t bytes = 0;
    // What is missing.
    std::uint64_t processes_left_out = 0;  // beyond the limit
    std::uint64_t files_refused = 0;       // another's, older than the process, no plain file, on no local file system
    std::uint64_t files_cut = 0;           // beyond the limit of a file or of all
    std::uint64_t files_failed = 0;        // could not be read or written, or not in time

    [[nodiscard]] std::uint64_t lost() const { return processes_left_out + files_refused + files_cut + files_failed; }
};

// Used by one thread at a time. Opens no file of the processes itself (code_file_copier.hpp).
class CodeRundown {
  public:
    // `capture_directory` exists; its `code` is made with the first copy.
    explicit CodeRundown(std::filesystem::path capture_directory, CodeRundownLimits limits = {})
        : directory_(std::move(capture_directory)),
          limits_(limits),
          copier_(code_file_copier() ? *code_file_copier() : own_copier_) {}

    // To be told of every record of the rundown log, soon after it was made; most cost nothing. From the first mapping
    // of executable memory that is no file (or of a jitdump) on, the process is followed: its files can be read though
    // it ends. When it ends, or begins another program, they are copied: some milliseconds per 10 MB.
    void take(const lagtrap_record* record);

    // At the end of the capture: copies the files of all processes that are followed, and follows none any longer.
    void finish();

    [[nodiscard]] const CodeRundownCounts& counts() const { return counts_; }

  private:
    struct Process {
        ProcessFacts facts;
        std::uint64_t first_ns = 0;  // its mapping that was seen first
        UniqueFd tmp;                // O_PATH; not valid where it has none
        UniqueFd jitdump;            // for reading
        [[nodiscard]] CodeFileCopier::Owner owner(std::uint32_t pid) const { return {pid, facts.party}; }
    };

    void take_mapping(const lagtrap_mapping& mapping);
    Process* follow(std::uint32_t pid, std::uint64_t at_ns);
    void leave(std::uint32_t pid, std::uint64_t at_ns);
    void copy_files(std::uint32_t pid, Process& process);
    void copy(const Result<OpenedCodeFile>& file, const trace::CodeFileName& name, const Process& process);
    Result<std::uint64_t> write_copy(int from, std::uint64_t limit_bytes, const trace::CodeFileName& name,
                                     const Process& process);
    void count_failure(const Error& error);

    std::filesystem::path directory_;
    CodeRundownLimits limits_;
    DirectCodeFileCopier own_copier_;
    CodeFileCopier& copier_;
    std::map<std::uint32_t, Process> processes_;
    std::set<std::uint32_t> left_out_;  // not followed, for good
    CodeRundownCounts counts_;
};

}  // namespace lagtrap::daemon
