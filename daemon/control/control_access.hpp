// Who may ask what at the control socket: by the caller's user and groups, as the kernel tells them.
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
    Party party = root_party;  // whose share of connections it takes; rights go by user and group
};

// Of the process that connected, as it was then (SO_PEERCRED, SO_PEERGROUPS); its party as it is now.
[[nodiscard]] Result<Caller> caller_at(int socket);

enum class Right { Read, Change, Trace };

// What a command of the control socket needs. An unknown command needs the most, so that a new one that is missing here is
// no hole.
[[nodiscard]] Right right_for(std::string_view command);

class ControlAccess {
  public:
    // ErrorKind::NotFound: the group is not there.
    [[nodiscard]] static Result<ControlAccess> create(const settings::Control& control);

    struct Grant {
        // The caller may trace only processes of their own (process_credentials.hpp).
        bool own_processes_only = false;
    };
    // Root may do everything. Whoever may read may trace processes of their own. ErrorKind::Denied: who may, and the
    // attribute of the settings that says so.
    [[nodiscard]] Result<Grant> grant(const Caller& caller, std::string_view command) const;

    // The settings that it was made of.
    [[nodiscard]] const settings::Control& control() const { return control_; }
    [[nodiscard]] std::optional<gid_t> group() const { return group_; }
    // Of the socket's file: whoever has no right at all cannot connect.
    [[nodiscard]] mode_t socket_mode() const;

  private:
    [[nodiscard]] bool allows(settings::Callers callers, const Caller& caller) const;
    settings::Control control_;
    std::optional<gid_t> group_;
};

}  // namespace lagtrap::daemon
