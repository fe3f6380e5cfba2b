// The process that parses bundles: the program itself, started anew, that gives up everything it does not need before it
// reads the first byte. A bundle that breaks it breaks nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "analysis/machine_timeline.hpp"
#include "core/result.hpp"
#include "formats/stack_profile.hpp"

namespace lagtrap::server {

// What a worker is asked for.
struct ParseTask {
    enum class Kind { Bundle, SystemFile, Quality, Trace, Timeline, Machine, Export };
    Kind kind = Kind::Bundle;
    std::uint32_t delay = 0;                              // of Timeline, Machine and Export: number of the delay
    std::string format{};                                 // of Export: name of a form
    formats::TimeChoice time = formats::TimeChoice::All;  // of Export
    analysis::MachineWindow window{};                     // of Machine

    // "bundle", "system", "quality", "trace", "timeline:7", "machine:7:-1000:5000:800",
    // "export:7:pprof:on-cpu": as it stands on the worker's command line.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] static Result<ParseTask> parse(std::string_view text);
};

// The worker's own main function: reads the bundle from descriptor 3, writes the answer to standard output. Confined by
// a seccomp filter that lets it read, write and allocate, 2 GiB of memory, 60 seconds of CPU, no file of any size.
[[nodiscard]] int run_parse_worker(std::string_view task);

// A worker that runs. Destroying it kills it. One thread at a time.
class ParseWorker {
  public:
    // `bundle` is read from where it stands, and not needed afterwards. `program` is started; empty: this program itself.
    [[nodiscard]] static Result<std::unique_ptr<ParseWorker>> start(int bundle, const ParseTask& task,
                                                                    const std::string& program = {});
    ParseWorker(const ParseWorker&) = delete;
    ParseWorker& operator=(const ParseWorker&) = delete;
    ~ParseWorker();

    // The answer piece by piece; 0: its end, and the worker ended well. ErrorKind::Invalid: what is wrong with the
    // bundle; ErrorKind::System: the worker broke; ErrorKind::Timeout: it took longer than two minutes in all.
    [[nodiscard]] Result<std::size_t> read(char* into, std::size_t size);
    // All of it; ErrorKind::TooLarge beyond the limit.
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
