// Where the records of a recording go: into memory while it has no folder, then each into the log of its kind.
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

// Not for several threads at once.
class CaptureLogs {
  public:
    // `held_limit_bytes`: so much is kept in memory, and of what comes then nothing more.
    explicit CaptureLogs(std::uint64_t held_limit_bytes) : held_limit_bytes_(held_limit_bytes) {}

    // Opens the three logs in `directory`, which exists. What is held stays so until take_held().
    [[nodiscard]] Status open(const std::filesystem::path& directory, const trace::Session& session);
    [[nodiscard]] bool are_open() const { return rundown_.has_value(); }

    // Any record that a recording may have. What cannot be written is not kept; the first failure is told by failure().
    void write(const lagtrap_record* record);
    void write(const RecordBuffer& records);
    // What was held; it is nowhere else then.
    [[nodiscard]] RecordBuffer take_held();
    // No more is held: it is as much as it may be, `beside_bytes` held elsewhere for the same recording included.
    [[nodiscard]] bool is_full() const { return is_full_; }
    void note_held_beside(std::size_t bytes) { beside_bytes_ = bytes; }

    [[nodiscard]] Status flush();
    [[nodiscard]] const Status& failure() const { return failure_; }
    // Bytes of the logs, and of what has gathered for them.
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
