#include <boost/json.hpp>

#include "analysis/recording.hpp"
#include "cli/bundles/bundle_finder.hpp"
#include "cli/bundles/confined_decoding.hpp"
#include "cli/commands.hpp"
#include "cli/reports/report_json.hpp"
#include "cli/reports/report_text.hpp"

namespace lagtrap::cli {
namespace {

Result<std::string> report_of(const analysis::Recording& recording, const ReportOptions& options,
                              const Console& console) {
    const std::size_t delays = recording.system.delays.size();
    if (options.delay && (*options.delay == 0 || *options.delay > delays))
        return make_error(ErrorKind::Invalid, "there is no delay " + std::to_string(*options.delay) +
                                                  "; the recording has " + std::to_string(delays));
    if (options.json) return boost::json::serialize(report_json(recording, options.delay)) + "\n";
    return report_text(recording, options.delay, {console.paint, console.columns, options.all});
}

}  // namespace

int show_report(const ReportOptions& options, Console& console) {
    const auto path = find_bundle(options.bundle, options.spool);
    if (!path) return console.fail(path.error().message);
    const auto text = decode_confined(*path, [&](const std::filesystem::path& opened) -> Result<std::string> {
        TRY_ASSIGN(const auto recording, analysis::read_recording(opened));
        return report_of(recording, options, console);
    });
    if (!text) return console.fail(text.error().message);
    console.out << *text;
    return exit_done;
}

}  // namespace lagtrap::cli
