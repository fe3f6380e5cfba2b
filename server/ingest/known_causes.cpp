#include "server/ingest/known_causes.hpp"

#include <boost/json.hpp>

#include "analysis/run_profile.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint64_t looked_back_ns = 30ULL * 86'400 * 1'000'000'000;
constexpr std::uint32_t known_profiles_limit = 5000;
constexpr std::uint64_t clock_tolerance_ns = 86'400ULL * 1'000'000'000;  // as for runs

std::string frames_json(const reports::Cause& cause) {
    boost::json::array frames;
    for (const reports::CauseFrame& frame : cause.frames)
        frames.push_back({{"function", frame.function}, {"module", frame.module}});
    return boost::json::serialize(frames);
}

SightedCause sighted(const reports::Cause& cause) {
    SightedCause found{cause.signature, cause.title, std::string(to_text(cause.state)),
                       cause.reason,    {},          {},
                       cause.holder};
    constexpr std::size_t frames_limit_bytes = 64 * 1024;
    found.frames = frames_json(cause);
    if (found.frames.size() > frames_limit_bytes) found.frames = "[]";
    for (const reports::CauseDelay& delay : cause.delays)
        found.delays.push_back({delay.bundle, delay.delay, delay.host, delay.build,
                                delay.begin_realtime_ns, delay.excess_ns, delay.holder});
    return found;
}

}  // namespace

Status add_profiles(const DelayStore& store, const Filter& filter, std::uint32_t limit,
                    reports::CauseFinder& finder) {
    for (const bool delayed : {true, false}) {
        const Status read = store.profiles(filter, delayed, limit, [&](StoredDelay&& stored) {
            const auto profile = analysis::read_run_profile(stored.delay.profile);
            // Older or damaged profiles are skipped.
            if (!profile) return true;
            reports::ProfiledRun run;
            run.delayed = delayed;
            run.host = std::move(stored.host);
            run.user = std::move(stored.delay.user);
            run.build = std::move(stored.delay.build);
            run.begin_realtime_ns = stored.delay.begin_realtime_ns;
            run.bundle = std::move(stored.bundle);
            run.delay = stored.delay.number;
            finder.add(run, *profile);
            return true;
        });
        if (!read) return read;
    }
    return success();
}

Result<std::vector<CauseNews>> note_causes_of(const Store& store, const std::string& event,
                                              std::uint64_t now_realtime_ns) {
    Filter filter;
    filter.event = event;
    // A machine whose clock is wrong must not hide the delays of the others.
    filter.to_ns = now_realtime_ns + clock_tolerance_ns;
    TRY_ASSIGN(const DelayPage newest,
               store.everything().delays().list_delays(filter, {}, RunOrder::Newest, 1, {}));
    if (newest.delays.empty()) return std::vector<CauseNews>();
    const std::uint64_t last_ns = newest.delays.front().delay.begin_realtime_ns;
    filter.from_ns = last_ns > looked_back_ns ? last_ns - looked_back_ns : 0;
    reports::CauseFinder finder;
    TRY(add_profiles(store.everything().delays(), filter, known_profiles_limit, finder));
    std::vector<SightedCause> found;
    for (const reports::Cause& cause : finder.find().causes) found.push_back(sighted(cause));
    return store.found_causes().note_causes(event, found, now_realtime_ns);
}

}  // namespace lagtrap::server
