// Whether a control group is one that an event's scope names, by its path and by what is known of its container.
#pragma once

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

using FindContainer = std::function<KnownContainer(const std::string& id)>;
// `path` from the root of the hierarchy of version 2.
[[nodiscard]] GroupJudgement judge_group(const settings::GroupScope& scope, std::string_view path,
                                         const FindContainer& find);

}  // namespace lagtrap::daemon
