// What the kernel tells of its own types and variables (BTF).
#pragma once

#include <memory>

struct btf;

namespace lagtrap::daemon {

// Read by the first who asks, and shared by all who ask while somebody holds it: to read it takes a tenth of a second and some 12 MB.
// nullptr where the kernel has none. Any thread.
[[nodiscard]] std::shared_ptr<const btf> kernel_types();

}  // namespace lagtrap::daemon
