#include "cli/status/limited_party.hpp"

#include "cli/console/user_name.hpp"
#include "cli/control/status_fields.hpp"
#include "core/party.hpp"

namespace lagtrap::cli {

std::string limited_party(const boost::json::object& entry) {
    const auto* const container = entry.if_contains("namespace");
    if (container != nullptr && !container->is_null())
        return lagtrap::party_text(static_cast<Party>(number(entry, "namespace")));
    const auto* const user = entry.if_contains("uid");
    if (user == nullptr || user->is_null()) return lagtrap::party_text(unknown_party);
    return "user " + user_text(static_cast<std::uint32_t>(number(entry, "uid")));
}

std::string party_text(const boost::json::object& entry) {
    const std::string user = limited_party(entry);
    const std::uint64_t pid = number(entry, "pid");
    return pid == 0 ? user : "process " + std::to_string(pid) + " of " + user;
}

}  // namespace lagtrap::cli
