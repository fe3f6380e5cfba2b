#include "binaries/dwarf/line_table.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "binaries/dwarf/line_program.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::size_t max_path_bytes = 4'096;
// Limit for overlapping sequences searched per address.
constexpr int max_overlapping = 16;

std::string joined(std::string_view folder, std::string_view name) {
    name = name.substr(0, max_path_bytes);
    if (folder.empty() || name.starts_with('/')) return std::string(name);
    std::string path(folder.substr(0, max_path_bytes));
    if (!path.ends_with('/')) path += '/';
    return path.append(name);
}

}  // namespace

Result<LineTable> LineTable::read(const LineTableSource& source, std::uint64_t limit_bytes) {
    LineTable table;
    table.compilation_directory_ = source.directory;
    LineProgram program(source, limit_bytes, table);
    TRY(program.read());
    std::sort(table.sequences_.begin(), table.sequences_.end(),
              [](const Sequence& a, const Sequence& b) {
                  return std::pair(a.low, a.first_row) < std::pair(b.low, b.first_row);
              });
    std::uint64_t reach = 0;
    for (Sequence& sequence : table.sequences_)
        sequence.reach = reach = std::max(reach, sequence.high);
    table.rows_.shrink_to_fit();
    return table;
}

std::optional<LineTable::Place> LineTable::find(std::uint64_t address) const {
    auto sequence = std::upper_bound(
        sequences_.begin(), sequences_.end(), address,
        [](std::uint64_t value, const Sequence& entry) { return value < entry.low; });
    for (int tried = 0; sequence != sequences_.begin() && tried < max_overlapping; ++tried) {
        --sequence;
        if (sequence->reach <= address) break;
        if (address >= sequence->high) continue;
        const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(sequence->first_row);
        const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(sequence->end_row);
        const auto after = std::upper_bound(
            first, end, address,
            [](std::uint64_t value, const Row& row) { return value < row.address; });
        if (after == first) continue;
        return Place{std::prev(after)->file, std::prev(after)->line};
    }
    return std::nullopt;
}

std::string LineTable::file_name(std::uint64_t file) const {
    if (file >= files_.size() || files_[file].name.empty()) return {};
    const File& entry = files_[file];
    const std::string_view directory =
        entry.directory < directories_.size() ? directories_[entry.directory] : std::string_view{};
    return joined(compilation_directory_, joined(directory, entry.name));
}

std::uint64_t LineTable::memory_bytes() const {
    return directories_.capacity() * sizeof(std::string_view) + files_.capacity() * sizeof(File) +
           rows_.capacity() * sizeof(Row) + sequences_.capacity() * sizeof(Sequence);
}

}  // namespace lagtrap::binaries
