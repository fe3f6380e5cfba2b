// The three logs of a capture: a header, then blocks of records with a checksum each. A log is usable up
// to its last whole block, whatever happened to the process that wrote it. trace/logs/log_format.hpp has the bytes.
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

// Appends records; one thread at a time. Records gather into a block, which is written when it is full or by flush().
class LogWriter {
  public:
    // Makes `directory`/log_file_name(kind); an error if it exists. `session_id` is the capture's UUID.
    [[nodiscard]] static Result<LogWriter> create(const std::filesystem::path& directory, LogKind kind,
                                                  const std::string& session_id, const ClockSnapshot& clocks);

    // `record` begins with a lagtrap_record whose size_bytes counts all of it (at most log_block_bytes).
    // When the block that is full cannot be written (no space), the error is returned, the record is not kept,
    // the file still ends at a whole block and a later call tries again.
    [[nodiscard]] Status append(const lagtrap_record* record);
    // Writes what has gathered to the file (not synced: a power failure may cost the capture, a crash does not).
    [[nodiscard]] Status flush();
    // Bytes of the file and of what has gathered.
    [[nodiscard]] std::uint64_t size_bytes() const { return written_bytes_ + block_.size(); }

  private:
    UniqueFd fd_;
    std::vector<char> block_;  // payload of the block that gathers
    std::uint32_t block_records_ = 0;
    std::uint64_t written_bytes_ = 0;
};

struct LogSummary {
    LogKind kind = LogKind::User;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    bool partial = false;  // ended in a torn or damaged block; what came before it was read
    ClockSnapshot clocks;
    std::string session_id;
};

// Reads a log from its start, block by block, in bounded memory. Every record handed out is whole: its size
// lies within the block and is at least that of its type's struct with the trailing data it announces.
// Unknown types are skipped. Errors: not a log, other version, unreadable; damage at the end is no error.
class LogReader {
  public:
    [[nodiscard]] static Result<LogReader> open(const std::filesystem::path& path);

    // The next record, or nullptr at the end. Valid until the next call.
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
