// Probes in many functions of one process: put in, and taken out function by function while the process runs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/kernel/libbpf_support.hpp"

struct bpf_program;

namespace lagtrap::daemon {

// Where the kernel has no links for many probes, each is put in, and taken out, for itself: that takes a tenth of a second.
inline constexpr std::size_t most_functions_one_by_one = 200;

// After take_out() what stays may be hit twice for so long, generously.
inline constexpr std::uint64_t relinking_takes_ns = 1'000'000'000;

struct CallProbe {
    std::uint64_t offset = 0;  // in the file
    std::uint64_t cookie = 0;
    std::vector<std::uint32_t> functions;  // whose calls it sees
};

// One thread's.
class CallProbes {
  public:
    explicit CallProbes(pid_t pid) : pid_(pid) {}
    // Takes them all out.
    ~CallProbes() { detach(); }

    struct Refused {
        std::uint32_t function = 0;
        std::string reason;
    };
    // Puts as many of them in as the kernel takes; tells whose it does not take. The same probe must not be there yet.
    // ErrorKind::Vanished: the process is gone.
    [[nodiscard]] Result<std::vector<Refused>> attach(bpf_program* program, std::shared_ptr<const UniqueFd> file,
                                                      std::vector<CallProbe> probes, bool at_return);
    // Takes out the probes that see calls of these functions alone; the kernel has done so some tens of milliseconds after the
    // return. Others in the same links may be hit twice meanwhile, and none is missed. Errors: some could not be put in again,
    // and go too.
    [[nodiscard]] Status take_out(const std::set<std::uint32_t>& functions);
    // Whether the kernel still is at it, as far as can be told: what is put in or taken out meanwhile takes much longer.
    [[nodiscard]] bool is_taking_out() const;
    // The same of all.
    void take_out_all();
    // Returns when the kernel has taken them all out.
    void detach();

  private:
    struct ProbeLink {
        Link link;
        std::size_t probes = 0;
    };
    struct Group {
        bpf_program* program = nullptr;
        std::shared_ptr<const UniqueFd> file;
        bool at_return = false;
        std::vector<CallProbe> probes;
        std::vector<ProbeLink> links;
    };
    [[nodiscard]] Status link(Group& group) const;
    [[nodiscard]] Status link_some(const Group& group, std::size_t first, std::size_t count,
                                   std::vector<ProbeLink>& links) const;
    [[nodiscard]] Status link_what_works(Group& group, std::vector<Refused>& refused) const;

    void bury(std::vector<ProbeLink> links);

    pid_t pid_;
    std::chrono::steady_clock::time_point taking_out_until_{};  // about
    std::vector<Group> groups_;
    std::vector<std::future<void>> on_their_way_out_;
};

}  // namespace lagtrap::daemon
