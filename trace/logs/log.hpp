// Writes and reads the three logs of a capture. A log is a header and blocks of records, each block
// with a checksum. It stays usable up to its last complete block even if its writer crashed.
// trace/logs/log_format.hpp defines the bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "bpf/records.h"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::trace {

enum class LogKind : std::uint32_t { User = 1, Kernel = 2, Rundown = 3 };

// "user.log", "kernel.log", "rundown.log".
[[nodiscard]] const char* log_file_name(LogKind kind);

inline constexpr std::uint32_t log_version = 1;
inline constexpr std::size_t log_block_bytes = 256 * 1024;

// Appends records. They are collected into a block, which is written when it is full or on flush().
// Not thread-safe.
class LogWriter {
  public:
    // Creates `directory`/log_file_name(kind); fails if it exists. `session_id` is the capture's
    // UUID.
    [[nodiscard]] static Result<LogWriter> create(const std::filesystem::path& directory,
                                                  LogKind kind, const std::string& session_id,
                                                  const ClockSnapshot& clocks);

    // `record` starts with a lagtrap_record whose size_bytes covers all of it (at most
    // log_block_bytes). If a full block cannot be written (no space), append() returns the error
    // and drops the record. The file still ends at a complete block, and a later call retries.
    [[nodiscard]] Status append(const lagtrap_record* record);
    // Writes the collected records to the file. It does not sync: a crash loses nothing, a power
    // failure may lose the capture.
    [[nodiscard]] Status flush();
    // Bytes written, plus those still collected.
    [[nodiscard]] std::uint64_t size_bytes() const { return written_bytes_ + block_.size(); }

  private:
    UniqueFd fd_;
    std::vector<char> block_;  // payload of the current block
    std::uint32_t block_records_ = 0;
    std::uint64_t written_bytes_ = 0;
};

struct LogSummary {
    LogKind kind = LogKind::User;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    bool partial = false;  // ended in a torn or damaged block; everything before it was read
    ClockSnapshot clocks;
    std::string session_id;
};

// Reads a log from its start, block by block, in bounded memory. Every record it returns is
// complete: its size lies within the block and covers its type's struct and the trailing data it
// declares. Unknown types are skipped. Errors: not a log, unsupported version, unreadable. Damage
// at the end is not an error.
class LogReader {
  public:
    [[nodiscard]] static Result<LogReader> open(const std::filesystem::path& path);

    // Returns the next record, or nullptr at the end. Valid until the next call.
    [[nodiscard]] Result<const lagtrap_record*> next();
    [[nodiscard]] const LogSummary& summary() const { return summary_; }

  private:
    Result<bool> read_block();

    UniqueFd fd_;
    std::vector<char> block_;
    std::size_t position_ = 0;
    bool ended_ = false;
    LogSummary summary_;
};

}  // namespace lagtrap::trace
