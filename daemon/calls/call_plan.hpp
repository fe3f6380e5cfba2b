// Which functions of a running process a trace of calls watches, and where: what a function calls, level by level, as
// its machine code and the process's own table of other files' functions tell.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "binaries/code/function_calls.hpp"
#include "calls/call_stream.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/process_files.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/trace_target.hpp"

namespace lagtrap::daemon {

inline constexpr unsigned most_call_levels = 32;

struct CallWishes {
    std::uint32_t pid = 0;
    std::optional<uid_t> owner;  // as TraceTarget has it
    std::string function;  // as for ProgramFile::find_functions(); in the program, else in a library that it has loaded
    std::string binary;    // the file that has it: its path, or a pattern of paths; empty: whichever has it
    unsigned depth = 3;    // levels below it
    std::string match;     // a regular expression of names of functions or files; empty: all
    std::vector<std::string> only;  // these functions, wherever they are called from; empty: what is called
};

struct PlannedFunction {
    std::uint32_t file = 0;
    std::uint64_t entry = 0;  // of its first instruction, in the file
    std::string name;
    std::uint32_t level = 0;
    std::string first_code;
    std::vector<binaries::FunctionExit> exits;  // empty: return_probe
    bool return_probe = false;
    std::vector<binaries::IndirectCall> indirect;
    bool ends_elsewhere =
        false;  // it has exits that are watched by others: none of `exits` is no reason for return_probe
    std::uint64_t probed_entry = 0;  // where each call passes once, if that is not the first instruction; else 0
};

// Where a program of Go keeps what tells its goroutines, in bytes; as binaries::FunctionPlaces has them.
struct GoPlace {
    std::uint32_t goid_offset = 0;  // 0: it is no program of Go
    std::uint32_t frame_offset = 0;
};

struct CallPlan {
    GoPlace go;  // of the first function; then all others are of Go too
    std::vector<CallFile> files;
    std::vector<PlannedFunction> functions;  // those of level 0 first
    std::vector<calls::LeftOutFunction> refused;
    std::uint64_t refused_count = 0;
    std::uint64_t beyond_limit = 0;
    std::uint64_t indirect_calls = 0;
};

// One process as it is mapped now. One thread's.
class CallPlanner {
  public:
    // Both outlive it. Once `given_up` is set, what is asked ends soon, with an error.
    CallPlanner(ProcessInspector& inspector, const std::atomic<bool>& given_up);
    ~CallPlanner();

    // Errors, each with what to do: NotFound: no such function in what the process has loaded; Vanished; Unsupported: the
    // function cannot be watched, with the reason; Invalid: the regular expression.
    [[nodiscard]] Result<CallPlan> plan(const CallWishes& wishes);
    struct Address {
        std::uint64_t address = 0;  // of the process's memory
        std::uint32_t level = 0;    // for a function that begins there
    };
    // Adds functions that begin at these addresses, and what they call down to the plan's depth, as far as they are not in
    // it yet, to the plan of the last plan(). The numbers of those that begin there themselves. Addresses of none are left out.
    [[nodiscard]] Result<std::set<std::uint32_t>> add(const std::vector<Address>& addresses, CallPlan& plan);

  private:
    struct Search;
    std::unique_ptr<Search> search_;
};

}  // namespace lagtrap::daemon
