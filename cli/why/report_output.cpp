#include "cli/why/report_output.hpp"

#include <fcntl.h>

#include "core/files.hpp"

namespace lagtrap::cli {

Status ReportOutput::open(const std::string& file) {
    if (file.empty()) return success();
    auto opened = open_file(file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    // Without an errno, which would be taken for one of the command.
    if (!opened) return make_error(opened.error().kind, "--output: " + opened.error().message);
    file_ = std::move(*opened);
    return success();
}

Status ReportOutput::write(const std::string& text, std::ostream& stream) const {
    if (file_.valid()) return write_all(file_.get(), text.data(), text.size());
    stream << text << std::flush;
    return success();
}

}  // namespace lagtrap::cli
