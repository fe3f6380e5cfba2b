// Selects the functions of a running process that create, use and release objects, according to
// rules, and finds its allocator and exception handling.
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
    std::optional<uid_t> owner;  // as in TraceTarget
    std::vector<calls::ObjectRule> rules;
    std::string include;                        // regular expression for function names; empty: all
    std::string exclude;                        // likewise; empty: none
    bool memory = true;                         // count memory that calls allocate and free
    CommandLines texts = CommandLines::Masked;  // for titles, errors and messages (shown_text())
};

struct MemoryFunction {
    std::uint64_t entry = 0;  // in the file
    std::string name;
    lagtrap_memory_kind kind = LAGTRAP_MEMORY_TAKE;
    std::string first_code;
    __u8 size_from = 0;                         // register with the requested size
    bool size_times = false;                    // multiply by the second argument
    std::vector<binaries::FunctionExit> exits;  // if exceptions may pass; empty: use a return probe
};

struct ObjectPlan {
    std::vector<CallFile> files;
    std::vector<PlannedFunction> functions;          // all at level 1
    std::vector<lagtrap_object_function> described;  // in the order of `functions`
    std::uint32_t memory_file = 0;
    std::vector<MemoryFunction> memory;  // empty if not counted
    bool memory_by_request = false;      // the allocator's blocks do not have their size
    std::vector<CodePlace> throws, catches;
    struct Jump {
        std::uint32_t function = 0;
        std::uint64_t offset = 0;  // in the function's file
    };
    std::vector<Jump> jumps;         // jumps to the allocator that end functions
    std::uint64_t errno_slot = 0;    // address in the process; 0 if unknown
    calls::ObjectsStarted reported;  // without times
};

class ObjectPlanner {
  public:
    // Both must outlive it. Once `given_up` is set, running calls soon end with an error.
    ObjectPlanner(ProcessInspector& inspector, const std::atomic<bool>& given_up);
    ~ObjectPlanner();

    // Errors: NotFound (no such process), Invalid (a regular expression), Unsupported (no function
    // matches the rules or can be watched; the message has the reason).
    [[nodiscard]] Result<ObjectPlan> plan(const ObjectWishes& wishes);
    // Function and file at an address in the process: "load_page (shop)"; empty if unknown. Call it
    // after plan().
    [[nodiscard]] std::string name_of(std::uint64_t address);

  private:
    struct Search;
    std::unique_ptr<Search> search_;
};

}  // namespace lagtrap::daemon
