#include "daemon/control/control_access.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

#include "core/accounts.hpp"
#include "daemon/processes/process_party.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t max_groups = 65536;  // the kernel's limit

std::string who_may(settings::Callers callers, const std::string& group) {
    if (callers == settings::Callers::Group && !group.empty())
        return "root and the group " + group + " may";
    return "only root may";
}

struct RightWords {
    settings::Callers settings::Control::*callers;
    const char* attribute;
    const char* deed;
};

// In the order of Right.
constexpr std::array<RightWords, 3> words_of_rights{{
    {&settings::Control::read, "read", "read the status"},
    {&settings::Control::change, "change", "start, approve or decline recordings"},
    {&settings::Control::trace, "trace", "trace other users' processes"},
}};

bool is_trace(std::string_view command) {
    return command == "calls" || command == "functions" || command == "objects";
}

}  // namespace

Right right_for(std::string_view command) {
    if (command == "status") return Right::Read;
    const bool changes = command == "trigger" || command == "record" || command == "finish" ||
                         command == "approve" || command == "decline";
    return changes ? Right::Change : Right::Trace;
}

Result<Caller> caller_at(int socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
        return system_error("SO_PEERCRED");
    Caller caller;
    caller.pid = credentials.pid;
    caller.uid = credentials.uid;
    const auto party = read_party("/proc/" + std::to_string(credentials.pid));
    caller.party = party ? *party : unknown_party;
    caller.groups.resize(64);
    for (;;) {
        size = static_cast<socklen_t>(caller.groups.size() * sizeof(gid_t));
        if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, caller.groups.data(), &size) == 0)
            break;
        if (errno != ERANGE || caller.groups.size() > max_groups)
            return system_error("SO_PEERGROUPS");
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
        return Error{group.error().kind, group.error().system_errno,
                     group.error().message + " for the control socket"};
    access.group_ = *group;
    return access;
}

bool ControlAccess::allows(settings::Callers callers, const Caller& caller) const {
    if (caller.uid == 0 || callers == settings::Callers::Anyone) return true;
    if (callers == settings::Callers::Root || !group_) return false;
    return std::find(caller.groups.begin(), caller.groups.end(), *group_) != caller.groups.end();
}

Result<ControlAccess::Grant> ControlAccess::grant(const Caller& caller,
                                                  std::string_view command) const {
    const Right right = right_for(command);
    const RightWords& words = words_of_rights.at(static_cast<std::size_t>(right));
    const settings::Callers callers = control_.*words.callers;
    if (allows(callers, caller)) return Grant{};
    if (right == Right::Trace && is_trace(command) && allows(control_.read, caller))
        return Grant{true};
    return make_error(
        ErrorKind::Denied,
        fmt::format("user {} may not {}: {} (<control {}=...> in the settings)", caller.uid,
                    words.deed, who_may(callers, control_.group), words.attribute));
}

mode_t ControlAccess::socket_mode() const {
    if (control_.read == settings::Callers::Anyone) return 0666;
    const bool for_group = std::any_of(
        words_of_rights.begin(), words_of_rights.end(), [this](const RightWords& right) {
            return control_.*right.callers == settings::Callers::Group;
        });
    return group_ && for_group ? 0660 : 0600;
}

}  // namespace lagtrap::daemon
