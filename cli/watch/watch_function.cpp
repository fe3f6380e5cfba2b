#include "cli/watch/watch_function.hpp"

#include <fmt/core.h>

#include "binaries/elf/program_file.hpp"
#include "cli/add/event_names.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

constexpr std::size_t functions_listed = 5;

// How well a function's name matches; 0 if it does not.
int likeness(const std::string& name, const std::string& written, const std::string& wanted) {
    if (name == wanted || written == wanted) return 3;
    const std::string plain = without_parameters(name);
    if (plain == wanted) return 2;
    return plain.ends_with("::" + wanted) ? 1 : 0;
}

}  // namespace

Result<std::string> choose_function(const std::vector<FunctionWay>& functions,
                                    const std::string& wanted, const std::string& program) {
    std::vector<const FunctionWay*> found;
    int best = 1;
    for (const FunctionWay& function : functions) {
        const int here = likeness(function.name, function.written, wanted);
        if (here < best) continue;
        if (here > best) found.clear();
        best = here;
        found.push_back(&function);
    }
    if (found.empty())
        return make_error(
            ErrorKind::NotFound,
            fmt::format("{} has no function {}; \"lagtrap list-markers --functions {}\" lists them",
                        program, printable(wanted), program));
    if (found.size() > 1) {
        std::string message =
            fmt::format("{} functions are called {}; give the whole name of one:", found.size(),
                        printable(wanted));
        for (std::size_t i = 0; i < std::min(found.size(), functions_listed); ++i)
            message += "\n  " + found[i]->name;
        if (found.size() > functions_listed)
            message += fmt::format("\n  and {} more", found.size() - functions_listed);
        return make_error(ErrorKind::Invalid, message);
    }
    const FunctionWay& function = *found.front();
    if (!function.watchable)
        return make_error(ErrorKind::Unsupported,
                          fmt::format("{} cannot be watched: {}", function.name, function.way));
    return function.written.empty() ? function.name : function.written;
}

Result<std::string> find_function(const AddTarget& target, const std::string& wanted) {
    TRY_ASSIGN(const auto file, binaries::ProgramFile::open(readable_file(target)));
    TRY_ASSIGN(const auto ways,
               ways_to_watch(file, [&](const std::string& name, const std::string& written) {
                   return likeness(name, written, wanted) > 0;
               }));
    return choose_function(ways, wanted, target.name);
}

}  // namespace lagtrap::cli
