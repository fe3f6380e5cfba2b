#include "trace/names/later_names.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "binaries/elf/elf_image.hpp"
#include "binaries/elf/program_file.hpp"
#include "core/mapped_files.hpp"
#include "core/unique_fd.hpp"
#include "trace/names/file_symbols.hpp"

namespace lagtrap::trace {
namespace {

bool has_build_id(const std::filesystem::path& path, const std::string& build_id) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat facts {};
    return fd.valid() && ::fstat(fd.get(), &facts) == 0 && S_ISREG(facts.st_mode) &&
           binaries::read_build_id(fd.get()) == build_id;
}

// True if the file contains code, unlike split-off debug files, which only describe it.
bool has_code(const std::filesystem::path& path) {
    const auto file = binaries::ProgramFile::open(path);
    if (!file) return false;
    const auto& sections = file->image().sections();
    return sections.empty() ||
           std::any_of(sections.begin(), sections.end(), [](const binaries::ElfSection& section) {
               return section.name == ".text" && section.type == SHT_PROGBITS;
           });
}

std::optional<std::filesystem::path> find_program(const UnnamedModule& module,
                                                  const LaterNamesOptions& options) {
    std::string path = module.path;
    if (path.ends_with(deleted_mark)) path.resize(path.size() - deleted_mark.size());
    std::vector<std::filesystem::path> candidates{path};
    for (const auto& folder : options.program_folders) {
        candidates.push_back(folder / path.substr(1));
        candidates.push_back(folder / std::filesystem::path(path).filename());
    }
    for (auto& candidate : candidates)
        if (has_build_id(candidate, module.build_id) && has_code(candidate))
            return std::move(candidate);
    return std::nullopt;
}

// What is available for one module: its program and its debug file, each optional.
class ModuleSearch {
  public:
    ModuleSearch(const UnnamedModule& module, const LaterNamesOptions& options)
        : module_(module), options_(options), budget_(options.limits) {}

    LaterNames find();

  private:
    void open();
    void open_lines();
    [[nodiscard]] std::vector<binaries::SourceFrame> functions_at(const UnnamedPlace& place);

    const UnnamedModule& module_;
    const LaterNamesOptions& options_;
    NamingBudget budget_;
    LaterNames result_;
    std::optional<std::filesystem::path> program_;
    std::optional<std::filesystem::path> debug_file_;
    std::optional<binaries::SymbolTable> symbols_;
    std::optional<binaries::SourceLines> lines_;
};

void ModuleSearch::open() {
    program_ = find_program(module_, options_);
    debug_file_ = program_ ? binaries::find_debug_file(*program_, options_.search)
                           : binaries::find_debug_file_of(module_.build_id, options_.search);
    if (!program_ && debug_file_ && has_code(*debug_file_)) program_ = debug_file_;
    if (debug_file_)
        result_.found_in = *debug_file_;
    else if (program_)
        result_.found_in = *program_;
    if (!program_ && !debug_file_) return;
    auto table = program_
                     ? load_symbols(*program_, options_.search, budget_)
                     : binaries::SymbolTable::of_debug_file(*debug_file_, module_.load_bias,
                                                            options_.limits.symbol_table_bytes);
    if (table)
        symbols_ = std::move(table).value();
    else
        result_.problem = table.error().message;
    if (debug_file_) open_lines();
}

void ModuleSearch::open_lines() {
    auto lines =
        load_lines(program_.value_or(*debug_file_), *debug_file_, options_.debug_info, budget_);
    if (lines)
        lines_ = std::move(lines).value();
    else if (lines.error().kind != ErrorKind::NotFound)
        result_.problem = lines.error().message;
}

std::vector<binaries::SourceFrame> ModuleSearch::functions_at(const UnnamedPlace& place) {
    std::vector<binaries::SourceFrame> functions;
    const std::uint64_t offset = place.address - module_.load_bias;
    // Without the program, trust the recording about how its code was linked.
    if (lines_)
        functions = program_ ? lines_->frames_at(offset) : lines_->frames_at_address(place.address);
    std::string symbol = place.name;
    if (symbol.empty() && symbols_) {
        if (const auto hit = symbols_->find(offset)) symbol = hit->name;
    }
    if (functions.empty() && place.name.empty() && !symbol.empty()) functions.emplace_back();
    take_symbol(functions, symbol);
    const bool better =
        std::any_of(functions.begin(), functions.end(),
                    [](const auto& f) { return !f.file.empty(); }) ||
        (place.name.empty() && !functions.empty() && !functions.back().function.empty());
    if (!better) functions.clear();
    return functions;
}

LaterNames ModuleSearch::find() {
    result_.names.path = module_.path;
    result_.names.build_id = module_.build_id;
    open();
    if (!symbols_ && !lines_) return std::move(result_);
    for (const UnnamedPlace& place : module_.places) {
        if (!budget_.time_left()) {
            result_.problem = "it took too long";
            break;
        }
        if (auto functions = functions_at(place); !functions.empty())
            result_.names.places.push_back({place.address, std::move(functions)});
    }
    return std::move(result_);
}

}  // namespace

LaterNames find_later_names(const UnnamedModule& module, const LaterNamesOptions& options) {
    return ModuleSearch(module, options).find();
}

}  // namespace lagtrap::trace
