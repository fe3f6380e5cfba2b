// Stores the records of a recording: in memory while there is no folder, then each in the log of
// its kind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "bpf/records.h"
#include "core/result.hpp"
#include "daemon/processes/record_buffer.hpp"
#include "trace/logs/log.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::daemon {

// Not thread-safe.
class CaptureLogs {
  public:
    // `held_limit_bytes` limits the records in memory; later ones are dropped.
    explicit CaptureLogs(std::uint64_t held_limit_bytes) : held_limit_bytes_(held_limit_bytes) {}

    // Opens the three logs in `directory`, which must exist. Records in memory stay there until
    // take_held().
    [[nodiscard]] Status open(const std::filesystem::path& directory,
                              const trace::Session& session);
    [[nodiscard]] bool are_open() const { return rundown_.has_value(); }

    // Accepts any record of a recording. Records that cannot be written are dropped; failure() has
    // the first error.
    void write(const lagtrap_record* record);
    void write(const RecordBuffer& records);
    // Returns the records in memory and removes them.
    [[nodiscard]] RecordBuffer take_held();
    // True if no more is kept in memory: the limit is reached, including `beside_bytes` that others
    // hold for the same recording.
    [[nodiscard]] bool is_full() const { return is_full_; }
    void note_held_beside(std::size_t bytes) { beside_bytes_ = bytes; }

    [[nodiscard]] Status flush();
    [[nodiscard]] const Status& failure() const { return failure_; }
    // Size of the logs, including what is still buffered.
    [[nodiscard]] std::uint64_t size_bytes() const;

  private:
    [[nodiscard]] std::optional<trace::LogWriter>& log_of(const lagtrap_record* record);
    void hold(const lagtrap_record* record);

    std::uint64_t held_limit_bytes_;
    std::size_t beside_bytes_ = 0;
    RecordBuffer held_;
    bool is_full_ = false;
    std::optional<trace::LogWriter> user_, kernel_, rundown_;
    Status failure_ = success();
};

}  // namespace lagtrap::daemon
