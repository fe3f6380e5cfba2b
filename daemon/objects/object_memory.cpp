#include "daemon/objects/object_memory.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "binaries/elf/program_file.hpp"
#include "core/text.hpp"
#include "daemon/calls/name_expressions.hpp"
#include "daemon/objects/object_exits.hpp"

namespace lagtrap::daemon {
namespace {

struct MemoryName {
    std::string_view name;
    lagtrap_memory_kind kind;
    __u8 size_from = 7;       // rdi; 6 is rsi, 2 is rdx
    bool size_times = false;  // rsi
    bool throws = false;
};
constexpr MemoryName memory_names[] = {
    {"malloc", LAGTRAP_MEMORY_TAKE},      {"calloc", LAGTRAP_MEMORY_TAKE, 7, true},
    {"memalign", LAGTRAP_MEMORY_TAKE, 6}, {"aligned_alloc", LAGTRAP_MEMORY_TAKE, 6},
    {"valloc", LAGTRAP_MEMORY_TAKE},      {"realloc", LAGTRAP_MEMORY_CHANGE, 6},
    {"free", LAGTRAP_MEMORY_GIVE},        {"posix_memalign", LAGTRAP_MEMORY_TAKE_BEHIND, 2}};
// For allocators that implement the C++ operators themselves, without malloc.
constexpr MemoryName operator_names[] = {
    {"_Znwm", LAGTRAP_MEMORY_TAKE, 7, false, true},
    {"_Znam", LAGTRAP_MEMORY_TAKE, 7, false, true},
    {"_ZnwmSt11align_val_t", LAGTRAP_MEMORY_TAKE, 7, false, true},
    {"_ZnamSt11align_val_t", LAGTRAP_MEMORY_TAKE, 7, false, true},
    {"_ZnwmRKSt9nothrow_t", LAGTRAP_MEMORY_TAKE},
    {"_ZnamRKSt9nothrow_t", LAGTRAP_MEMORY_TAKE},
    {"_ZdlPv", LAGTRAP_MEMORY_GIVE},
    {"_ZdaPv", LAGTRAP_MEMORY_GIVE},
    {"_ZdlPvm", LAGTRAP_MEMORY_GIVE},
    {"_ZdaPvm", LAGTRAP_MEMORY_GIVE},
    {"_ZdlPvSt11align_val_t", LAGTRAP_MEMORY_GIVE},
    {"_ZdaPvSt11align_val_t", LAGTRAP_MEMORY_GIVE},
    {"_ZdlPvmSt11align_val_t", LAGTRAP_MEMORY_GIVE},
    {"_ZdaPvmSt11align_val_t", LAGTRAP_MEMORY_GIVE}};
static_assert(std::size(memory_names) + std::size(operator_names) <= max_memory_functions);

class MemorySearch {
  public:
    MemorySearch(ProcessFiles& code, ObjectPlan& plan) : code_(code), plan_(plan) {}

    void find(bool wanted) {
        if (!wanted) {
            plan_.reported.memory = "not requested";
            return;
        }
        const auto allocator = find_allocator();
        if (!allocator) {
            plan_.reported.memory =
                "no allocator found: nothing in the process defines malloc and free";
            return;
        }
        if (fits("lib?san*", code_.name_of(*allocator))) {
            plan_.reported.memory =
                code_.name_of(*allocator) +
                " is the allocator, which walks the stack that return probes change";
            return;
        }
        plan_.memory_file = *allocator;
        plan_.memory_by_request = code_.find(*allocator, "gnu_get_libc_version").empty();
        for (const MemoryName& one : memory_names) add_memory(one);
        if (plan_.memory_by_request)
            for (const MemoryName& one : operator_names) add_memory(one);
        if (plan_.memory.empty())
            plan_.reported.memory = "the C library's allocator was not found";
        else if (plan_.memory_by_request)
            note(
                fmt::format("memory is that of {}, by requested sizes; freeing blocks allocated "
                            "before the trace, or by other calls, is not counted",
                            printable(code_.name_of(*allocator))));
    }

  private:
    // The allocator: malloc of the program, of a library that is not libc, or else of libc.
    std::optional<std::uint32_t> find_allocator() {
        std::optional<std::uint32_t> libc;
        for (std::uint32_t file = 0; file < code_.files().size(); ++file)
            if (fits("libc.so*", code_.name_of(file))) libc = file;
        for (std::uint32_t file = 0; file < code_.files().size(); ++file)
            if (file != libc && !fits("ld-linux*", code_.name_of(file)) &&
                !code_.find(file, "malloc").empty() && !code_.find(file, "free").empty())
                return file;
        return libc;
    }

    void add_memory(const MemoryName& name) {
        const auto found = code_.find(plan_.memory_file, name.name);
        if (found.empty()) return;
        const std::uint64_t entry = found.front().offset;
        const bool is_known = std::any_of(plan_.memory.begin(), plan_.memory.end(),
                                          [&](const auto& one) { return one.entry == entry; });
        const auto program = code_.program(plan_.memory_file);
        if (is_known || !program) return;  // in some allocators, free is also operator delete
        auto first_code = (*program)->code_at(entry);
        if (!first_code) return;
        MemoryFunction one{
            entry,          std::string(name.name), name.kind, std::move(*first_code),
            name.size_from, name.size_times,        {}};
        // Return probes are not safe where exceptions may pass.
        if (name.throws && !find_exits(one)) {
            note(fmt::format("memory from {} is not counted: its returns cannot be probed",
                             binaries::demangle(one.name)));
            return;
        }
        plan_.memory.push_back(std::move(one));
    }

    bool find_exits(MemoryFunction& function) {
        const auto calls = code_.calls_of(plan_.memory_file, {function.entry});
        return calls && !calls->empty() && calls->front().problem.empty() &&
               // A jump through a pointer leads to the out-of-memory handler.
               follow_exits(code_, plan_.memory_file, calls->front(), false, function.exits);
    }

    void note(std::string text) { plan_.reported.notes.push_back(std::move(text)); }

    ProcessFiles& code_;
    ObjectPlan& plan_;
};

}  // namespace

void find_memory(ProcessFiles& code, bool wanted, ObjectPlan& plan) {
    MemorySearch(code, plan).find(wanted);
}

}  // namespace lagtrap::daemon
