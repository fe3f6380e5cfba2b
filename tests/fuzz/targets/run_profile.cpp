// A stored profile of a run, and what the server does with it.
#include "analysis/run_profile.hpp"

#include <cstdint>
#include <cstdlib>

#include "analysis/flame.hpp"
#include "server/reports/causes.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap;

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

void find_causes(const analysis::RunProfile& profile) {
    server::reports::CauseFinder finder;
    for (const bool delayed : {false, true}) {
        server::reports::ProfiledRun run;
        run.delayed = delayed;
        run.host = "host";
        for (int i = 0; i < 6; ++i) finder.add(run, profile);
    }
    (void)finder.find();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto profile = analysis::read_run_profile(fuzz::text_of(data, size));
    if (!profile) return 0;
    std::uint64_t time_ns = 0;
    for (const analysis::ProfileEntry& entry : profile->entries) time_ns += entry.time_ns;
    check(time_ns == profile->duration_ns);
    const auto bytes = analysis::write_run_profile(*profile);
    check(!bytes || analysis::read_run_profile(*bytes).ok());
    for (const auto time : {analysis::FlameTime::All, analysis::FlameTime::OffCpu})
        check(!analysis::flame_of(*profile, {}, time).nodes.empty());
    find_causes(*profile);
    return 0;
}
