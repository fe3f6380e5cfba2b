#include <boost/json.hpp>

#include "analysis/recording.hpp"
#include "cli/bundles/bundle_finder.hpp"
#include "cli/commands.hpp"
#include "cli/reports/report_json.hpp"
#include "cli/reports/report_text.hpp"

namespace lagtrap::cli {

int show_report(const ReportOptions& options, Console& console) {
    const auto path = find_bundle(options.bundle, options.spool);
    if (!path) return console.fail(path.error().message);
    const auto recording = analysis::read_recording(*path);
    if (!recording) return console.fail(recording.error().message);
    const std::size_t delays = recording->system.delays.size();
    if (options.delay && (*options.delay == 0 || *options.delay > delays)) {
        return console.fail("there is no delay " + std::to_string(*options.delay) + "; the recording has " +
                            std::to_string(delays));
    }
    if (options.json) {
        console.out << boost::json::serialize(report_json(*recording, options.delay)) << "\n";
    } else {
        console.out << report_text(*recording, options.delay, {console.paint, console.columns, options.all});
    }
    return exit_done;
}

}  // namespace lagtrap::cli
