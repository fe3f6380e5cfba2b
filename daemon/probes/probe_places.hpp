// Where a marker in a program or library is probed.
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
#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/probes/overhead_probes.hpp"
#include "daemon/probes/watched_file.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct ProbePlaces {
    std::shared_ptr<const WatchedFile> file;    // that was read, and that the offsets are good for
    std::string build_id;                       // of it, in lower-case hexadecimal
    std::vector<unsigned long> offsets;         // in the file
    std::vector<unsigned long> semaphores;      // in the file, one for each offset, 0: none; empty: none at all
    bool semaphore_writable_twice = false;      // of one of them: ProgramFile::is_writable_twice()
    std::vector<lagtrap_site> arguments;        // one for each offset; empty: none has an argument that is wanted
    std::vector<binaries::FunctionExit> exits;  // one for each offset; empty: each counts each time
    bool return_probe = false;                  // of the kernel's, at the entries; else plain probes
    ProbeKind kind = ProbeKind::Simple;         // of the first one
    // Of a function of Go, as FunctionPlaces has them; 0: another function.
    std::uint32_t goid_offset = 0, frame_offset = 0;
    bool arguments_on_stack = false;
};

// What the programs in the kernel are told of it. It is readable().
[[nodiscard]] lagtrap_argument argument_at(const binaries::UsdtArgument& argument);

// Which arguments of a USDT probe are wanted, counted from 0; LAGTRAP_NO_ARGUMENT: none.
struct WantedArguments {
    std::uint16_t key = LAGTRAP_NO_ARGUMENT;
    std::uint16_t begin_time = LAGTRAP_NO_ARGUMENT;
    std::uint16_t trace = LAGTRAP_NO_ARGUMENT;
};

// Whatever is asked of one file is read at once. What was read is kept: for one arming, as files change.
class ProbePlanner {
  public:
    // Gives the file of a path as it is to be probed. The same one for as long as the planner is used.
    using OpenFile = std::function<Result<std::shared_ptr<const WatchedFile>>(const std::string& path)>;
    explicit ProbePlanner(OpenFile open) : open_(std::move(open)) {}

    // The markers of this event will be asked for.
    void expect(const settings::Event& event);
    // What is asked from now on may use so much.
    void use(const binaries::ReadBudget& budget) { budget_ = budget; }

    [[nodiscard]] Result<ProbePlaces> function_places(const settings::Marker& marker);
    // A site that has fewer arguments than are wanted tells 0 for those. ErrorKind::Unsupported: one that is wanted is of
    // a kind that is not read.
    [[nodiscard]] Result<ProbePlaces> usdt_places(const settings::Marker& marker, WantedArguments wanted);

  private:
    struct OpenProgram {
        std::shared_ptr<const WatchedFile> file;
        binaries::ProgramFile program;
    };
    [[nodiscard]] Result<OpenProgram> open(const std::string& binary) const;
    [[nodiscard]] Result<OpenProgram*> program(const std::string& binary);
    [[nodiscard]] Result<binaries::FunctionPlaces> answer_to(const settings::Marker& marker);

    using Query = std::pair<std::string, bool>;  // a function's name, and whether its return is meant
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
