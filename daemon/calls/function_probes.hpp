// Probes at the begins and the ends of many functions of one process.
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

// One thread's. Whatever ends it takes the probes out.
class FunctionProbes {
  public:
    // What runs there, with the function's number as the lower half of its cookie. `exit_sites`: the map of function_exit.bpf.h.
    struct Programs {
        bpf_program* entry = nullptr;
        bpf_program* exit = nullptr;       // at instructions that leave
        bpf_program* at_return = nullptr;  // the kernel's return probe
        int exit_sites = -1;
    };
    FunctionProbes(const Programs& programs, pid_t pid) : programs_(programs), probes_(pid) {}

    // Watches these, whose numbers go on from those before, up to `limit`; `target_cookie` is added at entries of level 0.
    // Tells which could not be watched. Errors: Vanished; none of them could be.
    [[nodiscard]] Result<std::vector<CallProbes::Refused>> attach(const std::vector<CallFile>& files,
                                                                  const std::vector<PlannedFunction>& functions,
                                                                  std::uint32_t limit, std::uint64_t target_cookie);
    // As CallProbes.
    [[nodiscard]] Status take_out(const std::set<std::uint32_t>& functions) { return probes_.take_out(functions); }
    [[nodiscard]] bool is_taking_out() const { return probes_.is_taking_out(); }
    void detach() { probes_.detach(); }
    [[nodiscard]] std::uint32_t functions() const { return functions_; }
    [[nodiscard]] bool has_return_probe(std::uint32_t function) const { return has_return_probe_[function]; }

  private:
    // What is put into one file.
    struct FileProbes {
        std::vector<CallProbe> entries, returns, exits;
        std::map<std::uint64_t, std::size_t> exit_numbers;  // by offset
    };
    [[nodiscard]] Status gather(const PlannedFunction& function, std::uint32_t number, std::uint64_t target_cookie,
                                FileProbes& probes);
    [[nodiscard]] Status put_in(const CallFile& file, FileProbes& probes, std::vector<CallProbes::Refused>& refused,
                                std::set<std::uint32_t>& without_end);

    Programs programs_;
    CallProbes probes_;
    std::uint32_t functions_ = 0;
    std::vector<bool> has_return_probe_;  // by function
    std::uint32_t exit_sites_ = 0;
};

}  // namespace lagtrap::daemon
