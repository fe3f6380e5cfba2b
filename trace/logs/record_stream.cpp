#include "trace/logs/record_stream.hpp"

#include <algorithm>
#include <cstring>

namespace lagtrap::trace {

Result<RecordStream> RecordStream::open(const std::filesystem::path& path,
                                        std::size_t window_records) {
    RecordStream stream;
    TRY_ASSIGN(LogReader reader, LogReader::open(path));
    stream.reader_ = std::make_unique<LogReader>(std::move(reader));
    stream.window_records_ = std::max<std::size_t>(window_records, 1);
    return stream;
}

RecordStream RecordStream::missing() {
    RecordStream stream;
    stream.ended_ = true;
    return stream;
}

Status RecordStream::fill() {
    while (!ended_ && heap_.size() < window_records_) {
        TRY_ASSIGN(const lagtrap_record* record, reader_->next());
        if (record == nullptr) {
            ended_ = true;
            break;
        }
        if (record->type == left_out_) continue;
        auto bytes = std::make_unique_for_overwrite<std::uint64_t[]>((record->size_bytes + 7) / 8);
        std::memcpy(bytes.get(), record, record->size_bytes);
        heap_.push_back({record->at_ns, read_++, std::move(bytes)});
        std::push_heap(heap_.begin(), heap_.end());
    }
    return success();
}

Result<const lagtrap_record*> RecordStream::peek() {
    TRY(fill());
    if (heap_.empty()) return static_cast<const lagtrap_record*>(nullptr);
    return reinterpret_cast<const lagtrap_record*>(heap_.front().bytes.get());
}

void RecordStream::pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
}

}  // namespace lagtrap::trace
