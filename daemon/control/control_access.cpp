#include "daemon/control/control_access.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/accounts.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t most_groups = 65536;  // the kernel's own limit

std::string who_may(settings::Callers callers, const std::string& group) {
    if (callers == settings::Callers::Group && !group.empty()) return "root and the group " + group + " may";
    return "root alone may";
}

}  // namespace

Result<Caller> caller_at(int socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return system_error("SO_PEERCRED");
    Caller caller;
    caller.uid = credentials.uid;
    caller.groups.resize(64);
    for (;;) {
        size = static_cast<socklen_t>(caller.groups.size() * sizeof(gid_t));
        if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, caller.groups.data(), &size) == 0) break;
        if (errno != ERANGE || caller.groups.size() > most_groups) return system_error("SO_PEERGROUPS");
        caller.groups.resize(size / sizeof(gid_t));
    }
    caller.groups.resize(size / sizeof(gid_t));
    caller.groups.push_back(credentials.gid);
    return caller;
}

Result<ControlAccess> ControlAccess::create(const settings::Control& control) {
    ControlAccess access;
    access.control_ = control;
    if (control.group.empty()) return access;
    const auto group = find_group(control.group);
    if (!group)
        return Error{group.error().kind, group.error().system_errno, group.error().message + " for the control socket"};
    access.group_ = *group;
    return access;
}

bool ControlAccess::allows(settings::Callers callers, const Caller& caller) const {
    if (caller.uid == 0 || callers == settings::Callers::Anyone) return true;
    if (callers == settings::Callers::Root || !group_) return false;
    return std::find(caller.groups.begin(), caller.groups.end(), *group_) != caller.groups.end();
}

std::string ControlAccess::denial(const Caller& caller, const boost::json::object& request) const {
    const auto* const name = request.if_contains("command");
    const std::string_view command = name && name->is_string() ? std::string_view(name->as_string()) : "";
    const bool changes = command == "trigger" || command == "approve" || command == "decline";
    const settings::Callers callers = changes ? control_.change : control_.read;
    if (allows(callers, caller)) return {};
    return "user " + std::to_string(caller.uid) + " may not " +
           (changes ? "start or decide about recordings" : "ask for the status") + ": " +
           who_may(callers, control_.group) + " (<control " + (changes ? "change" : "read") + "=...> in the settings)";
}

mode_t ControlAccess::socket_mode() const {
    if (control_.read == settings::Callers::Anyone) return 0666;
    const bool for_group =
        group_ && (control_.read == settings::Callers::Group || control_.change == settings::Callers::Group);
    return for_group ? 0660 : 0600;
}

}  // namespace lagtrap::daemon
