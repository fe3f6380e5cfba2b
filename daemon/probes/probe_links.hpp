// Puts probes into files and on tracepoints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "daemon/kernel/libbpf_support.hpp"
#include "daemon/probes/watched_file.hpp"

struct bpf_program;

namespace lagtrap::daemon {

// One marker's.
struct ProbeRequest {
    bpf_program* program = nullptr;
    std::string doing;                        // for errors
    std::shared_ptr<const WatchedFile> file;  // nullptr: a tracepoint
    std::vector<unsigned long> offsets;       // in the file
    std::vector<unsigned long> semaphores;    // as ProbePlaces has them
    std::vector<std::uint64_t> cookies;       // one for each offset; of a tracepoint its only one
    bool return_probe = false;
    std::uint64_t tracepoint_id = 0;
};

// All of them in this order, or none. The kernel may read the files: waits for their file systems.
[[nodiscard]] Result<std::vector<Link>> attach_probes(const std::vector<ProbeRequest>& requests);

}  // namespace lagtrap::daemon
