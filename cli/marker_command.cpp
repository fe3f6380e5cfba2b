#include <algorithm>
#include <charconv>

#include <boost/json.hpp>

#include "binaries/elf/library_paths.hpp"
#include "cli/commands.hpp"
#include "cli/programs/marker_list.hpp"
#include "cli/programs/tracepoint_list.hpp"
#include "core/text.hpp"
#include "settings/diagnostics.hpp"

namespace lagtrap::cli {

namespace {

// A number is a process id, unless a file has that name.
std::optional<std::uint32_t> process_id(const std::string& target) {
    std::uint32_t pid = 0;
    const auto [end, failure] = std::from_chars(target.data(), target.data() + target.size(), pid);
    std::error_code ignored;
    if (failure != std::errc{} || end != target.data() + target.size()) return std::nullopt;
    if (pid == 0 || std::filesystem::exists(target, ignored)) return std::nullopt;
    return pid;
}

Result<std::vector<FileMarkers>> find_markers(const MarkerOptions& options) {
    const ListFunctions functions = options.functions ? ListFunctions::Ways : ListFunctions::No;
    // For all files that a process has mapped, JSON output omits how functions can be watched.
    const bool names_alone = options.functions && options.json;
    if (const auto pid = process_id(options.target))
        return markers_of_process(*pid, names_alone ? ListFunctions::Names : functions);
    const auto whole = std::filesystem::absolute(options.target).lexically_normal();
    TRY_ASSIGN(auto markers, markers_of_file(whole, whole.string(), functions));
    for (const auto& library : binaries::libraries_of(whole))
        markers.libraries.push_back(printable(library.string()));
    return std::vector<FileMarkers>{std::move(markers)};
}

int list_tracepoints(const MarkerOptions& options, Console& console) {
    const auto tracefs = settings::TraceFs::open();
    if (!tracefs) {
        const bool denied = settings::root_may_know(tracefs.error());
        return console.fail(tracefs.error().message + (denied ? "; run as root" : ""));
    }
    const std::vector<Tracepoint> found = tracepoints_like(*tracefs, options.target);
    if (found.empty())
        return console.fail("no kernel tracepoint matches " + printable(options.target));
    console.out << (options.json ? boost::json::serialize(tracepoints_json(found)) + "\n"
                                 : tracepoints_text(found));
    return exit_done;
}

}  // namespace

int list_markers(const MarkerOptions& options, Console& console) {
    if (options.tracepoints) return list_tracepoints(options, console);
    if (options.target.empty()) {
        console.err
            << "lagtrap: list-markers needs a program, a library, a process id, or --tracepoints\n";
        return exit_usage;
    }
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
