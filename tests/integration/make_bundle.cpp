// Writes a small real bundle for the integration tests: make_bundle SESSION HOST OUTPUT_DIRECTORY. Prints its path.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/files.hpp"
#include "trace/bundle.hpp"
#include "trace/system_file.hpp"

namespace {

namespace trace = lagtrap::trace;

trace::SystemFile make_system_file(const std::string& session, const std::string& host) {
    trace::SystemFile file;
    file.session_id = session;
    file.lagtrap_version = LAGTRAP_VERSION;
    file.host = host;
    file.os_name = "Debian GNU/Linux 12 (bookworm)";
    file.kernel_release = "6.1.0";
    file.architecture = "x86_64";
    file.cpu_count = 2;
    file.started_realtime_ns = 1'795'236'789'000'000'000;
    file.length_ns = 4'000'000'000;
    file.sample_interval_ns = 1'000'000;
    file.stack_method = "frame-pointer";
    file.trigger_reason = "deadline";
    file.trigger_event = "query";
    file.runs["query"] = {10'000, 2};
    for (const std::uint64_t duration_ns : {60'000'000, 81'000'000}) {
        trace::Delay delay;
        delay.event = "query";
        delay.threshold_ns = 50'000'000;
        delay.duration_ns = duration_ns;
        delay.process = "postgres";
        delay.thread = "postgres";
        delay.program = "/usr/lib/postgresql/15/bin/postgres";
        file.delays.push_back(delay);
    }
    return file;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return EXIT_FAILURE;
    std::string pattern = std::filesystem::temp_directory_path() / "lagtrap-make-bundle-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return EXIT_FAILURE;
    const std::filesystem::path directory = pattern;
    const std::string xml = trace::write_system_file(make_system_file(argv[1], argv[2]));
    const bool written = lagtrap::write_file_durably(directory / "trace.pftrace", "no packets").ok() &&
                         lagtrap::write_file_durably(directory / "system.xml", xml).ok() &&
                         lagtrap::write_file_durably(directory / "settings.xml", "<lagtrap/>").ok();
    const auto bundle = trace::write_bundle(directory, argv[1], argv[3]);
    std::filesystem::remove_all(directory);
    if (!written || !bundle) {
        std::fprintf(stderr, "%s\n", bundle ? "can not write" : bundle.error().message.c_str());
        return EXIT_FAILURE;
    }
    std::puts(bundle->path.c_str());
    return EXIT_SUCCESS;
}
