// A trace of calls or functions of a recording: what it tells goes line by line into a file of the capture, for the merge.
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

// Free to be used from any thread.
class CaptureLines : public AnswerLines {
  public:
    // Makes the file. Errors: it cannot be made.
    [[nodiscard]] static Result<std::shared_ptr<CaptureLines>> create(const std::filesystem::path& capture,
                                                                      const trace::LinesFile& kind);

    // Beyond the file's limit lines are left out; the trace counts them.
    bool say(const std::string& line) override;
    void end(const std::string& line) override;
    [[nodiscard]] bool is_unwanted() const override { return over_.load(); }

    // Why the trace ended with an error, once it has; else empty.
    [[nodiscard]] std::string refusal();
    [[nodiscard]] const char* what() const { return kind_.what; }

    // The recording is over: the trace may end.
    void note_over() { over_.store(true); }
    // The same. `then` is called once, when nothing is written any more: now, on this thread, or at the trace's
    // end, on its own.
    void finish(std::function<void()> then);

  private:
    CaptureLines(UniqueFd file, const trace::LinesFile& kind) : kind_(kind), file_(std::move(file)) {}
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
