#include "core/capabilities.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace lagtrap {

Result<Capabilities> own_capabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets{};
    if (::syscall(SYS_capget, &header, sets.data()) != 0) return system_error("read capabilities");
    const auto joined = [&](auto member) {
        return sets[0].*member | static_cast<std::uint64_t>(sets[1].*member) << 32;
    };
    return Capabilities{joined(&__user_cap_data_struct::effective),
                        joined(&__user_cap_data_struct::permitted),
                        joined(&__user_cap_data_struct::inheritable)};
}

Status set_own_capabilities(const Capabilities& capabilities) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets{};
    for (std::size_t i = 0; i < sets.size(); ++i) {
        sets[i].effective = static_cast<std::uint32_t>(capabilities.effective >> (32 * i));
        sets[i].permitted = static_cast<std::uint32_t>(capabilities.permitted >> (32 * i));
        sets[i].inheritable = static_cast<std::uint32_t>(capabilities.inheritable >> (32 * i));
    }
    if (::syscall(SYS_capset, &header, sets.data()) != 0) return system_error("drop capabilities");
    return success();
}

}  // namespace lagtrap
