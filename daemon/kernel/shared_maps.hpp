// Maps of BPF programs that are others' too.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"

struct bpf_map;

namespace lagtrap::daemon {

// Before the programs are loaded: each of these maps will be the one that the descriptor stands for. `doing` begins the error.
[[nodiscard]] Status share_maps(const std::vector<std::pair<bpf_map*, int>>& maps, const std::string& doing);

}  // namespace lagtrap::daemon
