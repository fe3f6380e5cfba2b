#include <algorithm>
#include <charconv>

#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "cli/marker_list.hpp"

namespace lagtrap::cli {

namespace {

// A number is a process, unless a file of that name is there.
std::optional<std::uint32_t> process_id(const std::string& target) {
    std::uint32_t pid = 0;
    const auto [end, failure] = std::from_chars(target.data(), target.data() + target.size(), pid);
    std::error_code ignored;
    if (failure != std::errc{} || end != target.data() + target.size()) return std::nullopt;
    if (pid == 0 || std::filesystem::exists(target, ignored)) return std::nullopt;
    return pid;
}

Result<std::vector<FileMarkers>> find_markers(const MarkerOptions& options) {
    if (const auto pid = process_id(options.target)) return markers_of_process(*pid, options.functions);
    const auto whole = std::filesystem::absolute(options.target).lexically_normal();
    TRY_ASSIGN(auto markers,
               markers_of_file(whole, whole.string(), options.functions ? ListFunctions::Ways : ListFunctions::No));
    return std::vector<FileMarkers>{std::move(markers)};
}

}  // namespace

int list_markers(const MarkerOptions& options, Console& console) {
    const auto files = find_markers(options);
    if (!files) return console.fail(files.error().message);
    if (options.json) {
        console.out << boost::json::serialize(markers_json(*files, options.functions)) << "\n";
    } else {
        console.out << markers_text(*files, options.functions);
    }
    return exit_done;
}

}  // namespace lagtrap::cli
