#include "cli/programs/marker_list.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <boost/json.hpp>

#include "binaries/elf/program_file.hpp"
#include "cli/console/text_layout.hpp"
#include "core/mapped_files.hpp"
#include "core/text.hpp"
#include "settings/marker_text.hpp"

namespace lagtrap::cli {

namespace {

namespace fs = std::filesystem;

std::string arguments_note(const ProbeMarker& probe) {
    std::string note = probe.argument_count == 0 ? "no arguments"
                       : probe.argument_count == 1
                           ? "arg0"
                           : "arg0 to arg" + std::to_string(probe.argument_count - 1);
    if (probe.sites > 1) note += ", " + std::to_string(probe.sites) + " locations";
    return note;
}

std::string probe_line(const ProbeMarker& probe, const std::string& path) {
    const auto element = settings::usdt_element(probe.provider, probe.name, path);
    if (element && probe.in_code)
        return *element + "  " + settings::xml_comment(arguments_note(probe));
    return settings::xml_comment(probe.provider + ":" + probe.name +
                                 ": not available: the settings cannot name it");
}

std::string function_line(const FunctionWay& function, const std::string& path) {
    if (!function.watchable) return settings::xml_comment(function.name + ": " + function.way);
    const auto element = settings::function_element(function.written, path);
    if (!element)
        return settings::xml_comment(
            function.name + ": not available: it has no unique name that the settings can contain");
    const bool other_name = function.written != function.name;
    return *element + "  " +
           settings::xml_comment((other_name ? function.name + ": " : "") + function.way);
}

}  // namespace

Result<FileMarkers> markers_of_file(const fs::path& path, const std::string& shown_path,
                                    ListFunctions functions) {
    TRY_ASSIGN(const auto file, binaries::ProgramFile::open(path));
    TRY_ASSIGN(const auto sites, file.usdt_probes());
    FileMarkers markers;
    markers.path = shown_path;
    std::map<std::pair<std::string, std::string>, ProbeMarker> probes;
    for (const binaries::UsdtProbe& site : sites) {
        const auto [place, added] = probes.try_emplace({site.provider, site.name});
        ProbeMarker& probe = place->second;
        probe.argument_count =
            added ? site.argument_count : std::min(probe.argument_count, site.argument_count);
        ++probe.sites;
        probe.in_code = probe.in_code && file.file_offset_of(site.address);
    }
    for (auto& [name, probe] : probes) {
        probe.provider = printable(name.first);
        probe.name = printable(name.second);
        markers.probes.push_back(std::move(probe));
    }
    if (functions == ListFunctions::Ways) {
        TRY_ASSIGN(markers.ways, ways_to_watch(file));
        for (const FunctionWay& function : markers.ways->functions)
            markers.functions.push_back(function.name);
        auto& names = markers.functions;  // already sorted
        names.erase(std::unique(names.begin(), names.end()), names.end());
    } else if (functions == ListFunctions::Names) {
        TRY_ASSIGN(const auto found, file.functions());
        std::set<std::string> names;
        for (const binaries::Function& function : found)
            names.insert(printable(binaries::demangle(function.name)));
        markers.functions.assign(names.begin(), names.end());
    }
    return markers;
}

Result<std::vector<FileMarkers>> markers_of_process(std::uint32_t pid, ListFunctions functions,
                                                    const fs::path& proc) {
    TRY_ASSIGN(const auto paths, mapped_files(proc / std::to_string(pid)));
    std::vector<FileMarkers> files;
    for (const std::string& path : paths) {
        // The process may have a different root folder, which contains the files it sees.
        const fs::path seen = proc / std::to_string(pid) / "root" / fs::path(path).relative_path();
        auto markers = markers_of_file(seen, printable(path), functions);
        if (!markers && markers.error().kind == ErrorKind::Denied) return markers.error();
        if (!markers || (markers->probes.empty() && markers->functions.empty())) continue;
        files.push_back(std::move(markers).value());
    }
    return files;
}

std::string markers_text(const std::vector<FileMarkers>& files, bool functions) {
    std::string text;
    for (const FileMarkers& file : files) {
        if (!text.empty()) text += "\n";
        text += file.path + "\n";
        for (const ProbeMarker& probe : file.probes)
            text += "  " + probe_line(probe, file.path) + "\n";
        if (file.probes.empty()) text += "  no USDT probes\n";
        if (file.ways)
            for (const FunctionWay& function : file.ways->functions)
                text += "  " + function_line(function, file.path) + "\n";
        if (file.ways && !file.functions.empty()) text += "  " + file.ways->summary() + "\n";
        if (functions && file.functions.empty()) text += "  no function names\n";
        for (const std::string& library : file.libraries) text += "  needs " + library + "\n";
    }
    if (text.empty()) text = "the process has no USDT probes; --functions lists functions\n";
    return text;
}

boost::json::array markers_json(const std::vector<FileMarkers>& files, bool functions) {
    boost::json::array list;
    for (const FileMarkers& file : files) {
        boost::json::array probes;
        for (const ProbeMarker& probe : file.probes) {
            probes.push_back(boost::json::object{{"provider", probe.provider},
                                                 {"name", probe.name},
                                                 {"arguments", probe.argument_count},
                                                 {"sites", probe.sites}});
        }
        boost::json::object entry{{"path", file.path}, {"usdt", std::move(probes)}};
        if (functions) {
            boost::json::array names;
            for (const std::string& name : file.functions)
                names.push_back(boost::json::string(name));
            entry["functions"] = std::move(names);
            if (file.ways) {
                boost::json::object ways;
                for (const FunctionWay& function : file.ways->functions)
                    ways[function.name] = function.way;
                entry["ways"] = std::move(ways);
                entry["function_count"] = file.ways->count;
                entry["watchable_count"] = file.ways->watched;
                entry["nothing_to_watch_count"] = file.ways->nothing_to_watch;
            }
        }
        boost::json::array libraries;
        for (const std::string& library : file.libraries)
            libraries.push_back(boost::json::string(library));
        entry["libraries"] = std::move(libraries);
        list.push_back(std::move(entry));
    }
    return list;
}

}  // namespace lagtrap::cli
