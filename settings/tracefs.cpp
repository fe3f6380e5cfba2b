#include "settings/tracefs.hpp"

#include <algorithm>
#include <system_error>

#include "core/files.hpp"

namespace lagtrap::settings {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t format_bytes_limit = 256 * 1024;

std::vector<std::string> folders_in(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code failure;
    for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
        if (entry->is_directory(failure)) names.push_back(entry->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

// "fd" of "	field:unsigned int fd;	offset:16;	size:8;	signed:0;"; nothing for arrays ("char rwbs[10]") and
// strings ("__data_loc char[] cmd"), which are no numbers.
std::string number_field(std::string_view line) {
    const std::size_t start = line.find("field:");
    if (start == std::string_view::npos) return {};
    const std::string_view declaration = line.substr(start, line.find(';') - start);
    if (declaration.find('[') != std::string_view::npos) return {};
    return std::string(declaration.substr(declaration.find_last_of(" *:") + 1));
}

}  // namespace

std::optional<Tracefs> Tracefs::find(const std::vector<fs::path>& roots) {
    for (const fs::path& root : roots) {
        std::error_code failure;
        const fs::directory_iterator entries(root / "events", failure);
        if (!failure && entries != fs::directory_iterator()) return Tracefs(root / "events");
    }
    return {};
}

bool Tracefs::has(std::string_view category, std::string_view name) const {
    std::error_code failure;
    return fs::is_directory(events_ / category / name, failure);
}

std::vector<std::string> Tracefs::categories() const { return folders_in(events_); }

std::vector<std::string> Tracefs::names(std::string_view category) const { return folders_in(events_ / category); }

std::optional<std::vector<std::string>> Tracefs::number_fields(std::string_view category, std::string_view name) const {
    const auto format = read_file(events_ / category / name / "format", format_bytes_limit);
    if (!format) return {};
    std::vector<std::string> fields;
    std::string_view rest = *format;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const std::string field = number_field(line);
        if (!field.empty() && !field.starts_with("common_")) fields.push_back(field);
    }
    return fields;
}

}  // namespace lagtrap::settings
