#include <algorithm>
#include <optional>

#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "cli/console/interrupt.hpp"
#include "cli/console/text_layout.hpp"
#include "cli/servers/bundle_fetch.hpp"
#include "cli/servers/server_access.hpp"
#include "core/clock.hpp"
#include "core/duration.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::chrono::hours max_download{1};

// What happened to one bundle.
struct Fetched {
    ServerBundle bundle;
    std::string file;
    std::optional<BundleFetch::Outcome> outcome;  // nullopt if it failed
    std::string problem;
};

Result<BundleFilter> filter_of(const FetchOptions& options) {
    BundleFilter filter{options.event, options.host, options.cause, 0, options.limit};
    if (options.since.empty()) return filter;
    const auto length = parse_duration(options.since);
    if (!length) return make_error(ErrorKind::Invalid, "--since: " + length.error().message);
    const std::uint64_t now_ns = ClockSnapshot::take().realtime_ns;
    filter.since_realtime_ns =
        now_ns - std::min(now_ns, static_cast<std::uint64_t>(length->count()));
    return filter;
}

Fetched fetch_one(BundleFetch& server, const ServerBundle& bundle, const FetchOptions& options) {
    Fetched fetched{bundle, (fs::path(options.folder) / file_name_of(bundle)).string(),
                    std::nullopt, ""};
    const auto outcome = server.fetch(bundle, options.folder);
    if (!outcome) {
        fetched.problem = hinted(outcome.error(), !options.token_file.empty()).message;
    } else {
        fetched.outcome = *outcome;
    }
    return fetched;
}

std::string row_of(const Fetched& fetched) {
    const ServerBundle& bundle = fetched.bundle;
    std::string text = printable(fetched.file) + "  " + format_byte_size(bundle.bytes) + "  " +
                       bundle.host + "  " + bundle.event + ", " +
                       counted(bundle.delays, "delay", "delays");
    if (bundle.delays > 0) text += ", longest " + duration(bundle.longest_delay_ns);
    if (!bundle.unreadable.empty())
        text += "  (the server cannot read it: " + bundle.unreadable + ")";
    return text +
           (fetched.outcome == BundleFetch::Outcome::AlreadyThere ? "  already there\n" : "\n");
}

const char* state_of(const Fetched& fetched) {
    if (!fetched.outcome) return "failed";
    return *fetched.outcome == BundleFetch::Outcome::Fetched ? "fetched" : "already there";
}

json::object row_json(const Fetched& fetched) {
    const ServerBundle& bundle = fetched.bundle;
    return {
        {"file", printable(fetched.file)},
        {"state", state_of(fetched)},
        {"problem", fetched.problem.empty() ? json::value(nullptr) : json::value(fetched.problem)},
        {"digest", bundle.digest},
        {"bytes", bundle.bytes},
        {"host", bundle.host},
        {"event", bundle.event},
        {"delays", bundle.delays},
        {"longest_delay_ns", bundle.longest_delay_ns}};
}

int fetch_all(BundleFetch& server, const std::vector<ServerBundle>& bundles,
              const FetchOptions& options, Console& console) {
    json::array rows;
    bool failed = false;
    for (const ServerBundle& bundle : bundles) {
        if (interrupted != 0)
            return console.fail("interrupted; repeat the command to fetch the rest");
        const Fetched fetched = fetch_one(server, bundle, options);
        failed = failed || !fetched.outcome;
        if (!fetched.outcome)
            console.err << "lagtrap: " << fetched.file << ": " << fetched.problem << "\n";
        rows.push_back(row_json(fetched));
        if (!options.json && fetched.outcome) console.out << row_of(fetched) << std::flush;
    }
    if (options.json)
        console.out << json::serialize(json::object{{"bundles", std::move(rows)}}) << "\n";
    return failed ? exit_failed : exit_done;
}

}  // namespace

int fetch_bundles(const FetchOptions& options, Console& console) {
    const auto filter = filter_of(options);
    if (!filter) return console.fail(filter.error().message);
    auto transfer =
        reach_server({options.server, options.token_file, options.ca_file}, max_download);
    if (!transfer) return console.fail(transfer.error().message);
    note_interrupts();
    BundleFetch server(std::move(transfer).value(), [] { return interrupted == 0; });
    const auto bundles = server.find(*filter);
    if (!bundles) return console.fail(hinted(bundles.error(), !options.token_file.empty()).message);
    if (bundles->empty()) return console.fail("the server has no such bundle");
    if (const Status made = make_directories(options.folder); !made)
        return console.fail(made.error().message);
    return fetch_all(server, *bundles, options, console);
}

}  // namespace lagtrap::cli
