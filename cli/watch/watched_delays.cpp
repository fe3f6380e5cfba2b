#include "cli/watch/watched_delays.hpp"

#include <optional>
#include <system_error>

#include "analysis/recording.hpp"
#include "cli/bundles/confined_decoding.hpp"
#include "cli/reports/report_text.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

Status keep(const fs::path& bundle, const fs::path& as) {
    std::error_code failed;
    fs::copy_file(bundle, as, fs::copy_options::overwrite_existing, failed);
    if (!failed) return success();
    return make_error(ErrorKind::System, "--keep: cannot copy the recording to " +
                                             printable(as.string()) + ": " + failed.message());
}

}  // namespace

Status WatchedDelays::prepare() const {
    return folder_.empty() ? success() : make_directories(folder_, 0777);
}

Result<std::string> WatchedDelays::report(const fs::path& bundle, const std::string& name) {
    const ReportLook look{console_.paint, console_.columns, false};
    TRY_ASSIGN(const std::string made,
               decode_confined(bundle, [&](const fs::path& opened) -> Result<std::string> {
                   TRY_ASSIGN(const auto recording, analysis::read_recording(opened));
                   return summarize_delays(recording) + "\n" +
                          (full_ ? report_text(recording, std::nullopt, look)
                                 : report_beginning(recording, look));
               }));
    const std::size_t line_end = made.find('\n');
    TRY(add_summary(made.substr(0, line_end), name, list_));
    if (!folder_.empty()) TRY(keep(bundle, folder_ / fs::path(name).filename()));
    return made.substr(line_end + 1);
}

std::string WatchedDelays::text() {
    if (list_.delays.size() < 2) return "";
    sort_newest_first(list_);
    return causes_and_delays(list_, {console_.paint, console_.columns, false}, "newest first");
}

}  // namespace lagtrap::cli
