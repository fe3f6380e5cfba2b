// What this thread may do (capabilities(7)).
#pragma once

#include <cstdint>

#include "core/result.hpp"

namespace lagtrap {

// The numbers up to 63, as bits.
struct Capabilities {
    std::uint64_t effective = 0;
    std::uint64_t permitted = 0;
    std::uint64_t inheritable = 0;

    // `number` as in linux/capability.h, CAP_SYS_ADMIN for instance.
    [[nodiscard]] bool has(unsigned number) const { return (effective >> number & 1) != 0; }
};

// Of the calling thread. Errors: none on kernels that this project runs on.
[[nodiscard]] Result<Capabilities> own_capabilities();

// Makes them those of the calling thread. EPERM if `permitted` has one that is not permitted now.
[[nodiscard]] Status set_own_capabilities(const Capabilities& capabilities);

}  // namespace lagtrap
