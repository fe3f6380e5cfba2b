// The process that parses bundles: this program, started again, which drops all privileges it does
// not need before it reads the first byte. A hostile bundle cannot harm anything but this process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "analysis/machine_timeline.hpp"
#include "core/result.hpp"
#include "formats/stack_profile.hpp"

namespace lagtrap::server {

// A worker's task.
struct ParseTask {
    enum class Kind { Bundle, SystemFile, Quality, Trace, Timeline, Machine, Export };
    Kind kind = Kind::Bundle;
    // for Timeline, Machine and Export: number of the delay
    std::uint32_t delay = 0;
    std::string format{};                                 // for Export: name of a format
    formats::TimeChoice time = formats::TimeChoice::All;  // for Export
    analysis::MachineWindow window{};                     // for Machine

    // The worker's argument: "bundle", "system", "quality", "trace", "timeline:7",
    // "machine:7:-1000:5000:800" or "export:7:pprof:on-cpu".
    [[nodiscard]] std::string text() const;
    [[nodiscard]] static Result<ParseTask> parse(std::string_view text);
};

// The worker's main function: reads the bundle from descriptor 3 and writes the answer to standard
// output. Limited by a seccomp filter to reading, writing and allocating, and to 2 GiB of memory,
// 60 s of CPU time and files of size 0.
[[nodiscard]] int run_parse_worker(std::string_view task);

// A running worker. Destroying it kills it. One thread at a time.
class ParseWorker {
  public:
    // `bundle` is read from its current position and may be closed afterwards. Starts `program`;
    // empty: this program.
    [[nodiscard]] static Result<std::unique_ptr<ParseWorker>> start(
        int bundle, const ParseTask& task, const std::string& program = {});
    ParseWorker(const ParseWorker&) = delete;
    ParseWorker& operator=(const ParseWorker&) = delete;
    ~ParseWorker();

    // The next piece of the answer; 0 at its end, if the worker succeeded. ErrorKind::Invalid: the
    // bundle is invalid (the message says how); System: the worker crashed; Timeout: it took more
    // than two minutes in all.
    [[nodiscard]] Result<std::size_t> read(char* into, std::size_t size);
    // The whole answer; ErrorKind::TooLarge beyond the limit.
    [[nodiscard]] Result<std::string> read_all(std::size_t limit_bytes);

  private:
    ParseWorker(int process, int pipe, std::uint64_t deadline_ns)
        : process_(process), pipe_(pipe), deadline_ns_(deadline_ns) {}
    [[nodiscard]] Result<std::size_t> read_some(char* into, std::size_t size);
    [[nodiscard]] Status end();

    int process_;
    int pipe_;
    std::uint64_t deadline_ns_;
    bool answer_begun_ = false;
};

}  // namespace lagtrap::server
