// The files that a process has mapped as code, opened when they are first needed.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

// A place in the code of a process's files.
struct CodePlace {
    std::uint32_t file = 0;
    std::uint64_t offset = 0;
    friend auto operator<=>(const CodePlace&, const CodePlace&) = default;
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
    // The name of the file without its folder.
    [[nodiscard]] std::string name_of(std::uint32_t file) const;
    // Functions with this name, as for ProgramFile::find_functions(); empty if the file cannot be
    // read.
    [[nodiscard]] std::vector<CodePlace> find(std::uint32_t file, std::string_view name);
    // The code at an address of the process, and the reverse; nullopt if there is none.
    [[nodiscard]] std::optional<CodePlace> place_at(std::uint64_t address) const;
    [[nodiscard]] std::optional<std::uint64_t> address_of(const CodePlace& place) const;
    // From now on, accepts functions of Go.
    void take_go() { takes_go_ = true; }
    // For at most functions_of_question entries. Unsupported: it is a Go program, and take_go() was
    // not called.
    [[nodiscard]] Result<std::vector<binaries::FunctionCalls>> calls_of(
        std::uint32_t file, const std::vector<std::uint64_t>& entries);
    // Calls `take` with each part of the entries that calls_of() accepts, and its result. Returns
    // its first error.
    template <typename Take>
    [[nodiscard]] Status for_each_part(std::uint32_t file,
                                       const std::vector<std::uint64_t>& entries,
                                       const Take& take) {
        for (std::size_t at = 0; at < entries.size(); at += functions_of_question) {
            const auto from = entries.begin() + static_cast<std::ptrdiff_t>(at);
            const auto count = std::min(functions_of_question, entries.size() - at);
            const std::vector<std::uint64_t> part(from, from + static_cast<std::ptrdiff_t>(count));
            TRY(take(part, calls_of(file, part)));
        }
        return success();
    }
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
