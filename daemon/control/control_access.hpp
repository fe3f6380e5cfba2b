// Who may ask what at the control socket: by the caller's user and groups, as the kernel tells them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "core/result.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct Caller {
    uid_t uid = 0;
    std::vector<gid_t> groups;
};

// Of the process that connected, as it was then (SO_PEERCRED, SO_PEERGROUPS).
[[nodiscard]] Result<Caller> caller_at(int socket);

class ControlAccess {
  public:
    // ErrorKind::NotFound: the group is not there.
    [[nodiscard]] static Result<ControlAccess> create(const settings::Control& control);

    // Why the caller may not ask this; empty: it may. Root may ask everything; "status" and what is unknown need the
    // right to read, everything else the right to change.
    [[nodiscard]] std::string denial(const Caller& caller, const boost::json::object& request) const;

    // The settings that it was made of.
    [[nodiscard]] const settings::Control& control() const { return control_; }
    [[nodiscard]] std::optional<gid_t> group() const { return group_; }
    // That the socket file has, so that who may not even read does not come in.
    [[nodiscard]] mode_t socket_mode() const;

  private:
    [[nodiscard]] bool allows(settings::Callers callers, const Caller& caller) const;
    settings::Control control_;
    std::optional<gid_t> group_;
};

}  // namespace lagtrap::daemon
