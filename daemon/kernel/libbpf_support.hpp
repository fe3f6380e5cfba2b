// Helpers around libbpf: its messages as text for our errors, and tests for kernel features.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "core/result.hpp"

struct bpf_link;
struct bpf_program;

namespace lagtrap::daemon {

// From now on, each thread collects libbpf's warnings for take_libbpf_messages() instead of writing
// them to stderr.
void keep_libbpf_messages();
// Returns and clears the last warnings of this thread, at most 4 KiB, as one line.
[[nodiscard]] std::string take_libbpf_messages();

// Makes an error from a negative errno as libbpf returns it, with libbpf's messages.
[[nodiscard]] Error libbpf_error(const std::string& doing, int negative_errno);

// True if the kernel can attach many uprobes with one link (Linux 6.6). Tried once, then cached.
[[nodiscard]] bool has_uprobe_multi();
// Call it before loading these programs if they run at uprobes: it prepares them for the links of
// has_uprobe_multi().
void expect_uprobes(std::initializer_list<bpf_program*> programs);

struct DestroyLink {
    void operator()(bpf_link* link) const;
};
using Link = std::unique_ptr<bpf_link, DestroyLink>;

}  // namespace lagtrap::daemon
