#include "trace/merge/capture_contents.hpp"

#include <string>
#include <utility>

namespace lagtrap::trace {

CaptureContents::CaptureContents(const std::filesystem::path& capture_directory,
                                 const MergeOptions& merge_options, Session capture_session)
    : directory(capture_directory),
      options(merge_options),
      session(std::move(capture_session)),
      offset_ns(session.clocks.boottime_ns - session.clocks.monotonic_ns),
      stacks(spaces, merge_options.stacks_limit_bytes),
      sorter(capture_directory, merge_options.runs_limit_bytes),
      run_details(merge_options.delays_limit),
      partial(!session.finished) {
    file.quality = session.quality;
}

Result<std::optional<LogReader>> CaptureContents::open_log(LogKind kind) {
    auto reader = LogReader::open(directory / log_file_name(kind));
    if (!reader) {
        const bool torn =
            reader.error().kind == ErrorKind::NotFound || reader.error().kind == ErrorKind::Invalid;
        if (!torn) return reader.error();
        partial = true;
        return std::optional<LogReader>();
    }
    if (reader->summary().session_id != session.id || reader->summary().kind != kind)
        return make_error(ErrorKind::Invalid,
                          std::string(log_file_name(kind)) + ": belongs to session " +
                              reader->summary().session_id + ", not to " + session.id);
    return std::optional<LogReader>(std::move(reader).value());
}

Result<RecordStream> CaptureContents::open_stream(LogKind kind) {
    TRY_ASSIGN(const auto reader, open_log(kind));
    if (!reader) return RecordStream::missing();
    return RecordStream::open(directory / log_file_name(kind), options.reorder_window_records);
}

}  // namespace lagtrap::trace
