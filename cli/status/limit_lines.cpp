#include "cli/status/limit_lines.hpp"

#include <array>

#include "cli/console/text_layout.hpp"
#include "cli/control/status_fields.hpp"
#include "cli/status/limited_party.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

using boost::json::object;

}  // namespace

std::string share_lines(const object& answer, const Paint& paint) {
    std::string lines;
    for (const auto& entry : list(part(answer, "captures"), "users_without")) {
        if (!entry.is_object()) continue;
        const object& user = entry.as_object();
        lines +=
            "              " +
            paint(Colour::Yellow, limited_party(user) +
                                      " reached half of captures-per-hour: no recordings for " +
                                      seconds_text(user, "seconds_left")) +
            "\n";
    }
    return lines;
}

std::string limited_lines(const object& answer, const Paint& paint) {
    std::string lines;
    const object& inspections = part(answer, "inspections");
    if (const std::uint64_t stuck = number(inspections, "stuck"); stuck > 0)
        lines += "              " +
                 paint(Colour::Yellow, counted(stuck, "inspection", "inspections") +
                                           " blocked by a file system that does not respond") +
                 "\n";
    if (const std::string problem = text(inspections, "problem"); !problem.empty())
        lines += "              " +
                 paint(Colour::Red, "processes cannot be inspected: " + problem) + "\n";
    struct Kind {
        const char *key, *one, *many, *what;
    };
    constexpr auto kinds = std::to_array<Kind>({
        {"mappings_left_out", "mapping", "mappings", "over the limit"},
        {"files_left_out", "code file", "code files", "over the limit"},
        {"files_unreadable", "file", "files", "not read (not a local file system, or no response)"},
        {"tables_given_up", "table", "tables", "dropped for users with fewer"},
        {"tables_slow", "slow table", "slow tables", "built last"},
        {"looks_held_up", "process inspection", "process inspections", "timed out"},
        {"mappings_omitted", "use", "uses", "of watched files not followed"},
        {"copies_left_out", "copy", "copies", "of watched files not opened"},
    });
    for (const auto& entry : list(answer, "limited_users")) {
        if (!entry.is_object()) continue;
        std::string what;
        for (const Kind& kind : kinds)
            if (const std::uint64_t count = number(entry.as_object(), kind.key); count > 0)
                what += (what.empty() ? "" : ", ") + counted(count, kind.one, kind.many) + " " +
                        kind.what;
        lines += "              " +
                 paint(Colour::Yellow, limited_party(entry.as_object()) + ": " + what) + "\n";
    }
    return lines.empty() ? lines : "  limited     " + lines.substr(14);
}

std::string watched_file_lines(const object& answer, const Paint& paint) {
    std::string lines;
    const auto add = [&](const std::string& line) {
        lines += (lines.empty() ? "  watched     " : "              ") +
                 paint(Colour::Yellow, line) + "\n";
    };
    for (const auto& entry : list(answer, "watched_files")) {
        if (!entry.is_object()) continue;
        const object& file = entry.as_object();
        const std::string whose = text(file, "path") + " of user " + text(file, "owner");
        if (truth(file, "slow")) add(whose + " is too slow to read for an event");
        if (const std::uint64_t times = number(file, "rearmed"); times > 0)
            add(whose + " changed: rearmed " + counted(times, "time", "times") +
                (number(file, "again_in_seconds") > 0
                     ? ", again in " + std::to_string(number(file, "again_in_seconds")) +
                           " s at the earliest"
                     : ""));
        if (!text(file, "other_writers").empty()) add(text(file, "other_writers"));
    }
    return lines;
}

std::string limited_look_lines(const object& answer, const Paint& paint) {
    std::string lines;
    for (const auto& entry : list(answer, "limited_looks")) {
        if (!entry.is_object()) continue;
        const object& user = entry.as_object();
        lines += (lines.empty() ? "  stacks      " : "              ") +
                 paint(Colour::Yellow,
                       "inspecting processes of " +
                           (user.contains("namespace") ? limited_party(user)
                                                       : "user " + text(user, "user")) +
                           " is slow (much code, or busy CPUs): " +
                           with_commas(number(user, "put_off")) + " addresses were skipped") +
                 "\n";
    }
    return lines;
}

}  // namespace lagtrap::cli
