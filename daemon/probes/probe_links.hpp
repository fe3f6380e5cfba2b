// Attaches probes to files and tracepoints.
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

// The probes of one marker.
struct ProbeRequest {
    bpf_program* program = nullptr;
    std::string doing;                        // for errors
    std::shared_ptr<const WatchedFile> file;  // nullptr for a tracepoint
    std::vector<unsigned long> offsets;       // in the file
    std::vector<unsigned long> semaphores;    // see ProbePlaces
    std::vector<std::uint64_t> cookies;       // one per offset; exactly one for a tracepoint
    bool return_probe = false;
    std::uint64_t tracepoint_id = 0;
};

// Attaches all probes in this order, or none. The kernel may read the files, so the call can block
// on their file systems.
[[nodiscard]] Result<std::vector<Link>> attach_probes(const std::vector<ProbeRequest>& requests);

}  // namespace lagtrap::daemon
