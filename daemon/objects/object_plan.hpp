// Which functions of a running process create, use and release objects, by rules; and where its allocator and its exceptions are.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bpf/objects.h"
#include "calls/object_rule.hpp"
#include "calls/object_stream.hpp"
#include "core/result.hpp"
#include "daemon/calls/call_plan.hpp"
#include "daemon/processes/command_line_mask.hpp"
#include "daemon/processes/process_files.hpp"
#include "daemon/processes/process_inspector.hpp"

namespace lagtrap::daemon {

struct ObjectWishes {
    std::uint32_t pid = 0;
    std::optional<uid_t> owner;  // as TraceTarget has it
    std::vector<calls::ObjectRule> rules;
    std::string include;                        // a regular expression of names of functions; empty: all
    std::string exclude;                        // the same; empty: none
    bool memory = true;                         // count what calls take and give back
    CommandLines texts = CommandLines::Masked;  // of titles, errors and messages (shown_text())
};

struct MemoryFunction {
    std::uint64_t entry = 0;  // in the file
    std::string name;
    lagtrap_memory_kind kind = LAGTRAP_MEMORY_TAKE;
    std::string first_code;
    __u8 size_from = 0;                         // register with the size that is asked for
    bool size_times = false;                    // times the second argument
    std::vector<binaries::FunctionExit> exits;  // of what exceptions may leave; empty: a return probe serves
};

struct ObjectPlan {
    std::vector<CallFile> files;
    std::vector<PlannedFunction> functions;          // all of level 1
    std::vector<lagtrap_object_function> described;  // as many
    std::uint32_t memory_file = 0;
    std::vector<MemoryFunction> memory;  // empty: it is not counted
    bool memory_by_request = false;      // its blocks do not tell their size
    struct Place {
        std::uint32_t file = 0;
        std::uint64_t entry = 0;
    };
    std::vector<Place> throws, catches;
    struct Jump {
        std::uint32_t function = 0;
        std::uint64_t offset = 0;  // in the function's file
    };
    std::vector<Jump> jumps;       // to the allocator, by which functions end
    std::uint64_t errno_slot = 0;  // address in the process; 0: not known
    calls::ObjectsStarted told;    // without times
};

class ObjectPlanner {
  public:
    // Both outlive it. Once `given_up` is set, what is asked ends soon, with an error.
    ObjectPlanner(ProcessInspector& inspector, const std::atomic<bool>& given_up);
    ~ObjectPlanner();

    // Errors: NotFound: no such process; Invalid: a regular expression; Unsupported: no function of the rules is there, or none
    // can be watched, with the reason.
    [[nodiscard]] Result<ObjectPlan> plan(const ObjectWishes& wishes);
    // Function and file of an address of the process's code: "load_page (shop)"; empty: not known. After plan().
    [[nodiscard]] std::string name_of(std::uint64_t address);

  private:
    struct Search;
    std::unique_ptr<Search> search_;
};

}  // namespace lagtrap::daemon
