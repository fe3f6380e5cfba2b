#include "cli/console/user_name.hpp"

#include <pwd.h>

#include <array>

#include "core/text.hpp"

namespace lagtrap::cli {

std::string user_text(std::uint32_t uid) {
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> buffer{};
    const std::string number = std::to_string(uid);
    if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
        return number;
    return printable(found->pw_name) + " (" + number + ")";
}

}  // namespace lagtrap::cli
