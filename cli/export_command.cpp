#include "analysis/recording.hpp"
#include "cli/bundles/bundle_finder.hpp"
#include "cli/bundles/confined_decoding.hpp"
#include "cli/commands.hpp"
#include "core/files.hpp"
#include "formats/format_table.hpp"

namespace lagtrap::cli {

namespace {

Result<std::string> export_text(const std::filesystem::path& path, const formats::Format& format,
                                const ExportOptions& options) {
    if (format.encode == nullptr && format.encode_delays == nullptr) {
        TRY_ASSIGN(auto files, analysis::read_recording_files(path));
        return format.name == "pftrace" ? std::move(files.trace) : std::move(files.system_xml);
    }
    TRY_ASSIGN(const auto recording, analysis::read_recording(path));
    if (format.encode_delays != nullptr) return format.encode_delays(recording, options.delay);
    formats::ProfileChoice choice;
    choice.delay = options.delay;
    choice.thread = options.thread;
    choice.time = options.time.value_or(format.time);
    TRY_ASSIGN(const auto profile, formats::profile_of_recording(recording, choice));
    return format.encode(profile);
}

}  // namespace

int export_recording(const ExportOptions& options, Console& console) {
    if (options.list) {
        console.out << formats::list_formats();
        return exit_done;
    }
    const formats::Format* format = formats::find_format(options.format);
    if (format == nullptr) return console.fail("unknown format \"" + options.format + "\"");
    if (format->encode_delays != nullptr && (options.time || !options.thread.empty())) {
        (void)console.fail(
            "--format " + options.format +
            " exports whole delays; it does not accept --thread, --on-cpu, --off-cpu and --all");
        return exit_usage;
    }
    if (format->encode == nullptr && format->encode_delays == nullptr &&
        (options.delay || options.time || !options.thread.empty())) {
        (void)console.fail("--format " + options.format +
                           " exports the whole recording; it does not accept --delay, --thread, "
                           "--on-cpu, --off-cpu and --all");
        return exit_usage;
    }
    if (options.output.empty() && format->binary && console.terminal) {
        (void)console.fail("--format " + options.format + " is binary; name a file with --output");
        return exit_usage;
    }
    const auto path = find_bundle(options.bundle, options.spool);
    if (!path) return console.fail(path.error().message);
    const auto text = decode_confined(*path, [&](const std::filesystem::path& opened) {
        return export_text(opened, *format, options);
    });
    if (!text) return console.fail(text.error().message);
    if (!options.output.empty()) {
        const auto written = write_file_durably(options.output, *text);
        return written ? exit_done : console.fail(written.error().message);
    }
    console.out.write(text->data(), static_cast<std::streamsize>(text->size()));
    console.out.flush();
    return console.out ? exit_done : console.fail("cannot write to standard output");
}

}  // namespace lagtrap::cli
