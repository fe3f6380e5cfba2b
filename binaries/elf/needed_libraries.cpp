#include "binaries/elf/needed_libraries.hpp"

#include <elf.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace lagtrap::binaries {
namespace {

constexpr std::uint64_t max_dynamic_bytes = 1 << 20;
constexpr std::uint64_t max_library_name_bytes = 4096;

// The string at an address, at most max_library_name_bytes.
Result<std::string> name_at(const ElfImage& image, std::uint64_t address) {
    for (const auto& segment : image.segments()) {
        if (segment.type != PT_LOAD || address < segment.address) continue;
        const std::uint64_t within = address - segment.address;
        if (within >= segment.file_bytes) continue;
        const std::uint64_t size = std::min(max_library_name_bytes, segment.file_bytes - within);
        TRY_ASSIGN(const std::string bytes,
                   image.read(segment.offset + within, size, max_library_name_bytes));
        return bytes.substr(0, bytes.find('\0'));
    }
    return image.damaged("the name of a needed library lies outside the loaded segments");
}

// Splits a list such as "/opt/lib:$ORIGIN/../lib".
std::vector<std::string> folders_of(std::string_view list) {
    std::vector<std::string> folders;
    while (!list.empty()) {
        const std::string_view folder = list.substr(0, list.find(':'));
        if (!folder.empty()) folders.emplace_back(folder);
        list.remove_prefix(std::min(list.size(), folder.size() + 1));
    }
    return folders;
}

}  // namespace

Result<NeededLibraries> needed_libraries(const ElfImage& image) {
    const auto& segments = image.segments();
    const auto dynamic =
        std::find_if(segments.begin(), segments.end(),
                     [](const ElfSegment& segment) { return segment.type == PT_DYNAMIC; });
    NeededLibraries needed;
    if (dynamic == segments.end()) return needed;
    TRY_ASSIGN(const std::string table,
               image.read(dynamic->offset, dynamic->file_bytes, max_dynamic_bytes));
    std::vector<std::uint64_t> names, folders;
    std::uint64_t strings_address = 0;
    for (std::size_t at = 0; at + sizeof(Elf64_Dyn) <= table.size(); at += sizeof(Elf64_Dyn)) {
        const auto entry = number_at<Elf64_Dyn>(table, at);
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_STRTAB) strings_address = entry.d_un.d_ptr;
        if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
        if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH)
            folders.push_back(entry.d_un.d_val);
    }
    if (!names.empty() && strings_address == 0)
        return image.damaged("needed libraries without a string table");
    for (const std::uint64_t name : names) {
        TRY_ASSIGN(std::string library, name_at(image, strings_address + name));
        needed.names.push_back(std::move(library));
    }
    for (const std::uint64_t list : folders) {
        TRY_ASSIGN(const std::string text, name_at(image, strings_address + list));
        for (std::string& folder : folders_of(text)) needed.folders.push_back(std::move(folder));
    }
    return needed;
}

}  // namespace lagtrap::binaries
