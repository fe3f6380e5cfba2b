#include "daemon/processes/record_buffer.hpp"

#include <cstring>

namespace lagtrap::daemon {
namespace {

// True if the record's size matches its type and its own lengths.
bool is_whole(const lagtrap_record* record) {
    if (record->type == LAGTRAP_RECORD_PROCESS)
        return record->size_bytes >= sizeof(lagtrap_process) &&
               record->size_bytes - sizeof(lagtrap_process) ==
                   reinterpret_cast<const lagtrap_process*>(record)->text_bytes;
    if (record->type == LAGTRAP_RECORD_MAPPING)
        return record->size_bytes >= sizeof(lagtrap_mapping) &&
               record->size_bytes - sizeof(lagtrap_mapping) ==
                   reinterpret_cast<const lagtrap_mapping*>(record)->path_bytes;
    return false;
}

}  // namespace

void RecordBuffer::append(const void* record, std::size_t size, std::string_view text) {
    const std::size_t bytes = size + text.size();
    const std::size_t at = words_.size();
    words_.resize(at + (bytes + 7) / 8);
    char* const place = reinterpret_cast<char*>(words_.data() + at);
    std::memcpy(place, record, size);
    text.copy(place + size, text.size());
    reinterpret_cast<lagtrap_record*>(place)->size_bytes = static_cast<std::uint32_t>(bytes);
}

bool RecordBuffer::assign(std::string_view bytes) {
    words_.assign(bytes.size() / sizeof(std::uint64_t), 0);
    std::memcpy(words_.data(), bytes.data(), words_.size() * sizeof(std::uint64_t));
    std::size_t at = 0;
    while (at < words_.size()) {
        const auto* const record = reinterpret_cast<const lagtrap_record*>(words_.data() + at);
        const std::size_t words = (std::size_t{record->size_bytes} + 7) / 8;
        if (record->size_bytes < sizeof(lagtrap_record) || words > words_.size() - at ||
            !is_whole(record))
            break;
        at += words;
    }
    const bool whole = at == words_.size() && bytes.size() % sizeof(std::uint64_t) == 0;
    if (!whole) words_.clear();
    return whole;
}

std::string_view path_of(const lagtrap_mapping& mapping) {
    return {reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes};
}

}  // namespace lagtrap::daemon
