#include "trace/names/symbolizer.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "trace/names/file_symbols.hpp"
#include "trace/names/wait_loops.hpp"
#include "trace/processes/module_files.hpp"

namespace lagtrap::trace {
namespace {

// Longer template names are truncated; the rest adds nothing.
constexpr std::size_t name_limit_bytes = 4096;

// A module with frames in the stacks, and what naming it achieved.
struct Work {
    ModuleId module = unknown_module;
    std::uint64_t uses = 0;
    std::vector<FrameId> places;  // most used first
    bool gone = false;
    bool damaged = false;
    bool names_left_out = false;
    bool lines_left_out = false;
};

class Symbolizer {
  public:
    Symbolizer(StackTable& stacks, ModuleTable& modules, const SymbolizerOptions& options)
        : stacks_(stacks),
          modules_(modules),
          options_(options),
          search_(options.debug_files),
          budget_(options.limits) {
        search_.ask_servers = nullptr;
    }
    NamingQuality run();

  private:
    [[nodiscard]] bool may_have_names(ModuleId id) const;
    [[nodiscard]] std::vector<Work> gather() const;
    void sort_places(std::vector<FrameId>& places, const std::vector<std::uint64_t>& uses) const;
    std::optional<ModuleFile> file_of(const RecordedModule& module) const;
    void name_kernel(const Work& work);
    void name_module(Work& work);
    void locate_module(Work& work);
    void mark_waits(const Work& work, const std::vector<std::uint64_t>& uses);
    void name_places(Work& work, const binaries::SymbolTable& table);
    void set_functions(FrameId place, std::vector<binaries::SourceFrame> functions);
    FunctionName intern(std::string_view name);
    [[nodiscard]] NamingQuality count(const std::vector<Work>& works) const;

    StackTable& stacks_;
    ModuleTable& modules_;
    const SymbolizerOptions& options_;
    binaries::DebugFileSearch search_;
    NamingBudget budget_;
    std::uint64_t inlined_ = 0;
};

// Code without a file, such as JIT code and the kernel's [uprobes] and [vsyscall], has no names
// here.
bool Symbolizer::may_have_names(ModuleId id) const {
    const std::string& path = modules_.at(id).path;
    return id == kernel_module || path.starts_with('/') || path == vdso_path;
}

// Most used first, but among about equals by file offset, because DWARF is read unit by unit.
void Symbolizer::sort_places(std::vector<FrameId>& places,
                             const std::vector<std::uint64_t>& uses) const {
    constexpr std::size_t equals = 1000;
    std::stable_sort(places.begin(), places.end(),
                     [&](FrameId a, FrameId b) { return uses[a] > uses[b]; });
    for (std::size_t begin = 0; begin < places.size(); begin += equals) {
        const std::size_t end = std::min(places.size(), begin + equals);
        std::sort(places.begin() + static_cast<std::ptrdiff_t>(begin),
                  places.begin() + static_cast<std::ptrdiff_t>(end), [&](FrameId a, FrameId b) {
                      return stacks_.frames()[a].offset < stacks_.frames()[b].offset;
                  });
    }
}

std::vector<Work> Symbolizer::gather() const {
    const std::vector<std::uint64_t> uses = stacks_.uses_of_frames();
    std::vector<Work> works(modules_.size());
    for (FrameId id = 0; id < stacks_.frames().size(); ++id) {
        Work& work = works[stacks_.frames()[id].module];
        work.places.push_back(id);
        work.uses += uses[id];
    }
    for (ModuleId id = 0; id < works.size(); ++id) works[id].module = id;
    std::erase_if(works, [&](const Work& work) {
        return work.places.empty() || !may_have_names(work.module);
    });
    std::stable_sort(works.begin(), works.end(),
                     [](const Work& a, const Work& b) { return a.uses > b.uses; });
    for (Work& work : works) sort_places(work.places, uses);
    return works;
}

std::optional<ModuleFile> Symbolizer::file_of(const RecordedModule& module) const {
    if (module.path != vdso_path)
        return find_module_file(module, options_.proc_root, options_.held_roots, options_.machine);
    auto image = find_vdso(options_.vdso);
    const bool same = module.build_id.empty() ? options_.this_boot
                                              : image && binaries::read_build_id(image->fd.get()) ==
                                                             hexadecimal(module.build_id);
    if (!same) return std::nullopt;
    return image;
}

FunctionName Symbolizer::intern(std::string_view name) {
    if (stacks_.name_bytes() > budget_.limits().name_bytes) return no_name;
    return stacks_.intern_name(printable(name.substr(0, name_limit_bytes)));
}

void Symbolizer::name_places(Work& work, const binaries::SymbolTable& table) {
    for (const FrameId id : work.places) {
        const auto hit = table.find(stacks_.frames()[id].offset);
        if (!hit) continue;
        const FunctionName name = intern(hit->name);
        stacks_.frames()[id].name = name;
        if (name == no_name) work.names_left_out = true;
    }
}

void Symbolizer::name_kernel(const Work& work) {
    if (!options_.this_boot) return;
    const auto table = binaries::SymbolTable::of_kernel(options_.proc_root / "kallsyms");
    if (!table) return;
    Work all = work;
    name_places(all, *table);
}

void Symbolizer::name_module(Work& work) {
    RecordedModule& module = modules_.at(work.module);
    if (!options_.open_programs && module.path != vdso_path) {
        work.names_left_out = true;
        return;
    }
    const auto file = file_of(module);
    work.gone = !file;
    if (!file) return;
    if (const auto program = binaries::ProgramFile::open(file->opened())) {
        const std::uint64_t offset = stacks_.frames()[work.places.front()].offset;
        if (const auto address = program->address_of(offset)) module.load_bias = *address - offset;
    }
    work.names_left_out = !budget_.time_left();
    if (work.names_left_out) return;
    const auto table = load_symbols(file->opened(), search_, budget_);
    if (table) {
        name_places(work, *table);
        return;
    }
    work.names_left_out = table.error().kind == ErrorKind::TooLarge;
    work.damaged = !work.names_left_out;
}

void Symbolizer::set_functions(FrameId place, std::vector<binaries::SourceFrame> functions) {
    take_symbol(functions, stacks_.name(stacks_.frames()[place].name));
    FrameId inner = no_frame;
    for (const binaries::SourceFrame& function : functions) {
        CodeFrame frame = stacks_.frames()[place];
        frame.name = intern(function.function);
        frame.source = intern(function.file);
        frame.line = function.line;
        frame.inlined_into = no_frame;
        if (inner == no_frame) {
            inner = place;
            stacks_.frames()[place] = frame;
            continue;
        }
        if (++inlined_ > budget_.limits().inlined_functions) return;
        const auto outer = static_cast<FrameId>(stacks_.frames().size());
        stacks_.frames().push_back(frame);
        stacks_.frames()[inner].inlined_into = outer;
        inner = outer;
    }
}

void Symbolizer::locate_module(Work& work) {
    const RecordedModule& module = modules_.at(work.module);
    if (work.gone || work.damaged || module.path == vdso_path) return;
    if (!options_.open_programs) {
        work.lines_left_out = true;
        return;
    }
    const auto file = file_of(module);
    const auto debug_file = file ? binaries::find_debug_file(file->path, search_) : std::nullopt;
    if (!debug_file) return;
    if (!budget_.time_left()) {
        work.lines_left_out = true;
        return;
    }
    auto lines = load_lines(file->opened(), *debug_file, options_.debug_info, budget_);
    if (!lines) {
        work.lines_left_out = lines.error().kind == ErrorKind::TooLarge;
        return;
    }
    for (const FrameId place : work.places) {
        if (!budget_.time_left() || inlined_ > budget_.limits().inlined_functions) {
            work.lines_left_out = true;
            return;
        }
        auto functions = lines->frames_at(stacks_.frames()[place].offset);
        if (!functions.empty()) set_functions(place, std::move(functions));
    }
}

void Symbolizer::mark_waits(const Work& work, const std::vector<std::uint64_t>& uses) {
    if (work.gone || !options_.open_programs || !budget_.time_left()) return;
    const std::vector<FrameId> places = often_used_places(stacks_, work.places, uses);
    if (places.empty()) return;
    const auto file = file_of(modules_.at(work.module));
    if (file) mark_wait_loops(stacks_, places, file->fd.get());
}

NamingQuality Symbolizer::count(const std::vector<Work>& works) const {
    NamingQuality quality;
    const auto count_places = [&](const Work& work, auto lacks) {
        return static_cast<std::uint64_t>(
            std::count_if(work.places.begin(), work.places.end(),
                          [&](FrameId place) { return lacks(stacks_.frames()[place]); }));
    };
    for (const Work& work : works) {
        if (work.module == kernel_module) continue;
        ++quality.modules;
        if (work.gone) ++quality.modules_gone;
        if (work.damaged) ++quality.modules_damaged;
        if (work.names_left_out) {
            const auto places =
                count_places(work, [](const CodeFrame& frame) { return frame.name == no_name; });
            quality.places_left_out += places;
            if (places > 0) ++quality.modules_left_out;
        }
        if (work.lines_left_out)
            quality.lines_left_out +=
                count_places(work, [](const CodeFrame& frame) { return frame.source == no_name; });
    }
    return quality;
}

NamingQuality Symbolizer::run() {
    std::vector<Work> works = gather();
    for (Work& work : works) {
        if (work.module == kernel_module)
            name_kernel(work);
        else
            name_module(work);
    }
    for (Work& work : works)
        if (work.module != kernel_module) locate_module(work);
    const std::vector<std::uint64_t> uses = stacks_.innermost_uses();
    for (const Work& work : works)
        if (work.module != kernel_module) mark_waits(work, uses);
    return count(works);
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
        if (note.n_type == NT_GNU_BUILD_ID && owner == std::string_view("GNU\0", 4) &&
            note.n_descsz <= 64)
            return std::string(rest.substr(0, note.n_descsz));
        rest.remove_prefix(std::min(padded_note(note.n_descsz), rest.size()));
    }
    return {};
}

NamingQuality symbolize(StackTable& stacks, ModuleTable& modules,
                        const SymbolizerOptions& options) {
    return Symbolizer(stacks, modules, options).run();
}

}  // namespace lagtrap::trace
