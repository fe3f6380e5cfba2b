#include "trace/symbolizer.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "binaries/program_file.hpp"
#include "binaries/symbol_table.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace lagtrap::trace {
namespace {

// What one symbol takes in a table, name included, roughly.
constexpr std::size_t bytes_of_symbol = 100;
constexpr std::string_view deleted_mark = " (deleted)";

// Where the module's file may be found, surest first.
std::vector<std::filesystem::path> candidates_for(const CodeModule& module, const std::filesystem::path& proc_root) {
    std::vector<std::filesystem::path> candidates;
    std::string path = module.path;
    if (!path.starts_with('/')) return candidates;
    const bool deleted = path.ends_with(deleted_mark);
    if (deleted) path.resize(path.size() - deleted_mark.size());
    for (const ModuleUser& user : module.users) {
        const auto process = proc_root / std::to_string(user.pid);
        char range[64];
        std::snprintf(range, sizeof(range), "%llx-%llx", static_cast<unsigned long long>(user.start),
                      static_cast<unsigned long long>(user.end));
        candidates.push_back(process / "map_files" / range);
        candidates.push_back(process / "root" / path.substr(1));
    }
    candidates.emplace_back(path);
    return candidates;
}

// Whether `path` is the file that was mapped: by build id, else by device and inode.
bool is_file_of(const CodeModule& module, const std::filesystem::path& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat facts {};
    if (!fd.valid() || ::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
    if (!module.build_id.empty()) return binaries::read_build_id(fd.get()) == to_hexadecimal(module.build_id);
    const std::uint64_t device = std::uint64_t{major(facts.st_dev)} << 32 | minor(facts.st_dev);
    return module.inode == facts.st_ino && module.device == device;
}

std::optional<std::filesystem::path> file_of(const CodeModule& module, const std::filesystem::path& proc_root) {
    for (const auto& candidate : candidates_for(module, proc_root))
        if (is_file_of(module, candidate)) return candidate;
    return std::nullopt;
}

void name_frames(StackTable& stacks, const std::vector<FrameId>& ids, const binaries::SymbolTable& table) {
    for (const FrameId id : ids) {
        CodeFrame& frame = stacks.frames()[id];
        if (const auto hit = table.find(frame.offset)) frame.name = stacks.intern_name(printable(hit->name));
    }
}

void find_load_bias(CodeModule& module, const std::filesystem::path& path, std::uint64_t offset) {
    const auto file = binaries::ProgramFile::open(path);
    if (!file) return;
    if (const auto address = file->address_of(offset)) module.load_bias = *address - offset;
}

constexpr std::size_t padded_note(std::size_t size) { return (size + 3) / 4 * 4; }

}  // namespace

std::string read_kernel_build_id(const std::filesystem::path& notes) {
    const auto content = read_file(notes, 1 << 20);
    if (!content) return {};
    std::string_view rest = *content;
    while (rest.size() >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        std::memcpy(&note, rest.data(), sizeof(note));
        rest.remove_prefix(sizeof(note));
        if (note.n_namesz > rest.size() || padded_note(note.n_namesz) > rest.size()) return {};
        const std::string_view owner = rest.substr(0, note.n_namesz);
        rest.remove_prefix(padded_note(note.n_namesz));
        if (note.n_descsz > rest.size()) return {};
        if (note.n_type == NT_GNU_BUILD_ID && owner == std::string_view("GNU\0", 4) && note.n_descsz <= 64)
            return std::string(rest.substr(0, note.n_descsz));
        rest.remove_prefix(std::min(padded_note(note.n_descsz), rest.size()));
    }
    return {};
}

void symbolize(StackTable& stacks, ModuleTable& modules, const SymbolizerOptions& options) {
    std::vector<std::vector<FrameId>> frames_of_module(modules.size());
    for (FrameId id = 0; id < stacks.frames().size(); ++id) frames_of_module[stacks.frames()[id].module].push_back(id);
    for (ModuleId id = 0; id < modules.size(); ++id) {
        const auto& ids = frames_of_module[id];
        if (ids.empty() || id == unknown_module) continue;
        if (id == kernel_module) {
            const auto table = binaries::SymbolTable::of_kernel(options.proc_root / "kallsyms");
            if (table) name_frames(stacks, ids, *table);
            continue;
        }
        CodeModule& module = modules.at(id);
        const auto path = file_of(module, options.proc_root);
        if (!path) continue;
        find_load_bias(module, *path, stacks.frames()[ids.front()].offset);
        const auto table = binaries::SymbolTable::of_file(*path);
        if (table && table->size() * bytes_of_symbol <= options.table_limit_bytes) name_frames(stacks, ids, *table);
    }
}

}  // namespace lagtrap::trace
