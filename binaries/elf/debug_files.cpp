#include "binaries/elf/debug_files.hpp"

#include <elf.h>
#include <fcntl.h>
#include <lzma.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <mutex>
#include <utility>

#include "binaries/elf/elf_image.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::binaries {
namespace {

constexpr std::uint64_t max_link_bytes = 8'192;
constexpr std::uint64_t max_summed_bytes = 1ULL << 30;  // limit for files whose CRC is computed
constexpr std::size_t max_indexed_files = 20'000;
constexpr int max_indexed_depth = 8;

bool is_build_id(std::string_view text) {
    return text.size() >= 4 && text.size() % 2 == 0 &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// ElfImage::open() accepts only regular files and does not block on a pipe.
bool has_build_id(const std::filesystem::path& path, const std::string& build_id,
                  ElfKinds kinds = ElfKinds::Programs) {
    const auto image = ElfImage::open(path, kinds);
    return image && image->build_id() == build_id;
}

std::filesystem::path build_id_path(const std::filesystem::path& folder,
                                    const std::string& build_id) {
    return folder / ".build-id" / build_id.substr(0, 2) / (build_id.substr(2) + ".debug");
}

// The file's CRC-32, the same as used by xz. nullopt if it cannot be read or is too large.
std::optional<std::uint32_t> checksum_of(const std::filesystem::path& path) {
    auto fd = open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd) return std::nullopt;
    std::array<char, 64 << 10> buffer;
    std::uint32_t sum = 0;
    for (std::uint64_t total = 0; total <= max_summed_bytes;) {
        const ssize_t got = ::read(fd->get(), buffer.data(), buffer.size());
        if (got < 0) return std::nullopt;
        if (got == 0) return sum;
        sum = ::lzma_crc32(reinterpret_cast<const std::uint8_t*>(buffer.data()),
                           static_cast<std::size_t>(got), sum);
        total += static_cast<std::uint64_t>(got);
    }
    return std::nullopt;
}

struct DebugLink {
    std::string name;
    std::uint32_t checksum = 0;
};

// .gnu_debuglink holds a file name, zeros up to a multiple of 4, and a CRC.
std::optional<DebugLink> debug_link_of(const ElfImage& image) {
    const ElfSection* section = image.find_section(".gnu_debuglink");
    if (section == nullptr) return std::nullopt;
    const auto content = image.read(*section, max_link_bytes);
    if (!content) return std::nullopt;
    DebugLink link;
    link.name = std::string(text_at(*content, 0));
    const std::size_t position = (link.name.size() + 1 + 3) / 4 * 4;
    // The name must not lead out of the searched folders.
    if (link.name.empty() || link.name == "." || link.name == ".." ||
        link.name.find('/') != std::string::npos)
        return std::nullopt;
    if (position + sizeof link.checksum > content->size()) return std::nullopt;
    link.checksum = number_at<std::uint32_t>(*content, position);
    return link;
}

struct AlternateLink {
    std::string name;
    std::string build_id;
};

// .gnu_debugaltlink holds a file name and a build id.
std::optional<AlternateLink> alternate_link_of(const ElfImage& image) {
    const ElfSection* section = image.find_section(".gnu_debugaltlink");
    if (section == nullptr) return std::nullopt;
    const auto content = image.read(*section, max_link_bytes);
    if (!content) return std::nullopt;
    AlternateLink link;
    link.name = std::string(text_at(*content, 0));
    if (link.name.empty()) return std::nullopt;
    link.build_id = hexadecimal(std::string_view(*content).substr(link.name.size() + 1));
    if (!is_build_id(link.build_id)) return std::nullopt;
    return link;
}

// The path as seen in the program's own root: without a leading /proc/PID/root.
std::filesystem::path path_within_its_root(const std::filesystem::path& path) {
    auto part = path.begin();
    const auto next_is = [&](auto&& fits) {
        return part != path.end() && fits((part++)->string());
    };
    const auto is = [](std::string_view wanted) {
        return [wanted](const std::string& text) { return text == wanted; };
    };
    const auto is_number = [](const std::string& text) {
        return !text.empty() && std::all_of(text.begin(), text.end(),
                                            [](unsigned char c) { return std::isdigit(c); });
    };
    if (!next_is(is("/")) || !next_is(is("proc")) || !next_is(is_number) || !next_is(is("root")))
        return name_on_machine(path);
    std::filesystem::path within = "/";
    for (; part != path.end(); ++part) within /= *part;
    return within;
}

std::vector<std::filesystem::path> places_of_link(
    const std::filesystem::path& program, const std::string& name,
    const std::vector<std::filesystem::path>& folders) {
    std::error_code ignored;
    std::vector<std::filesystem::path> programs{program};
    if (auto real = std::filesystem::canonical(program, ignored); !ignored && real != program)
        programs.push_back(std::move(real));
    std::vector<std::filesystem::path> places;
    for (const auto& path : programs) {
        places.push_back(path.parent_path() / name);
        places.push_back(path.parent_path() / ".debug" / name);
        for (const auto& folder : folders)
            places.push_back(folder / path_within_its_root(path).parent_path().relative_path() /
                             name);
    }
    return places;
}

std::optional<std::filesystem::path> find_by_link(const std::filesystem::path& program,
                                                  const ElfImage& image,
                                                  const std::string& build_id,
                                                  const DebugFileSearch& search) {
    const auto link = debug_link_of(image);
    if (!link) return std::nullopt;
    for (const auto& place : places_of_link(program, link->name, search.folders)) {
        std::error_code ignored;
        if (std::filesystem::equivalent(place, program, ignored)) continue;
        const auto found = ElfImage::open(place);
        if (!found) continue;
        const std::string its_id = found->build_id();
        if (!build_id.empty() && !its_id.empty() && its_id != build_id) continue;
        if (checksum_of(place) == link->checksum) return place;
    }
    return std::nullopt;
}

bool is_plain_folder(const std::filesystem::path& folder) {
    std::error_code ignored;
    return !std::filesystem::exists(folder / ".build-id", ignored);
}

}  // namespace

class DebugFolderIndex {
  public:
    std::optional<std::filesystem::path> find(const std::filesystem::path& folder,
                                              const std::string& build_id) {
        const std::lock_guard lock(mutex_);
        auto known = folders_.find(folder);
        if (known == folders_.end()) known = folders_.emplace(folder, read(folder)).first;
        const auto found = known->second.find(build_id);
        if (found == known->second.end()) return std::nullopt;
        return found->second;
    }

  private:
    using Files = std::map<std::string, std::filesystem::path>;

    static Files read(const std::filesystem::path& folder) {
        Files files;
        std::error_code error;
        std::size_t seen = 0;
        std::filesystem::recursive_directory_iterator entry(
            folder, std::filesystem::directory_options::skip_permission_denied, error);
        for (; !error && entry != std::filesystem::recursive_directory_iterator() &&
               seen < max_indexed_files;
             ++seen) {
            if (entry.depth() >= max_indexed_depth) entry.disable_recursion_pending();
            std::error_code ignored;
            if (entry->is_regular_file(ignored)) add(files, entry->path());
            entry.increment(error);
        }
        return files;
    }

    // A stripped program may be beside its debug file; prefer the one with DWARF.
    static void add(Files& files, const std::filesystem::path& path) {
        const auto image = ElfImage::open(path);
        if (!image) return;
        const std::string id = image->build_id();
        const bool has_dwarf = image->find_section(".debug_info") != nullptr;
        const bool has_symbols = image->find_section(".symtab") != nullptr;
        if (id.empty() || (!has_dwarf && !has_symbols)) return;
        if (has_dwarf) {
            files.insert_or_assign(id, path);
        } else {
            files.emplace(id, path);
        }
    }

    std::mutex mutex_;
    std::map<std::filesystem::path, Files> folders_;
};

std::shared_ptr<DebugFolderIndex> make_debug_folder_index() {
    return std::make_shared<DebugFolderIndex>();
}

namespace {

std::optional<std::filesystem::path> find_in_folders(const std::string& build_id,
                                                     const DebugFileSearch& search) {
    for (const auto& folder : search.folders) {
        auto path = build_id_path(folder, build_id);
        if (has_build_id(path, build_id)) return path;
    }
    for (const auto& folder : search.folders) {
        if (!search.index || !is_plain_folder(folder)) continue;
        auto path = search.index->find(folder, build_id);
        if (path && has_build_id(*path, build_id)) return path;
    }
    return std::nullopt;
}

std::optional<std::filesystem::path> ask(const std::string& build_id,
                                         const DebugFileSearch& search) {
    if (!search.ask_servers) return std::nullopt;
    auto path = search.ask_servers(build_id);
    if (!path || !has_build_id(*path, build_id)) return std::nullopt;
    return path;
}

}  // namespace

std::optional<std::filesystem::path> find_debug_file(const std::filesystem::path& program,
                                                     const DebugFileSearch& search) {
    const auto image = ElfImage::open(program);
    if (!image) return std::nullopt;
    if (image->find_section(".debug_info") != nullptr) return program;
    const std::string build_id = image->build_id();
    const bool known = is_build_id(build_id);
    if (known) {
        if (auto path = find_in_folders(build_id, search)) return path;
    }
    if (auto path = find_by_link(program, *image, build_id, search)) return path;
    return known ? ask(build_id, search) : std::nullopt;
}

std::optional<std::filesystem::path> find_debug_file_of(const std::string& build_id,
                                                        const DebugFileSearch& search) {
    if (!is_build_id(build_id)) return std::nullopt;
    if (auto path = find_in_folders(build_id, search)) return path;
    return ask(build_id, search);
}

std::optional<std::filesystem::path> find_alternate_file(const std::filesystem::path& debug_file) {
    const auto image = ElfImage::open(debug_file);
    const auto link = image ? alternate_link_of(*image) : std::nullopt;
    if (!link) return std::nullopt;
    std::error_code ignored;
    std::vector<std::filesystem::path> places;
    // The part of the name that all trees of debug files have in common.
    const std::size_t common = link->name.find(".dwz/");
    for (const auto& start : {debug_file, std::filesystem::canonical(debug_file, ignored)}) {
        if (start.empty()) continue;
        // just the link's name if that is absolute
        places.push_back(start.parent_path() / link->name);
        for (auto folder = start.parent_path(); folder != folder.parent_path();
             folder = folder.parent_path()) {
            places.push_back(build_id_path(folder, link->build_id));
            if (common != std::string::npos) places.push_back(folder / link->name.substr(common));
        }
    }
    places.push_back(build_id_path(on_machine("/usr/lib/debug"), link->build_id));
    for (const auto& place : places)
        if (has_build_id(place, link->build_id, ElfKinds::AlsoObjects)) return place;
    return std::nullopt;
}

}  // namespace lagtrap::binaries
