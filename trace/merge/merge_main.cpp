// lagtrap-merge [--without-names] CAPTURE_DIRECTORY OUTPUT_DIRECTORY: merges a capture and packs it
// into a bundle. With --without-names, it opens no program, whose file system might hang.
//
// A separate program, so that its memory use and crashes do not affect the daemon. Prints one line
// of JSON. Exit status: 0 merged, 1 failed (reason on standard error), 2 wrong usage. Keeps the
// capture; merging it again makes no second bundle.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include <fmt/core.h>

#include "core/disk_time.hpp"
#include "trace/logs/session.hpp"
#include "trace/merge/capture_bundle.hpp"
#include "trace/merge/confined_merge.hpp"

namespace {

using namespace lagtrap;

// Lowers its priority, so that the machine's own work comes first. If the kernel or a container
// refuses that, the result is the same.
void step_back() {
    (void)::setpriority(PRIO_PROCESS, 0, 19);
    use_least_disk_time();
}

// `text` for a JSON string: paths may contain quotes.
std::string escaped(const std::string& text) {
    std::string safe;
    for (const char c : text) {
        if (c == '"' || c == '\\') safe += '\\';
        if (static_cast<unsigned char>(c) < 0x20) {
            safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            safe += c;
        }
    }
    return safe;
}

void print(const trace::CaptureBundle& made, std::chrono::steady_clock::time_point begun) {
    const trace::MergeSummary& merged = made.merged;
    const trace::BundleInfo& bundle = made.bundle;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    fmt::print(
        "{{\"bundle\":\"{}\",\"digest\":\"{}\",\"bytes\":{},\"trace_bytes\":{},\"delays\":{},"
        "\"runs\":{},"
        "\"samples\":{},\"switches\":{},\"late_records\":{},\"partial\":{},\"made_before\":{},"
        "\"seconds\":{:.3f},\"peak_memory_bytes\":{}}}\n",
        escaped(bundle.path.string()), bundle.digest, bundle.size_bytes, merged.trace_bytes,
        merged.delays, merged.runs, merged.samples, merged.switches, merged.late_records,
        merged.partial, made.made_before, took.count(),
        static_cast<unsigned long long>(usage.ru_maxrss) * 1024);
}

int fail(const Error& error) {
    std::fprintf(stderr, "lagtrap-merge: %s\n", error.message.c_str());
    return 1;
}

int run(const std::filesystem::path& capture, const std::filesystem::path& output,
        trace::Programs programs) {
    const auto begun = std::chrono::steady_clock::now();
    const auto claim = trace::claim_capture(capture, output);
    if (!claim) return fail(claim.error());
    if (claim->made) {
        print(*claim->made, begun);
        return 0;
    }
    const auto session = trace::read_session(capture);
    if (!session) return fail(session.error());
    const auto merge = [&] {
        trace::MergeOptions options;
        options.symbols.open_programs = programs == trace::Programs::Opened;
        const auto made = trace::bundle_capture(capture, output, options);
        if (!made) return fail(made.error());
        print(*made, begun);
        return 0;
    };
    const auto ended = trace::merge_confined(capture, output, session->id, programs, merge);
    return ended ? *ended : fail(ended.error());
}

}  // namespace

int main(int argc, char** argv) {
    const bool without_names = argc == 4 && std::string_view(argv[1]) == "--without-names";
    if (argc != 3 && !without_names) {
        std::fputs("usage: lagtrap-merge [--without-names] CAPTURE_DIRECTORY OUTPUT_DIRECTORY\n",
                   stderr);
        return 2;
    }
    step_back();
    const int status = run(argv[argc - 2], argv[argc - 1],
                           without_names ? trace::Programs::LeftAlone : trace::Programs::Opened);
    // Skip exit handlers: a leak check needs system calls that are no longer allowed.
    (void)std::fflush(nullptr);
    ::_exit(status);
}
