// The capabilities of the calling thread (capabilities(7)).
#pragma once

#include <cstdint>

#include "core/result.hpp"

namespace lagtrap {

// Bit sets: bit N is capability number N, from 0 to 63.
struct Capabilities {
    std::uint64_t effective = 0;
    std::uint64_t permitted = 0;
    std::uint64_t inheritable = 0;

    // `number` as in linux/capability.h, for example CAP_SYS_ADMIN.
    [[nodiscard]] bool has(unsigned number) const { return (effective >> number & 1) != 0; }
};

// Returns those of the calling thread. Does not fail on any kernel that lagtrap supports.
[[nodiscard]] Result<Capabilities> own_capabilities();

// Sets those of the calling thread. Fails with EPERM if `permitted` holds one that the thread does
// not have now.
[[nodiscard]] Status set_own_capabilities(const Capabilities& capabilities);

}  // namespace lagtrap
