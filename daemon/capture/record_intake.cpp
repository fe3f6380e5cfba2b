#include "daemon/capture/record_intake.hpp"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <utility>

#include "daemon/capture/recorder_rules.hpp"
#include "daemon/kernel/libbpf_support.hpp"

namespace lagtrap::daemon {
namespace {

// Takes up to 30 ms on a busy machine, if the memory is fresh.
constexpr std::uint64_t part_bytes = 1 << 20;

}  // namespace

Status RecordIntake::map(int records_fd, int runs_fd, int copies_fd) {
    if (rings_ != nullptr) return success();
    const auto on_record = [](void* self, void* data, std::size_t size) {
        auto* const intake = static_cast<RecordIntake*>(self);
        intake->take(static_cast<const lagtrap_record*>(data));
        intake->left_to_consume_bytes_ -=
            std::min<std::uint64_t>(size, intake->left_to_consume_bytes_);
        return intake->left_to_consume_bytes_ == 0 ? -EAGAIN : 0;
    };
    rings_ = ring_buffer__new(records_fd, on_record, this, nullptr);
    if (!rings_) return libbpf_error("map the ring of records", -errno);
    if (const int failed = ring_buffer__add(rings_, runs_fd, on_record, this); failed != 0)
        return libbpf_error("map the ring of runs", failed);
    if (const int failed = ring_buffer__add(rings_, copies_fd, on_record, this); failed != 0)
        return libbpf_error("map the ring of stack copies", failed);
    return success();
}

void RecordIntake::unmap() { ring_buffer__free(std::exchange(rings_, nullptr)); }

void RecordIntake::take(const lagtrap_record* record) {
    const RecordTarget target = target_of(record, take_ != nullptr, history_.has_value());
    if (target == RecordTarget::Recording) take_(record);
    if (target == RecordTarget::History) history_->take(record);
}

Result<bool> RecordIntake::consume_rings(std::uint64_t max_bytes) {
    if (rings_ == nullptr) return false;
    left_to_consume_bytes_ = max_bytes;
    const int failed = ring_buffer__consume(rings_);
    if (failed == -EAGAIN) return true;
    if (failed < 0) return libbpf_error("read the ring of records", failed);
    return false;
}

Status RecordIntake::consume() {
    if (auto consumed = consume_rings(std::numeric_limits<std::uint64_t>::max()); !consumed)
        return consumed.error();
    return success();
}

Status RecordIntake::consume_present() {
    if (rings_ == nullptr) return success();
    std::uint64_t present_bytes = 0;
    for (unsigned i = 0; const ring* const one = ring_buffer__ring(rings_, i); ++i)
        present_bytes += ring__avail_data_size(one);
    if (auto consumed = consume_rings(present_bytes); !consumed) return consumed.error();
    return success();
}

Result<bool> RecordIntake::consume_part() { return consume_rings(part_bytes); }

}  // namespace lagtrap::daemon
