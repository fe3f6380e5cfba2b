#include "trace/names/named_files.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "bpf/records.h"
#include "core/mapped_files.hpp"
#include "sandbox/machine_root.hpp"
#include "trace/logs/log.hpp"

namespace lagtrap::trace {
namespace {

constexpr std::string_view debug_root = "/usr/lib/debug/";
// Same limit as for the modules of a merge.
constexpr std::size_t paths_limit = 100'000;
constexpr std::size_t ranges_limit = 4'000'000;

// As the kernel writes it: without leading zeros.
template <typename Number>
bool take_number(std::string_view& text, Number& number, int base) {
    if (text.size() > 1 && text[0] == '0' &&
        std::isxdigit(static_cast<unsigned char>(text[1])) != 0)
        return false;
    const auto [end, failed] =
        std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (failed != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

bool is_debug_name(const std::filesystem::path& path) {
    return path.extension() == ".debug" || path.extension() == ".dbg";
}

}  // namespace

Result<NamedFiles> NamedFiles::of_capture(const std::filesystem::path& capture, pid_t holder) {
    NamedFiles named;
    // Descriptors are valid only in the process that wrote them.
    if (HeldRoots held = read_held_roots(capture); held.holder == holder)
        named.held_ = std::move(held);
    auto reader = LogReader::open(capture / log_file_name(LogKind::Rundown));
    if (!reader) {
        const bool torn =
            reader.error().kind == ErrorKind::NotFound || reader.error().kind == ErrorKind::Invalid;
        return torn ? Result<NamedFiles>(std::move(named)) : Result<NamedFiles>(reader.error());
    }
    for (;;) {
        TRY_ASSIGN(const lagtrap_record* record, reader->next());
        if (record == nullptr) break;
        if (record->type != LAGTRAP_RECORD_MAPPING) continue;
        const auto& mapping = *reinterpret_cast<const lagtrap_mapping*>(record);
        named.add(mapping, {reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes});
    }
    named.close();
    return named;
}

void NamedFiles::add(const lagtrap_mapping& mapping, std::string_view path) {
    if (!path.starts_with('/')) return;
    if (ranges_.size() < ranges_limit)
        ranges_.push_back({mapping.pid, mapping.start, mapping.start + mapping.length});
    if (path.ends_with(deleted_mark)) path.remove_suffix(deleted_mark.size());
    if (paths_.size() >= paths_limit || !paths_.emplace(path).second) return;
    folders_.emplace(path.substr(0, path.rfind('/')));
}

void NamedFiles::close() {
    std::sort(ranges_.begin(), ranges_.end());
    ranges_.erase(std::unique(ranges_.begin(), ranges_.end()), ranges_.end());
}

bool NamedFiles::has_process(std::uint32_t pid) const {
    const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), Range{pid, 0, 0});
    return first != ranges_.end() && first->pid == pid;
}

bool NamedFiles::names(const std::filesystem::path& path) const {
    if (paths_.contains(path.native())) return true;
    if (!is_debug_name(path)) return false;
    const auto folder = path.parent_path();
    if (folders_.contains(folder == "/" ? std::string() : folder.native())) return true;
    const bool of_debug = folder.filename() == ".debug" || folder.filename() == ".dwz";
    return of_debug &&
           folders_.contains(folder.parent_path() == "/" ? std::string()
                                                         : folder.parent_path().native());
}

// `rest` is "N/PATH", with a descriptor of the holder.
ProgramAccess NamedFiles::access_to_held(std::string_view rest) const {
    int descriptor = -1;
    if (!take_number(rest, descriptor, 10) || !held_.holds(descriptor) || !rest.starts_with('/'))
        return ProgramAccess::Refused;
    return names(rest) ? ProgramAccess::WithoutLinks : ProgramAccess::Refused;
}

ProgramAccess NamedFiles::access(const std::filesystem::path& path) const {
    std::string_view text = path.native();
    if (text.starts_with(debug_root)) return ProgramAccess::Allowed;
    constexpr std::string_view processes = "/proc/";
    if (const auto name = name_on_machine(path); name != path) {
        if (name.native().starts_with(debug_root)) return ProgramAccess::Allowed;
        return names(name) ? ProgramAccess::WithoutLinks : ProgramAccess::Refused;
    }
    if (!text.starts_with(processes))
        return names(path) ? ProgramAccess::WithoutLinks : ProgramAccess::Refused;
    text.remove_prefix(processes.size());
    Range range;
    constexpr std::string_view held = "/fd/";
    const std::string holder = std::to_string(held_.holder);
    if (held_.holder != 0 && text.starts_with(holder) &&
        text.substr(holder.size()).starts_with(held))
        return access_to_held(text.substr(holder.size() + held.size()));
    if (!take_number(text, range.pid, 10) || !has_process(range.pid)) return ProgramAccess::Refused;
    if (text == "/exe") return ProgramAccess::Allowed;
    constexpr std::string_view root = "/root/", mapped = "/map_files/";
    if (text.starts_with(root))
        return names(text.substr(root.size() - 1)) ? ProgramAccess::WithoutLinks
                                                   : ProgramAccess::Refused;
    if (!text.starts_with(mapped)) return ProgramAccess::Refused;
    text.remove_prefix(mapped.size());
    if (!take_number(text, range.start, 16) || !text.starts_with('-'))
        return ProgramAccess::Refused;
    text.remove_prefix(1);
    const bool whole = take_number(text, range.end, 16) && text.empty();
    const bool known = whole && std::binary_search(ranges_.begin(), ranges_.end(), range);
    return known ? ProgramAccess::Allowed : ProgramAccess::Refused;
}

}  // namespace lagtrap::trace
