// Selects the functions that a call trace of a running process watches: what a function calls,
// level by level, according to its machine code and the process's linkage tables.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calls/call_stream.hpp"
#include "core/result.hpp"
#include "daemon/calls/planned_function.hpp"
#include "daemon/processes/process_files.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/trace_target.hpp"

namespace lagtrap::daemon {

inline constexpr unsigned max_call_levels = 32;

struct CallWishes {
    std::uint32_t pid = 0;
    std::optional<uid_t> owner;  // as in TraceTarget
    // as for ProgramFile::find_functions(); searched in the program, then in its libraries
    std::string function;
    // path or path pattern of the file with the function; empty: any file
    std::string binary;
    unsigned depth = 3;  // levels below the function
    std::string match;   // regular expression for names of functions or files; empty: all
    // only these functions, whoever calls them; empty: follow the calls
    std::vector<std::string> only;
};

// Where Go keeps what identifies a goroutine, as offsets in bytes; see binaries::FunctionPlaces.
struct GoPlace {
    std::uint32_t goid_offset = 0;  // 0: not a Go program
    std::uint32_t frame_offset = 0;
};

struct CallPlan {
    GoPlace go;  // of the first function; if set, all others are Go functions too
    std::vector<CallFile> files;
    std::vector<PlannedFunction> functions;  // level 0 first
    std::vector<calls::LeftOutFunction> refused;
    std::uint64_t refused_count = 0;
    std::uint64_t beyond_limit = 0;
    std::uint64_t indirect_calls = 0;
};

// Plans for one process as it is mapped now. Use it on one thread.
class CallPlanner {
  public:
    // `inspector` and `given_up` must outlive it. Once `given_up` is set, running calls soon end
    // with an error.
    CallPlanner(ProcessInspector& inspector, const std::atomic<bool>& given_up);
    ~CallPlanner();

    // Every error says what to do. NotFound: no loaded file has the function. Vanished.
    // Unsupported: the function cannot be watched; the message has the reason. Invalid: the regular
    // expression.
    [[nodiscard]] Result<CallPlan> plan(const CallWishes& wishes);
    struct Address {
        std::uint64_t address = 0;  // in the memory of the process
        std::uint32_t level = 0;    // level for a function that begins there
    };
    // Extends the plan of the last plan() by the functions that begin at these addresses, and by
    // what they call down to the plan's depth. Returns the numbers of the new functions at these
    // addresses. Addresses where no function begins are ignored.
    [[nodiscard]] Result<std::set<std::uint32_t>> add(const std::vector<Address>& addresses,
                                                      CallPlan& plan);

  private:
    struct Search;
    std::unique_ptr<Search> search_;
};

}  // namespace lagtrap::daemon
