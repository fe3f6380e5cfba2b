#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <boost/json.hpp>

#include "analysis/trace_places.hpp"
#include "binaries/dwarf/debug_server.hpp"
#include "cli/bundles/bundle_finder.hpp"
#include "cli/commands.hpp"
#include "cli/reports/symbolize_text.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/names/later_names.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t trace_limit_bytes = 2ULL << 30;
constexpr std::uint64_t xml_limit_bytes = 16 << 20;
// A foreign bundle may name any number of modules. Limits those that servers are asked for.
constexpr std::size_t asked_modules_limit = 2000;

// A temporary folder, deleted with its content.
class Workplace {
  public:
    static Result<Workplace> make(const fs::path& parent) {
        std::string name = (parent / ".lagtrap-symbolize-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            return system_error("create a folder in " + parent.string());
        return Workplace(name);
    }
    Workplace(Workplace&& other) noexcept : path_(std::exchange(other.path_, fs::path())) {}
    Workplace& operator=(Workplace&&) = delete;
    ~Workplace() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    explicit Workplace(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

bool is_folder(const fs::path& path) {
    std::error_code not_to_be_seen;
    return fs::is_directory(path, not_to_be_seen);
}

// The content of a bundle, or the same files in a merged capture's folder.
Result<trace::BundleContent> read_content(const fs::path& path) {
    const bool folder_given = is_folder(path);
    if (!folder_given && path.extension() != ".pftrace")
        return trace::read_bundle(path, trace_limit_bytes);
    const fs::path folder = folder_given ? path : path.parent_path();
    trace::BundleContent content;
    TRY_ASSIGN(content.system_xml, read_file(folder / "system.xml", xml_limit_bytes));
    TRY_ASSIGN(content.trace,
               read_file(folder_given ? folder / "trace.pftrace" : path, trace_limit_bytes));
    auto settings = read_file(folder / "settings.xml", xml_limit_bytes);
    if (!settings && settings.error().kind != ErrorKind::NotFound) return settings.error();
    if (settings) content.settings_xml = std::move(settings).value();
    return content;
}

// The servers, and problems with them.
struct Servers {
    std::optional<binaries::DebugServer> server;
    std::vector<std::string> problems;

    std::optional<fs::path> find(const std::string& build_id) {
        auto found = server->find(build_id);
        if (found) return std::move(found).value();
        const std::string& message = found.error().message;
        const bool reported =
            std::find(problems.begin(), problems.end(), message) != problems.end();
        if (found.error().kind != ErrorKind::NotFound && !reported) problems.push_back(message);
        return std::nullopt;
    }
};

trace::LaterNamesOptions search_options(const SymbolizeOptions& options, Servers& servers) {
    trace::LaterNamesOptions search;
    search.program_folders.assign(options.debug_folders.begin(), options.debug_folders.end());
    search.search.folders.insert(search.search.folders.begin(), options.debug_folders.begin(),
                                 options.debug_folders.end());
    if (servers.server)
        search.search.ask_servers = [&servers](const std::string& build_id) {
            return servers.find(build_id);
        };
    return search;
}

// Appends names that were found to the trace; returns one outcome per module.
std::vector<SymbolizedModule> name_places(const analysis::TracePlaces& places,
                                          trace::LaterNamesOptions options, std::string& trace) {
    std::vector<SymbolizedModule> outcomes;
    for (const trace::UnnamedModule& module : places.modules) {
        if (outcomes.size() >= asked_modules_limit) options.search.ask_servers = nullptr;
        const trace::LaterNames found = trace::find_later_names(module, options);
        trace::append_module_symbols(trace, found.names, places.last_ns);
        outcomes.push_back({module.path, module.build_id, module.places.size(),
                            found.names.places.size(), found.found_in.string(), found.problem});
    }
    return outcomes;
}

// `output` is a folder or a file name.
Result<trace::BundleInfo> write_output(const trace::BundleContent& content,
                                       const std::string& session_id, const fs::path& output) {
    const bool folder_given = is_folder(output);
    const fs::path folder = folder_given               ? output
                            : output.has_parent_path() ? output.parent_path()
                                                       : fs::path(".");
    TRY_ASSIGN(const Workplace work, Workplace::make(folder));
    TRY(write_file_durably(work.path() / "trace.pftrace", content.trace));
    TRY(write_file_durably(work.path() / "system.xml", content.system_xml));
    if (!content.settings_xml.empty())
        TRY(write_file_durably(work.path() / "settings.xml", content.settings_xml));
    TRY_ASSIGN(trace::BundleInfo bundle,
               trace::write_bundle(work.path(), session_id, folder_given ? folder : work.path()));
    if (folder_given) return bundle;
    TRY(rename_durably(bundle.path, output));
    bundle.path = output;
    return bundle;
}

Result<SymbolizeSummary> symbolize(const SymbolizeOptions& options) {
    Servers servers;
    if (options.debuginfod) {
        TRY_ASSIGN(servers.server, binaries::DebugServer::make({}));
    }
    for (const std::string& folder : options.debug_folders)
        if (!is_folder(folder)) return make_error(ErrorKind::NotFound, "no such folder: " + folder);
    TRY_ASSIGN(const fs::path path, find_bundle(options.bundle, options.spool));
    TRY_ASSIGN(trace::BundleContent content, read_content(path));
    TRY_ASSIGN(trace::SystemFile system, trace::read_system_file(content.system_xml));
    TRY_ASSIGN(const analysis::TracePlaces places, analysis::read_places(content.trace));
    SymbolizeSummary summary;
    summary.before = places.counts;
    summary.places_without_build_id = places.places_without_build_id;
    summary.modules = name_places(places, search_options(options, servers), content.trace);
    summary.server_problems = std::move(servers.problems);
    TRY_ASSIGN(const analysis::TracePlaces after, analysis::read_places(content.trace));
    summary.after = after.counts;
    update_quality(summary, system.stacks);
    content.system_xml = trace::write_system_file(system);
    TRY_ASSIGN(summary.bundle,
               write_output(content, system.session_id,
                            options.output.empty() ? fs::path(".") : fs::path(options.output)));
    return summary;
}

}  // namespace

int symbolize_bundle(const SymbolizeOptions& options, Console& console) {
    const auto summary = symbolize(options);
    if (!summary) return console.fail(summary.error().message);
    for (const std::string& problem : summary->server_problems)
        console.err << "lagtrap: " << printable(problem) << "\n";
    if (options.json) {
        console.out << boost::json::serialize(symbolize_json(*summary)) << "\n";
    } else {
        console.out << symbolize_text(*summary);
    }
    return exit_done;
}

}  // namespace lagtrap::cli
