// What the daemon needs around libbpf: its messages as text for our errors, and questions to the kernel.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "core/result.hpp"

struct bpf_link;
struct bpf_program;

namespace lagtrap::daemon {

// From now on libbpf's warnings of a thread gather for take_libbpf_messages() instead of going to stderr.
void keep_libbpf_messages();
// The last warnings of this thread (4 KiB at most), one line; forgets them.
[[nodiscard]] std::string take_libbpf_messages();

// An error from a negative errno as libbpf returns it, with its messages.
[[nodiscard]] Error libbpf_error(const std::string& doing, int negative_errno);

// Whether the kernel attaches many uprobes by one link (Linux 6.6). Asked once by trying.
[[nodiscard]] bool has_uprobe_multi();
// Before they are loaded: these programs run at uprobes, and the links will be those of has_uprobe_multi().
void expect_uprobes(std::initializer_list<bpf_program*> programs);

struct DestroyLink {
    void operator()(bpf_link* link) const;
};
using Link = std::unique_ptr<bpf_link, DestroyLink>;

}  // namespace lagtrap::daemon
