#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/bundles/bundle_finder.hpp"
#include "cli/commands.hpp"
#include "core/digest.hpp"
#include "core/files.hpp"
#include "settings/parser.hpp"
#include "spool/spool.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::cli {

namespace {

namespace fs = std::filesystem;

// Next to this program, as installed or as built; otherwise from PATH.
std::string find_uploader() {
    std::error_code ignored;
    const fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const fs::path& place :
         {own / "lagtrap-uploader", own.parent_path() / "uploader" / "lagtrap-uploader"}) {
        if (fs::exists(place, ignored)) return place.string();
    }
    return "lagtrap-uploader";
}

// Runs a program and returns its exit code; fails if it ended in any other way.
Result<int> run_program(std::vector<std::string> arguments) {
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_t pid = 0;
    const int failure =
        ::posix_spawnp(&pid, pointers[0], nullptr, nullptr, pointers.data(), environ);
    if (failure != 0) return system_error("starting " + arguments[0], failure);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) return system_error("wait for " + arguments[0]);
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return make_error(ErrorKind::System,
                      arguments[0] + " was killed by signal " + std::to_string(WTERMSIG(status)));
}

// The bundle's name in a spool, whatever its file is called.
Result<std::string> spool_name(const fs::path& bundle) {
    TRY_ASSIGN(const std::string text, trace::read_bundle_system_file(bundle));
    TRY_ASSIGN(const trace::SystemFile system, trace::read_system_file(text));
    TRY_ASSIGN(const std::string digest, sha256_of_file(bundle));
    return spool::make_bundle_name(system.session_id, digest);
}

Status copy_bundles(const std::vector<std::string>& bundles, const std::string& known_spool,
                    const fs::path& ready) {
    TRY(make_directories(ready));
    for (const std::string& bundle : bundles) {
        TRY_ASSIGN(const fs::path found, find_bundle(bundle, known_spool));
        TRY_ASSIGN(const std::string name, spool_name(found));
        std::error_code failure;
        fs::copy_file(found, ready / name, fs::copy_options::overwrite_existing, failure);
        if (failure)
            return system_error("copy " + found.string() + " for the upload", failure.value());
    }
    return success();
}

// Foreign bundles are copied to a temporary spool.
Result<std::string> make_spool(const std::vector<std::string>& bundles,
                               const std::string& known_spool) {
    std::string name = (fs::temp_directory_path() / "lagtrap-upload-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return system_error("create a folder for the upload");
    if (const auto copied = copy_bundles(bundles, known_spool, fs::path(name) / "ready"); !copied) {
        std::error_code ignored;
        fs::remove_all(name, ignored);
        return copied.error();
    }
    return name;
}

// Where bundles given by a short name may be. If the settings are unreadable, nothing is known;
// lagtrap-uploader will report what is wrong.
std::string searched_spool(const UploadOptions& options) {
    if (!options.spool.empty()) return options.spool;
    const auto outcome = settings::load_settings(options.settings, settings::BinaryCheck::Skip);
    return outcome.ok() ? outcome.settings.spool.path : std::string();
}

}  // namespace

int upload_bundles(const UploadOptions& options, Console& console) {
    std::vector<std::string> arguments{
        options.uploader.empty() ? find_uploader() : options.uploader, "--settings",
        options.settings, "--once"};
    std::string own_spool;
    if (!options.bundles.empty()) {
        auto made = make_spool(options.bundles, searched_spool(options));
        if (!made) return console.fail(made.error().message);
        own_spool = *made;
    }
    const std::string& spool = own_spool.empty() ? options.spool : own_spool;
    if (!spool.empty()) arguments.insert(arguments.end(), {"--spool", spool});
    const auto code = run_program(arguments);
    if (!own_spool.empty()) {
        std::error_code ignored;
        fs::remove_all(own_spool, ignored);
    }
    return code ? *code : console.fail(code.error().message);
}

}  // namespace lagtrap::cli
