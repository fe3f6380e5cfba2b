// Shares maps between BPF programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"

struct bpf_map;

namespace lagtrap::daemon {

// Call it before loading the programs: each map will be the one that its descriptor refers to.
// Errors begin with `doing`.
[[nodiscard]] Status share_maps(const std::vector<std::pair<bpf_map*, int>>& maps,
                                const std::string& doing);

}  // namespace lagtrap::daemon
