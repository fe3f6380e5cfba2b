// Writes the lines of a trace of calls, functions or objects into a file of the capture, for the
// merge.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/control/answer_lines.hpp"
#include "trace/logs/lines_file.hpp"

namespace lagtrap::daemon {

// Thread-safe.
class CaptureLines : public AnswerLines {
  public:
    // Creates the file. Errors: the file cannot be created.
    [[nodiscard]] static Result<std::shared_ptr<CaptureLines>> create(
        const std::filesystem::path& capture, const trace::LinesFile& kind);

    // Drops lines beyond the file's size limit; the trace counts them.
    bool say(const std::string& line) override;
    void end(const std::string& line) override;
    [[nodiscard]] bool is_unwanted() const override { return over_.load(); }

    // The reason if the trace ended with an error; otherwise empty.
    [[nodiscard]] std::string refusal();
    [[nodiscard]] const char* what() const { return kind_.what; }

    // Tells the trace that the recording is over, so it may end.
    void note_over() { over_.store(true); }
    // Does what note_over() does, and calls `then` once after the last line is written: now, on
    // this thread, or when the trace ends, on the trace's thread.
    void finish(std::function<void()> then);

  private:
    CaptureLines(UniqueFd file, const trace::LinesFile& kind)
        : kind_(kind), file_(std::move(file)) {}
    bool write(const std::string& line, std::uint64_t limit_bytes);

    const trace::LinesFile kind_;
    std::atomic<bool> over_{false};
    std::mutex mutex_;
    UniqueFd file_;
    std::uint64_t written_bytes_ = 0;
    bool ended_ = false;
    std::string refusal_;
    std::function<void()> then_;
};

}  // namespace lagtrap::daemon
