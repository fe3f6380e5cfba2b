// Whether a control group is one that an event's scope names, by its path and by what is known of its container.
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
    std::string not_known;  // what would decide it: "name", "image", "pod", "labels"; empty: it is decided
};

// A control group, with who can have given it its name: below a folder of theirs users make groups as they like.
struct GroupPath {
    std::string path;                            // from the root of the hierarchy of version 2, "" of the root
    std::size_t root_bytes = std::string::npos;  // so many of the path only root can have made
    std::uint32_t maker = 0;                     // the user who can have made the rest
};

using FindContainer = std::function<KnownContainer(const std::string& id)>;
// What users can have made counts where the scope names that user, too; and as a container of theirs, by its id, if no
// manager of the machine knows it. Units inside of a container count where the scope names the container, too.
[[nodiscard]] GroupJudgement judge_group(const settings::Scope& scope, const GroupPath& group,
                                         const FindContainer& find);

}  // namespace lagtrap::daemon
