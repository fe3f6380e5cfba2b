#include "daemon/capture/capture_lines.hpp"

#include <fcntl.h>

#include <utility>

#include <boost/json.hpp>

#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::daemon {

Result<std::shared_ptr<CaptureLines>> CaptureLines::create(const std::filesystem::path& capture,
                                                           const trace::LinesFile& kind) {
    TRY_ASSIGN(UniqueFd file,
               open_file(capture / kind.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0640));
    return std::shared_ptr<CaptureLines>(new CaptureLines(std::move(file), kind));
}

// The merge ignores a line that a full disk cut short, and everything after it.
bool CaptureLines::write(const std::string& line, std::uint64_t limit_bytes) {
    const std::lock_guard lock(mutex_);
    if (written_bytes_ + line.size() + 1 > limit_bytes) return false;
    written_bytes_ += line.size() + 1;
    const std::string whole = line + "\n";
    return write_all(file_.get(), whole.data(), whole.size()).ok();
}

bool CaptureLines::say(const std::string& line) { return write(line, kind_.limit_bytes); }

namespace {

// The error in a last line made by refusal() of the control server. Empty for any other line.
std::string error_of(const std::string& last_line) {
    if (!last_line.starts_with(R"({"ok":false)")) return {};
    boost::system::error_code failure;
    const auto reported = boost::json::parse(last_line, failure);
    const auto* object = failure ? nullptr : reported.if_object();
    const auto* error = object ? object->if_contains("error") : nullptr;
    return error && error->is_string() ? printable(error->as_string()) : std::string();
}

}  // namespace

void CaptureLines::end(const std::string& line) {
    (void)write(line, kind_.limit_bytes + kind_.last_line_bytes);
    std::string refusal = error_of(line);
    std::function<void()> then;
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        refusal_ = std::move(refusal);
        then = std::exchange(then_, nullptr);
    }
    if (then) then();
}

std::string CaptureLines::refusal() {
    const std::lock_guard lock(mutex_);
    return refusal_;
}

void CaptureLines::finish(std::function<void()> then) {
    note_over();
    {
        const std::lock_guard lock(mutex_);
        if (!ended_) {
            then_ = std::move(then);
            return;
        }
    }
    then();
}

}  // namespace lagtrap::daemon
