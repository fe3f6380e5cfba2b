#include "analysis/folded.hpp"
#include "analysis/recording.hpp"
#include "cli/bundle_finder.hpp"
#include "cli/commands.hpp"
#include "core/files.hpp"

namespace lagtrap::cli {

namespace {

Result<std::string> folded_export(const std::filesystem::path& path, const ExportOptions& options) {
    TRY_ASSIGN(const auto recording, analysis::read_recording(path));
    const auto kind = options.off_cpu ? analysis::FoldedKind::OffCpu : analysis::FoldedKind::OnCpu;
    if (!options.delay) return analysis::folded_text(analysis::fold_recording(recording, kind));
    const auto& delays = recording.system.delays;
    if (*options.delay == 0 || *options.delay > delays.size()) {
        return make_error(ErrorKind::NotFound, "there is no delay " + std::to_string(*options.delay) +
                                                   "; the recording has " + std::to_string(delays.size()));
    }
    return analysis::folded_text(analysis::fold_delay(recording, delays[*options.delay - 1], kind));
}

Result<std::string> export_text(const std::filesystem::path& path, const ExportOptions& options) {
    if (options.format == ExportFormat::Folded) return folded_export(path, options);
    TRY_ASSIGN(auto files, analysis::read_recording_files(path));
    return options.format == ExportFormat::Trace ? std::move(files.trace) : std::move(files.system_xml);
}

}  // namespace

int export_recording(const ExportOptions& options, Console& console) {
    const auto path = find_bundle(options.bundle, options.spool);
    if (!path) return console.fail(path.error().message);
    const auto text = export_text(*path, options);
    if (!text) return console.fail(text.error().message);
    if (!options.output.empty()) {
        const auto written = write_file_durably(options.output, *text);
        return written ? exit_done : console.fail(written.error().message);
    }
    console.out.write(text->data(), static_cast<std::streamsize>(text->size()));
    console.out.flush();
    return console.out ? exit_done : console.fail("writing to standard output failed");
}

}  // namespace lagtrap::cli
