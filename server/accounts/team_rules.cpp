#include "server/accounts/team_rules.hpp"

#include <fmt/format.h>

#include "core/text.hpp"
#include "server/accounts/names.hpp"

namespace lagtrap::server {
namespace {

Status check_lines(const std::vector<std::string>& lines, const char* what) {
    if (lines.size() > team_lines_limit)
        return make_error(ErrorKind::Invalid, fmt::format("a team has {} {}; at most {} are taken",
                                                          lines.size(), what, team_lines_limit));
    for (const std::string& line : lines)
        if (line.empty() || line.size() > team_line_limit_bytes || printable(line) != line)
            return make_error(
                ErrorKind::Invalid,
                fmt::format("\"{}\" among the {} of a team; expected 1 to {} bytes without control "
                            "characters",
                            printable(line.substr(0, 64)), what, team_line_limit_bytes));
    return success();
}

}  // namespace

Status check_team(const Team& team) {
    TRY(check_token_name(team.name));
    TRY(check_lines(team.events, "patterns of events"));
    TRY(check_lines(team.units, "patterns of units"));
    return check_lines(team.groups, "groups");
}

}  // namespace lagtrap::server
