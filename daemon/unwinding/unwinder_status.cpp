#include "daemon/unwinding/unwinder_status.hpp"

#include <algorithm>

namespace lagtrap::daemon {
namespace {

constexpr std::size_t largest_limit = 10;

}  // namespace

void note_tables(const CodeModules& modules, UnwinderStatus& status) {
    const auto kept = modules.kept();
    modules.for_each([&](const CodeModule& module) {
        if (module.state == ModuleState::NoRoom) ++status.tables_without_room;
        if (module.state != ModuleState::Ready) return;
        ++status.tables;
        if (kept.contains(&module)) {
            ++status.tables_kept;
            status.kept_bytes += module.table_bytes;
        }
        status.table_bytes += module.table_bytes;
        status.largest.push_back({module.path, module.table_bytes});
    });
    std::sort(status.largest.begin(), status.largest.end(),
              [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    status.largest.resize(std::min(status.largest.size(), largest_limit));
}

}  // namespace lagtrap::daemon
