#include "binaries/code/go_program.hpp"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/core.h>

namespace lagtrap::binaries {
namespace {

// Layout of .go.buildinfo (Go's debug/buildinfo/buildinfo.go).
constexpr std::string_view magic_bytes("\xff Go buildinf:", 14);
constexpr std::size_t pointer_size_at = 14;
constexpr std::size_t flags_at = 15;
constexpr std::size_t pointers_at = 16;
constexpr std::size_t header_bytes = 32;
constexpr unsigned char inline_version = 2;
constexpr std::uint64_t max_version_bytes = 256;
constexpr std::uint64_t max_build_info_bytes = 1 << 20;

constexpr unsigned first_minor = 17;
constexpr unsigned last_minor = 26;

std::optional<std::string> bytes_at(const ElfImage& image, std::uint64_t address,
                                    std::uint64_t size) {
    for (const ElfSegment& segment : image.segments()) {
        if (segment.type != PT_LOAD || address < segment.address) continue;
        const std::uint64_t within = address - segment.address;
        if (within >= segment.file_bytes || size > segment.file_bytes - within) continue;
        auto bytes = image.read(segment.offset + within, size, size);
        return bytes ? std::optional(std::move(*bytes)) : std::nullopt;
    }
    return std::nullopt;
}

// Until Go 1.17, the header points to a Go string: address and length.
std::string version_behind_pointer(const ElfImage& image, std::string_view info) {
    const auto text =
        bytes_at(image, number_at<std::uint64_t>(info, pointers_at), 2 * sizeof(std::uint64_t));
    if (!text) return {};
    const auto length = number_at<std::uint64_t>(*text, sizeof(std::uint64_t));
    if (length > max_version_bytes) return {};
    return bytes_at(image, number_at<std::uint64_t>(*text, 0), length).value_or(std::string());
}

std::string version_of(const ElfImage& image, const ElfSection& section) {
    const auto info = image.read(section, max_build_info_bytes);
    if (!info || info->size() < header_bytes || !std::string_view(*info).starts_with(magic_bytes))
        return {};
    const auto flags = static_cast<unsigned char>((*info)[flags_at]);
    if ((flags & inline_version) == 0)
        return (*info)[pointer_size_at] == sizeof(std::uint64_t)
                   ? version_behind_pointer(image, *info)
                   : std::string();
    std::size_t at = header_bytes, length = 0;
    for (unsigned shift = 0; at < info->size() && shift < 14; shift += 7) {
        const auto byte = static_cast<unsigned char>((*info)[at++]);
        length |= static_cast<std::size_t>(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) break;
    }
    return length <= std::min<std::size_t>(max_version_bytes, info->size() - at)
               ? info->substr(at, length)
               : std::string();
}

// The minor version: 19 in "go1.19.8" and "devel go1.19-4f2a1d".
std::optional<unsigned> minor_of(std::string_view version) {
    constexpr std::string_view major = "go1.";
    const auto at = version.find(major);
    if (at == std::string_view::npos) return std::nullopt;
    const char* const begin = version.data() + at + major.size();
    unsigned minor = 0;
    const auto [end, failure] = std::from_chars(begin, version.data() + version.size(), minor);
    return failure == std::errc{} && end != begin ? std::optional(minor) : std::nullopt;
}

// Depends on the fields before goid (Go's src/runtime/runtime2.go, type g): 1.23 added syscallbp,
// 1.25 removed a word from gobuf.
std::uint32_t goid_offset_of(unsigned minor) { return minor == 23 || minor == 24 ? 160 : 152; }

std::uint32_t frame_offset_of(unsigned minor) { return minor < 25 ? 104 : 96; }

std::string refusal_of(const ElfImage& image, const std::string& version,
                       std::optional<unsigned> minor) {
    const std::string which = version.empty() ? "an unknown Go version" : version;
    if (image.machine() != EM_X86_64)
        return "is a Go program for another architecture; only x86-64 is supported";
    if (!minor || *minor < first_minor || *minor > last_minor)
        return fmt::format("was built with {}; only Go 1.{} to 1.{} is supported", which,
                           first_minor, last_minor);
    if (version.find("X:noregabi") != std::string::npos ||
        version.find(",noregabi") != std::string::npos)
        return fmt::format(
            "was built with {}: without register arguments, its goroutines cannot be identified",
            which);
    return {};
}

}  // namespace

GoProgram read_go_program(const ElfImage& image) {
    GoProgram program;
    const auto& sections = image.sections();
    program.is_go = std::any_of(sections.begin(), sections.end(), [](const ElfSection& section) {
        return section.name == ".go.buildinfo" || section.name == ".note.go.buildid" ||
               section.name == ".gopclntab" || section.name == ".data.rel.ro.gopclntab";
    });
    if (!program.is_go) return program;
    if (const ElfSection* const info = image.find_section(".go.buildinfo"))
        program.version = version_of(image, *info);
    const auto minor = minor_of(program.version);
    program.refusal = refusal_of(image, program.version, minor);
    if (!program.refusal.empty()) return program;
    program.goid_offset = goid_offset_of(*minor);
    program.frame_offset = frame_offset_of(*minor);
    return program;
}

}  // namespace lagtrap::binaries
