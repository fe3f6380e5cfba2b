#include "trace/logs/lines_file.hpp"

#include "core/files.hpp"

namespace lagtrap::trace {

Status read_lines(const std::filesystem::path& capture, const LinesFile& kind,
                  const std::function<bool(const std::string& line)>& take) {
    TRY_ASSIGN(const std::string content,
               read_file(capture / kind.name, kind.limit_bytes + kind.last_line_bytes));
    for (std::size_t at = 0, end = 0; (end = content.find('\n', at)) != std::string::npos;
         at = end + 1)
        if (!take(content.substr(at, end - at))) break;
    return success();
}

}  // namespace lagtrap::trace
