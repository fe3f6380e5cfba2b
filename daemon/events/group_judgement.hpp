// Decides whether an event's scope includes a control group, by the group's path and by what is
// known about its container.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/processes/container_names.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct GroupJudgement {
    bool in_scope = false;
    // The missing fact that would decide: "name", "image", "pod", "namespace", "labels"; empty if
    // decided.
    std::string not_known;
};

// A control group, and who may have chosen its name: users can create groups in folders that they
// own.
struct GroupPath {
    // from the root of the version 2 hierarchy; "" for the root
    std::string path;
    // the part of the path that only root can have created
    std::size_t root_bytes = std::string::npos;
    std::uint32_t maker = 0;  // the user who may have created the rest
};

using FindContainer = std::function<KnownContainer(const std::string& id)>;
// Groups that a user may have created count if the scope names that user too, or as a container of
// that user, by its id, if no manager of the machine knows it. Units inside a container count if
// the scope names the container too.
[[nodiscard]] GroupJudgement judge_group(const settings::Scope& scope, const GroupPath& group,
                                         const FindContainer& find);

}  // namespace lagtrap::daemon
