#include "binaries/code/function_places.hpp"

#include <algorithm>

#include "binaries/code/go_functions.hpp"
#include "binaries/code/go_program.hpp"
#include "binaries/reader/file_reader.hpp"

namespace lagtrap::binaries {
namespace {

// Functions with the same name may be written in Go and C; that is refused.
Status note_go(const ProgramFile& file, const Function& function, FunctionPlaces& found) {
    TRY_ASSIGN(const GoFunction* const go, file.go_function(function.address));
    const std::uint32_t goid_offset = go != nullptr ? file.go().goid_offset : 0;
    if (!found.places.empty() && found.goid_offset != goid_offset)
        return make_error(ErrorKind::Unsupported,
                          "is the name of both a Go function and another function");
    found.goid_offset = goid_offset;
    found.frame_offset = go != nullptr ? file.go().frame_offset : 0;
    found.arguments_on_stack = found.arguments_on_stack || (go != nullptr && go->in_assembly);
    return success();
}

Result<FunctionPlaces> places_of(const ProgramFile& file, const FunctionQuery& query,
                                 const std::vector<Function>& functions, bool probe_exits) {
    if (functions.empty()) return make_error(ErrorKind::NotFound, "no such function");
    FunctionPlaces found;
    found.return_probe = query.at_return && !probe_exits;
    for (const Function& function : functions) {
        TRY(note_go(file, function, found));
        if (!query.at_return || found.return_probe) {
            TRY_ASSIGN(const std::uint64_t entry, function_entry(file, function));
            found.places.push_back({.file_offset = entry});
            continue;
        }
        TRY_ASSIGN(const FunctionExits exits, function_exits(file, function));
        found.places.insert(found.places.end(), exits.exits.begin(), exits.exits.end());
    }
    auto& places = found.places;
    std::sort(places.begin(), places.end(),
              [](const auto& a, const auto& b) { return a.file_offset < b.file_offset; });
    places.erase(
        std::unique(places.begin(), places.end(),
                    [](const auto& a, const auto& b) { return a.file_offset == b.file_offset; }),
        places.end());
    if (auto code = file.code_at(places.front().file_offset)) found.first_code = std::move(*code);
    return found;
}

}  // namespace

Result<std::vector<Result<FunctionPlaces>>> function_places(
    const ProgramFile& file, const std::vector<FunctionQuery>& queries) {
    if (auto elsewhere = file.places_read_elsewhere(queries)) return std::move(*elsewhere);
    std::vector<std::string> names;
    for (const FunctionQuery& query : queries) names.push_back(query.name);
    TRY_ASSIGN(const auto functions, file.find_functions(names));
    const bool probe_exits = file.exceptions_may_pass();
    std::vector<Result<FunctionPlaces>> answers;
    for (std::size_t number = 0; number < queries.size(); ++number)
        answers.push_back(places_of(file, queries[number], functions[number], probe_exits));
    return answers;
}

}  // namespace lagtrap::binaries
