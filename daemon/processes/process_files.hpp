// The files that a process has mapped as code, opened when they are first needed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "binaries/code/function_calls.hpp"
#include "binaries/elf/program_file.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

struct CallFile {
    std::string path;
    std::shared_ptr<const UniqueFd> file;
};

// Use it on one thread. `inspector` and `given_up` must outlive it. Once `given_up` is set, running
// calls soon end with an error.
class ProcessFiles {
  public:
    static constexpr auto timeout = std::chrono::seconds(60);
    static constexpr std::size_t functions_of_question = 1000;

    ProcessFiles(ProcessInspector& inspector, const std::atomic<bool>& given_up)
        : inspector_(inspector), given_up_(given_up) {}

    struct File {
        CallFile file;
        NamedMapping mapping;
        std::optional<binaries::ProgramFile> program;  // opened when first needed
        std::optional<Error> problem;
    };
    struct Part {  // a part of the process's memory
        lagtrap_mapping mapping;
        std::uint32_t file;
    };

    // Restarts the time limit, `timeout`.
    void begin_anew() { until_ = std::chrono::steady_clock::now() + timeout; }
    // The first file is the program. Errors: NotFound.
    [[nodiscard]] Status read(std::uint32_t pid);
    [[nodiscard]] const std::vector<File>& files() const { return files_; }
    [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
    [[nodiscard]] Result<binaries::ProgramFile*> program(std::uint32_t file);
    // From now on, accepts functions of Go.
    void take_go() { takes_go_ = true; }
    // For at most functions_of_question entries. Unsupported: it is a Go program, and take_go() was
    // not called.
    [[nodiscard]] Result<std::vector<binaries::FunctionCalls>> calls_of(
        std::uint32_t file, const std::vector<std::uint64_t>& entries);
    // Timeout: nobody waits any more, or it takes too long.
    [[nodiscard]] Status still_wanted() const;
    // All files; those that were not needed have no descriptor.
    [[nodiscard]] std::vector<CallFile> opened() const;

  private:
    ProcessInspector& inspector_;
    const std::atomic<bool>& given_up_;
    bool takes_go_ = false;
    std::chrono::steady_clock::time_point until_;
    std::vector<File> files_;
    std::vector<Part> parts_;  // by address
};

}  // namespace lagtrap::daemon
