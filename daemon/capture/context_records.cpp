#include "daemon/capture/context_records.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace lagtrap::daemon {

std::vector<std::string> wanted_keys(std::vector<std::string> keys,
                                     const std::vector<std::string>& wanted) {
    for (std::string& key : keys)
        if (std::find(wanted.begin(), wanted.end(), key) == wanted.end()) key.clear();
    return keys;
}

RecordBuffer context_keys_record(std::uint32_t pid, const std::vector<std::string>& keys,
                                 std::uint64_t now_ns) {
    std::string texts;
    for (const std::string& key : keys) texts.append(key) += '\0';
    lagtrap_context_keys record{};
    record.header = {0, LAGTRAP_RECORD_CONTEXT_KEYS, 0, now_ns};
    record.pid = pid;
    record.text_bytes = static_cast<std::uint32_t>(texts.size());
    RecordBuffer buffer;
    buffer.append(&record, sizeof(record), texts);
    return buffer;
}

RecordBuffer context_record(const lagtrap_context& record, const std::vector<std::string>& keys) {
    constexpr std::size_t head_bytes = 2;
    std::string_view rest(reinterpret_cast<const char*>(&record + 1), record.attribute_bytes);
    std::string kept;
    while (rest.size() >= head_bytes) {
        const auto key = static_cast<std::uint8_t>(rest[0]);
        const std::size_t bytes = head_bytes + static_cast<std::uint8_t>(rest[1]);
        if (bytes > rest.size()) break;
        if (key < keys.size() && !keys[key].empty()) kept += rest.substr(0, bytes);
        rest.remove_prefix(bytes);
    }
    lagtrap_context head = record;
    head.attribute_bytes = static_cast<std::uint16_t>(kept.size());
    RecordBuffer buffer;
    buffer.append(&head, sizeof(head), kept);
    return buffer;
}

}  // namespace lagtrap::daemon
