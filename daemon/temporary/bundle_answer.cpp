#include "daemon/temporary/bundle_answer.hpp"

#include <fcntl.h>

#include <utility>

#include <boost/json.hpp>

#include "core/files.hpp"
#include "daemon/control/control_server.hpp"

namespace lagtrap::daemon {

ClientLink::Answer bundle_answer(const std::optional<LastBundle>& last) {
    if (!last) return {refusal("nothing was recorded yet")};
    auto file = open_file(last->path, O_RDONLY | O_CLOEXEC);
    if (!file) return {refusal(file.error().message)};
    return {{{"ok", true}, {"session", last->session}}, std::move(*file)};
}

}  // namespace lagtrap::daemon
