#include "daemon/capture/capture_logs.hpp"

#include <utility>

namespace lagtrap::daemon {

Status CaptureLogs::open(const std::filesystem::path& directory, const trace::Session& session) {
    const auto open_log = [&](std::optional<trace::LogWriter>& log, trace::LogKind kind) -> Status {
        TRY_ASSIGN(trace::LogWriter writer,
                   trace::LogWriter::create(directory, kind, session.id, session.clocks));
        log.emplace(std::move(writer));
        return success();
    };
    TRY(open_log(user_, trace::LogKind::User));
    TRY(open_log(kernel_, trace::LogKind::Kernel));
    return open_log(rundown_, trace::LogKind::Rundown);
}

void CaptureLogs::hold(const lagtrap_record* record) {
    is_full_ =
        is_full_ || held_.size_bytes() + beside_bytes_ + record->size_bytes > held_limit_bytes_;
    // Stack copies arrive at up to 32 MB/s. On a busy machine, moving the buffer as it grew took
    // longer than the ring took to fill.
    if (held_.empty()) held_.reserve(held_limit_bytes_);
    if (!is_full_) held_.append(record, record->size_bytes, {});
}

std::optional<trace::LogWriter>& CaptureLogs::log_of(const lagtrap_record* record) {
    switch (record->type) {
        case LAGTRAP_RECORD_RUN:
        case LAGTRAP_RECORD_RUN_SO_FAR:
        case LAGTRAP_RECORD_STACK_COPY:
        case LAGTRAP_RECORD_TRACE_TEXT: return user_;
        case LAGTRAP_RECORD_STACK:
            return reinterpret_cast<const lagtrap_stack*>(record)->kind == LAGTRAP_STACK_USER
                       ? user_
                       : kernel_;
        default:
            return record->type >= LAGTRAP_RECORD_THREAD && record->type <= LAGTRAP_RECORD_NAME
                       ? rundown_
                       : kernel_;
    }
}

void CaptureLogs::write(const lagtrap_record* record) {
    if (!are_open()) return hold(record);
    if (auto appended = log_of(record)->append(record); !appended && failure_) failure_ = appended;
}

void CaptureLogs::write(const RecordBuffer& records) {
    records.for_each([this](const lagtrap_record* record) { write(record); });
}

RecordBuffer CaptureLogs::take_held() { return std::exchange(held_, RecordBuffer()); }

Status CaptureLogs::flush() {
    TRY(user_->flush());
    TRY(kernel_->flush());
    return rundown_->flush();
}

std::uint64_t CaptureLogs::size_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto* log : {&user_, &kernel_, &rundown_})
        if (*log) bytes += (*log)->size_bytes();
    return bytes;
}

}  // namespace lagtrap::daemon
