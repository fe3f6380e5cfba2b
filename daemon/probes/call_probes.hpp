// Probes in many functions of one process, which can be detached one by one while the process runs.
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

// Without links for many probes, the kernel attaches and detaches each probe separately, which
// takes a tenth of a second.
inline constexpr std::size_t max_functions_one_by_one = 200;

// Upper bound for how long remaining probes may be hit twice after detach_functions().
inline constexpr std::uint64_t relinking_takes_ns = 1'000'000'000;

struct CallProbe {
    std::uint64_t offset = 0;  // in the file
    std::uint64_t cookie = 0;
    std::vector<std::uint32_t> functions;  // functions whose calls it sees
    std::uint64_t semaphore = 0;           // in the file; 0 if there is none
};

// Use it on one thread.
class CallProbes {
  public:
    explicit CallProbes(pid_t pid) : pid_(pid) {}
    // Calls detach().
    ~CallProbes() { detach(); }

    struct Refused {
        std::uint32_t function = 0;
        std::string reason;
    };
    // Attaches as many of the probes as the kernel accepts; returns the functions of the others.
    // None may be attached already. ErrorKind::Vanished: the process is gone.
    [[nodiscard]] Result<std::vector<Refused>> attach(bpf_program* program,
                                                      std::shared_ptr<const UniqueFd> file,
                                                      std::vector<CallProbe> probes,
                                                      bool at_return);
    // Detaches probes that serve only these functions. The kernel removes them some tens of
    // milliseconds later. Meanwhile, other probes in the same links may be hit twice, and none is
    // missed. Errors: some other probes could not be attached again and are gone too.
    [[nodiscard]] Status detach_functions(const std::set<std::uint32_t>& functions);
    // True while the kernel is probably still removing probes. Attaching or detaching takes much
    // longer then.
    [[nodiscard]] bool is_detaching() const;
    // Detaches all probes, like detach_functions().
    void detach_soon();
    // Like detach_soon(), but returns when the kernel has removed them.
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

    void join_finished(std::vector<ProbeLink> links);

    pid_t pid_;
    std::chrono::steady_clock::time_point taking_out_until_{};  // approximately
    std::vector<Group> groups_;
    std::vector<std::future<void>> on_their_way_out_;
};

}  // namespace lagtrap::daemon
