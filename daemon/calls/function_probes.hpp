// Probes at the entries and exits of many functions of one process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/result.hpp"
#include "daemon/calls/call_plan.hpp"
#include "daemon/probes/call_probes.hpp"

struct bpf_program;

namespace lagtrap::daemon {

// Use it on one thread. The probes are detached when it is destroyed or this process ends.
class FunctionProbes {
  public:
    // The BPF programs to run; the lower half of a cookie is the function's number. `exit_sites` is
    // the map in function_exit.bpf.h.
    struct Programs {
        bpf_program* entry = nullptr;
        bpf_program* exit = nullptr;       // at exit instructions
        bpf_program* at_return = nullptr;  // the kernel's return probe
        int exit_sites = -1;
    };
    FunctionProbes(const Programs& programs, pid_t pid) : programs_(programs), probes_(pid) {}

    // Watches these functions up to `limit`; their numbers continue those of earlier calls. Adds
    // `target_cookie` to cookies of entries of level 0. Returns the functions that cannot be
    // watched. Errors: Vanished, Unsupported (none of them can be watched).
    [[nodiscard]] Result<std::vector<CallProbes::Refused>> attach(
        const std::vector<CallFile>& files, const std::vector<PlannedFunction>& functions,
        std::uint32_t limit, std::uint64_t target_cookie);
    // See CallProbes.
    [[nodiscard]] Status detach_functions(const std::set<std::uint32_t>& functions) {
        return probes_.detach_functions(functions);
    }
    [[nodiscard]] bool is_detaching() const { return probes_.is_detaching(); }
    void detach() { probes_.detach(); }
    [[nodiscard]] std::uint32_t functions() const { return functions_; }
    [[nodiscard]] bool has_return_probe(std::uint32_t function) const {
        return has_return_probe_[function];
    }

  private:
    // The probes of one file.
    struct FileProbes {
        std::vector<CallProbe> entries, returns, exits;
        std::map<std::uint64_t, std::size_t> exit_numbers;  // by offset
    };
    [[nodiscard]] Status gather(const PlannedFunction& function, std::uint32_t number,
                                std::uint64_t target_cookie, FileProbes& probes);
    [[nodiscard]] Status put_in(const CallFile& file, FileProbes& probes,
                                std::vector<CallProbes::Refused>& refused,
                                std::set<std::uint32_t>& without_end);

    Programs programs_;
    CallProbes probes_;
    std::uint32_t functions_ = 0;
    std::vector<bool> has_return_probe_;  // by function
    std::uint32_t exit_sites_ = 0;
};

}  // namespace lagtrap::daemon
