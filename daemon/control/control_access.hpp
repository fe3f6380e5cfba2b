// Decides who may use which command of the control socket, by user and groups as the kernel reports
// them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/party.hpp"
#include "core/result.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct Caller {
    uid_t uid = 0;
    std::vector<gid_t> groups;
    // whose connections it counts towards; rights depend on user and groups only
    Party party = root_party;
    pid_t pid = 0;
};

// The caller at the time of connecting (SO_PEERCRED, SO_PEERGROUPS). Its party is the current one.
[[nodiscard]] Result<Caller> caller_at(int socket);

enum class Right { Read, Change, Trace };

// The right that a command needs. An unknown command needs the highest, so that a new command that
// is missing here is not open to everybody.
[[nodiscard]] Right right_for(std::string_view command);

class ControlAccess {
  public:
    // ErrorKind::NotFound: the group does not exist.
    [[nodiscard]] static Result<ControlAccess> create(const settings::Control& control);

    struct Grant {
        // The caller may trace only their own processes (process_credentials.hpp).
        bool own_processes_only = false;
    };
    // Root may do everything. A caller with Right::Read may trace their own processes.
    // ErrorKind::Denied: the message says who may, and which attribute of the settings decides it.
    [[nodiscard]] Result<Grant> grant(const Caller& caller, std::string_view command) const;

    // The settings it was created with.
    [[nodiscard]] const settings::Control& control() const { return control_; }
    [[nodiscard]] std::optional<gid_t> group() const { return group_; }
    // Mode of the socket file: a caller without any right cannot connect.
    [[nodiscard]] mode_t socket_mode() const;

  private:
    [[nodiscard]] bool allows(settings::Callers callers, const Caller& caller) const;
    settings::Control control_;
    std::optional<gid_t> group_;
};

}  // namespace lagtrap::daemon
