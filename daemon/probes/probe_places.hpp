// Finds the addresses to probe for a marker in a program or library.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "binaries/code/function_places.hpp"
#include "binaries/elf/program_file.hpp"
#include "binaries/reader/file_reader.hpp"
#include "bpf/event_monitor.h"
#include "core/result.hpp"
#include "daemon/probes/overhead_probes.hpp"
#include "daemon/probes/watched_file.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct ProbePlaces {
    std::shared_ptr<const WatchedFile> file;  // the file that was read; the offsets belong to it
    std::string build_id;                     // of the file, in lower-case hexadecimal
    std::vector<unsigned long> offsets;       // in the file
    // in the file, one per offset, 0 for none; empty if no probe has one
    std::vector<unsigned long> semaphores;
    // true for any of them; see ProgramFile::is_writable_twice()
    bool semaphore_writable_twice = false;
    std::vector<lagtrap_site> arguments;        // one per offset; empty if no argument is wanted
    std::vector<binaries::FunctionExit> exits;  // one per offset; empty if every hit counts
    // the kernel's return probes at the entries; false: plain probes
    bool return_probe = false;
    ProbeKind kind = ProbeKind::Simple;  // of the first probe
    // For Go functions, see FunctionPlaces; 0 for others.
    std::uint32_t goid_offset = 0, frame_offset = 0;
    bool arguments_on_stack = false;
};

// Encodes an argument for the BPF programs. It must be readable().
[[nodiscard]] lagtrap_argument argument_at(const binaries::UsdtArgument& argument);

// The wanted arguments of a USDT probe, counted from 0; LAGTRAP_NO_ARGUMENT if none.
struct WantedArguments {
    std::uint16_t key = LAGTRAP_NO_ARGUMENT;
    std::uint16_t begin_time = LAGTRAP_NO_ARGUMENT;
    std::uint16_t trace = LAGTRAP_NO_ARGUMENT;
};

// Reads each file once for all expected questions, and caches the answers. Use it for one arming
// only, because files change.
class ProbePlanner {
  public:
    // Opens the file of a path for probing. Must return the same file as long as the planner is
    // used.
    using OpenFile =
        std::function<Result<std::shared_ptr<const WatchedFile>>(const std::string& path)>;
    explicit ProbePlanner(OpenFile open) : open_(std::move(open)) {}

    // Announces that the markers of this event will be queried.
    void expect(const settings::Event& event);
    // Limits the time of the following queries.
    void use(const binaries::ReadBudget& budget) { budget_ = budget; }

    [[nodiscard]] Result<ProbePlaces> function_places(const settings::Marker& marker);
    // For sites with fewer arguments than wanted, the others are 0. ErrorKind::Unsupported: a
    // wanted argument is of a kind that cannot be read.
    [[nodiscard]] Result<ProbePlaces> usdt_places(const settings::Marker& marker,
                                                  WantedArguments wanted);

  private:
    struct OpenProgram {
        std::shared_ptr<const WatchedFile> file;
        binaries::ProgramFile program;
    };
    [[nodiscard]] Result<OpenProgram> open(const std::string& binary) const;
    [[nodiscard]] Result<OpenProgram*> program(const std::string& binary);
    [[nodiscard]] Result<binaries::FunctionPlaces> answer_to(const settings::Marker& marker);

    using Query = std::pair<std::string, bool>;  // function name; whether its return is probed
    struct Binary {
        std::vector<Query> expected;
        std::map<Query, Result<binaries::FunctionPlaces>> answers;
    };
    OpenFile open_;
    binaries::ReadBudget budget_;
    std::map<std::string, Binary> binaries_;
    std::map<std::string, Result<OpenProgram>> programs_;
};

}  // namespace lagtrap::daemon
