#include "cli/bundles/bundle_finder.hpp"

#include <algorithm>

namespace lagtrap::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view bundle_ending = ".lagtrap.tar.zst";
constexpr std::size_t min_prefix = 4;

struct Found {
    fs::path path;
    fs::file_time_type made;
};

// A missing folder counts as empty; an unreadable one is an error.
Status add_bundles(const fs::path& folder, std::vector<Found>& found) {
    std::error_code failure;
    fs::directory_iterator entries(folder, failure);
    if (failure == std::errc::no_such_file_or_directory) return success();
    for (; !failure && entries != fs::directory_iterator(); entries.increment(failure)) {
        if (!entries->path().filename().string().ends_with(bundle_ending)) continue;
        std::error_code vanished;
        const auto made = fs::last_write_time(entries->path(), vanished);
        if (!vanished) found.push_back({entries->path(), made});
    }
    if (failure) return system_error("search for bundles in " + folder.string(), failure.value());
    return success();
}

bool looks_like_path(const std::string& wanted) {
    return wanted.find('/') != std::string::npos || wanted.ends_with(bundle_ending) ||
           wanted.ends_with(".pftrace");
}

}  // namespace

Result<std::vector<fs::path>> bundles_of_spool(const fs::path& spool) {
    std::vector<Found> found;
    for (const char* state : {"", "ready", "sending", "sent", "rejected"})
        TRY(add_bundles(spool / state, found));
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
        return a.made != b.made ? a.made > b.made : a.path < b.path;
    });
    std::vector<fs::path> paths;
    paths.reserve(found.size());
    for (const Found& bundle : found) paths.push_back(bundle.path);
    return paths;
}

Result<fs::path> find_bundle(const std::string& wanted, const fs::path& spool) {
    std::error_code ignored;
    if (!wanted.empty() && fs::exists(wanted, ignored)) return fs::path(wanted);
    if (looks_like_path(wanted)) return make_error(ErrorKind::NotFound, "no such file: " + wanted);
    TRY_ASSIGN(const auto bundles, bundles_of_spool(spool));
    if (wanted.empty()) {
        if (!bundles.empty()) return bundles.front();
        return make_error(ErrorKind::NotFound, "no bundle in the spool " + spool.string() +
                                                   "; name a file, or another spool with --spool");
    }
    if (wanted.size() < min_prefix) {
        return make_error(ErrorKind::Invalid,
                          "\"" + wanted + "\" is not a file, and too short for a session id; " +
                              "give " + std::to_string(min_prefix) + " characters or more");
    }
    std::vector<fs::path> matches;
    for (const fs::path& bundle : bundles) {
        if (bundle.filename().string().starts_with(wanted)) matches.push_back(bundle);
    }
    if (matches.size() == 1) return matches.front();
    if (matches.empty()) {
        return make_error(ErrorKind::NotFound, "no file \"" + wanted +
                                                   "\", and no bundle in the spool " +
                                                   spool.string() + " whose name begins like this");
    }
    return make_error(ErrorKind::Invalid,
                      "\"" + wanted + "\" matches " + std::to_string(matches.size()) +
                          " bundles, such as " + matches[0].filename().string() + " and " +
                          matches[1].filename().string() + "; give more characters");
}

Result<std::vector<fs::path>> find_bundles(const std::vector<std::string>& wanted,
                                           const fs::path& spool) {
    std::vector<fs::path> found;
    const auto add = [&found](const fs::path& path) {
        if (std::find(found.begin(), found.end(), path) == found.end()) found.push_back(path);
    };
    for (const std::string& one : wanted) {
        std::error_code unknown;
        const bool is_folder =
            fs::is_directory(one, unknown) && !fs::exists(fs::path(one) / "trace.pftrace", unknown);
        if (!is_folder) {
            TRY_ASSIGN(const fs::path path, find_bundle(one, spool));
            add(path);
            continue;
        }
        TRY_ASSIGN(const auto bundles, bundles_of_spool(one));
        if (bundles.empty())
            return make_error(ErrorKind::NotFound, "no bundle in the folder " + one +
                                                       "; bundles are files named *" +
                                                       std::string(bundle_ending));
        for (const fs::path& bundle : bundles) add(bundle);
    }
    return found;
}

}  // namespace lagtrap::cli
