#include "settings/machine_check.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "core/accounts.hpp"
#include "core/text.hpp"
#include "settings/function_check.hpp"
#include "settings/package_files.hpp"
#include "settings/preset_check.hpp"
#include "settings/probe_check.hpp"
#include "settings/program_name.hpp"
#include "settings/tracepoint_check.hpp"

namespace lagtrap::settings {
namespace {

void check_accounts(const MachineSources& sources, Diagnostics& diagnostics) {
    for (const AccountSource& user : sources.unknown_users)
        diagnostics.add(user.place, fmt::format("user is {}", in_quotes(user.name)),
                        "expected a user of this machine");
    for (const AccountSource& account : sources.groups)
        if (const auto group = find_group(account.name);
            !group && group.error().kind == ErrorKind::NotFound)
            diagnostics.add(account.place, fmt::format("group is {}", in_quotes(account.name)),
                            "expected a group of this machine");
}

// The daemon identifies a program by its inode and does not start if the file is missing.
void check_scope(const FileSource& scope, Diagnostics& diagnostics) {
    struct stat facts {};
    if (::stat(scope.path.c_str(), &facts) == 0) return;
    const Error error = system_error(scope.path);
    if (root_may_know(error)) return diagnostics.note(scope.place, scope.path, error);
    diagnostics.add(scope.place,
                    error.kind == ErrorKind::NotFound
                        ? fmt::format("{} does not exist", in_quotes(scope.path))
                        : printable(error.message),
                    "expected the program whose processes are watched");
}

// Missing folders are fine: the daemon creates them.
void check_folder(const FileSource& folder, Diagnostics& diagnostics) {
    for (std::filesystem::path path = folder.path;; path = path.parent_path()) {
        struct stat facts {};
        if (::stat(path.c_str(), &facts) != 0) {
            const Error error = system_error(path.string());
            if (root_may_know(error)) return diagnostics.note(folder.place, folder.path, error);
            if (path.has_relative_path()) continue;
        }
        if (!S_ISDIR(facts.st_mode))
            diagnostics.add(folder.place,
                            fmt::format("{} is not a folder", in_quotes(path.string())),
                            "expected a folder, or a path where one can be created");
        return;
    }
}

void check_socket(const FileSource& socket, Diagnostics& diagnostics) {
    struct stat facts {};
    if (::lstat(socket.path.c_str(), &facts) == 0) {
        if (!S_ISSOCK(facts.st_mode))
            diagnostics.add(socket.place, fmt::format("{} is not a socket", in_quotes(socket.path)),
                            "expected an unused path, or the socket of a daemon");
        return;
    }
    const Error error = system_error(socket.path);
    if (root_may_know(error)) diagnostics.note(socket.place, socket.path, error);
}

// Checks each package once, because an event's markers share their binary.
void check_package(const MarkerSource& source, std::set<std::string>& checked,
                   Diagnostics& diagnostics) {
    if (kind_of_program(source.marker.binary) != ProgramName::Package ||
        !checked.insert(source.marker.binary).second)
        return;
    const std::string_view package =
        std::string_view(source.marker.binary).substr(package_prefix.size());
    if (files_of_package(package)->empty())
        diagnostics.add(source.binary_place,
                        fmt::format("there is no package {}", in_quotes(package)),
                        "expected an installed Debian package",
                        "`dpkg -S PATH` prints the package of a program; */NAME also works for "
                        "programs that are only in containers");
}

}  // namespace

void check_machine(const MachineSources& sources, Diagnostics& diagnostics,
                   const OpenTraceFs& open_tracefs) {
    check_accounts(sources, diagnostics);
    if (sources.spool) check_folder(*sources.spool, diagnostics);
    if (sources.socket) check_socket(*sources.socket, diagnostics);
    for (const FileSource& scope : sources.scopes) check_scope(scope, diagnostics);
    for (const PresetSource& preset : sources.presets)
        check_preset(preset, diagnostics, open_tracefs);
    CheckedFiles files(diagnostics);
    FunctionCheck functions(files, diagnostics);
    TracepointCheck tracepoints(open_tracefs, diagnostics);
    const auto is_found_later = [](const MarkerSource& source) {
        return kind_of_program(source.marker.binary) != ProgramName::Path;
    };
    for (const MarkerSource& source : sources.markers)
        if (source.marker.kind == MarkerKind::Function && !is_found_later(source))
            functions.expect(source);
    std::set<std::string> checked_packages;
    for (const MarkerSource& source : sources.markers) {
        check_package(source, checked_packages, diagnostics);
        if (is_found_later(source)) continue;
        switch (source.marker.kind) {
            case MarkerKind::Usdt:
            case MarkerKind::Library: check_probe(source, files, diagnostics); break;
            case MarkerKind::Function: functions.check(source); break;
            case MarkerKind::RunQueue: break;
            case MarkerKind::Tracepoint: tracepoints.check(source); break;
        }
    }
}

}  // namespace lagtrap::settings
