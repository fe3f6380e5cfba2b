#include "daemon/probes/exit_cookies.hpp"

namespace lagtrap::daemon {

lagtrap_argument target_argument(const binaries::JumpTarget& target) {
    static_assert(LAGTRAP_NO_REGISTER == binaries::no_jump_register);
    lagtrap_argument argument{};
    argument.number = target.displacement;
    argument.place = target.in_memory ? LAGTRAP_ARGUMENT_MEMORY : LAGTRAP_ARGUMENT_REGISTER;
    argument.bytes = sizeof(std::uint64_t);
    argument.base = target.base;
    argument.index = target.index;
    argument.scale_shift = target.scale_shift;
    return argument;
}

lagtrap_exit_site exit_site_of(const binaries::FunctionExit& exit) {
    static_assert(LAGTRAP_EXIT_RANGES == binaries::max_jump_ranges);
    lagtrap_exit_site site{};
    site.target = target_argument(exit.target);
    for (std::size_t i = 0; i < exit.within.size(); ++i)
        site.within[i] = {exit.within[i].begin, exit.within[i].end};
    return site;
}

std::uint64_t exit_cookie_of(const binaries::FunctionExit& exit, std::uint64_t site) {
    std::uint64_t cookie = exit.of_others_too ? LAGTRAP_COOKIE_EXIT_SHARED : 0;
    const std::uint64_t how = exit.by_target ? std::uint64_t{LAGTRAP_EXIT_BY_TARGET}
                                             : static_cast<std::uint64_t>(exit.condition);
    cookie |= how << LAGTRAP_COOKIE_EXIT_SHIFT;
    if (exit.by_target) cookie |= site << LAGTRAP_COOKIE_EXIT_SITE_SHIFT;
    return cookie;
}

}  // namespace lagtrap::daemon
