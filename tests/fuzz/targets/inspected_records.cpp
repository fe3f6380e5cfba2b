// Answers of a process inspector, whose texts come from the inspected processes: accepted records
// must be complete.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/processes/record_buffer.hpp"

using namespace lagtrap::daemon;

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    RecordBuffer records;
    if (!records.assign(bytes)) {
        check(records.empty());
        return 0;
    }
    check(records.bytes() == bytes);
    const char* const end = records.bytes().data() + records.bytes().size();
    records.for_each([&](const lagtrap_record* record) {
        const char* const begin = reinterpret_cast<const char*>(record);
        check(begin + record->size_bytes <= end);
        if (record->type != LAGTRAP_RECORD_MAPPING) return;
        const std::string_view path = path_of(*reinterpret_cast<const lagtrap_mapping*>(record));
        check(path.data() + path.size() <= begin + record->size_bytes);
    });
    return 0;
}
