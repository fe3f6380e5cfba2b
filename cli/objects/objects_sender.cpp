#include "cli/objects/objects_sender.hpp"

#include <sys/utsname.h>

#include <filesystem>
#include <utility>

#include "core/clock.hpp"
#include "core/digest.hpp"
#include "core/files.hpp"
#include "trace/logs/session.hpp"

namespace lagtrap::cli {
namespace {

// Only those who may read the spool can enter it, and the uploader is neither this user nor in its
// group.
constexpr unsigned part_mode = 0644;

}  // namespace

ObjectsSender::ObjectsSender(spool::Spool spool, std::uint32_t pid, std::string process)
    : spool_(std::move(spool)),
      watch_id_(random_uuid()),
      boot_id_(trace::running_boot_id()),
      pid_(pid),
      process_(std::move(process)),
      since_(Clock::now()) {
    utsname names{};
    if (::uname(&names) == 0) host_ = names.nodename;
}

Result<ObjectsSender> ObjectsSender::open(const std::string& spool, std::uint32_t pid,
                                          std::string process) {
    TRY_ASSIGN(spool::Spool opened, spool::Spool::open(spool));
    return ObjectsSender(std::move(opened), pid, std::move(process));
}

Status ObjectsSender::add(const std::string& line, Clock::time_point now) {
    bytes_ += line.size() + 1;
    lines_.push_back(line);
    // Send the first line at once: it defines what the others refer to, and followers start with
    // it.
    if (parts_ != 0 && now - since_ < part_time && bytes_ < part_bytes) return success();
    since_ = now;
    return write(false);
}

Status ObjectsSender::end() { return write(true); }

Status ObjectsSender::write(bool last) {
    std::vector<std::string> lines = std::exchange(lines_, {});
    bytes_ = 0;
    if (!last && waiting() >= max_waiting) {
        lose(lines.size());
        return success();
    }
    const Status written = write_part(lines, last);
    if (!written) lose(lines.size());
    return written;
}

// Splits lines that are too large together in halves. A single line that is too large is lost.
Status ObjectsSender::write_part(const std::vector<std::string>& lines, bool last) {
    trace::RunBatch batch;
    batch.batch_id = random_uuid();
    batch.host = host_;
    batch.boot_id = boot_id_;
    batch.version = LAGTRAP_VERSION;
    batch.made_realtime_ns = ClockSnapshot::take().realtime_ns;
    trace::ObjectsPart& part = batch.objects.emplace();
    part.watch_id = watch_id_;
    part.number = parts_ + 1;
    part.pid = pid_;
    part.process = process_;
    part.lost_lines = lost_lines_;
    part.last = last;
    for (const std::string& line : lines) part.lines += line + '\n';
    const auto bytes = trace::write_run_batch(batch);
    if (!bytes && bytes.error().kind == ErrorKind::TooLarge) {
        if (lines.size() == 1) {
            lose(1);
            return last ? write_part({}, true) : success();
        }
        const auto middle = lines.begin() + static_cast<std::ptrdiff_t>(lines.size() / 2);
        TRY(write_part({lines.begin(), middle}, false));
        return write_part({middle, lines.end()}, last);
    }
    if (!bytes) return bytes.error();
    const std::string name = spool::make_batch_name(batch.batch_id, sha256_of(*bytes));
    TRY(write_file_durably(spool_.path_of(spool::EntryState::Ready, name), *bytes, part_mode));
    written_.push_back(name);
    ++parts_;
    lost_lines_ = 0;
    return success();
}

std::size_t ObjectsSender::waiting() {
    std::erase_if(written_, [this](const std::string& name) {
        std::error_code ignored;
        for (const auto state : {spool::EntryState::Ready, spool::EntryState::Sending})
            if (std::filesystem::exists(spool_.path_of(state, name), ignored)) return false;
        return true;
    });
    return written_.size();
}

void ObjectsSender::lose(std::uint64_t lines) {
    lost_lines_ += lines;
    lost_in_all_ += lines;
}

}  // namespace lagtrap::cli
