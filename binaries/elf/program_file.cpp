#include "binaries/elf/program_file.hpp"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "binaries/code/function_places.hpp"
#include "binaries/code/go_functions.hpp"
#include "binaries/code/go_program.hpp"
#include "binaries/code/program_code.hpp"
#include "binaries/elf/elf_image.hpp"
#include "binaries/elf/function_symbols.hpp"
#include "binaries/elf/name_finder.hpp"
#include "binaries/elf/needed_libraries.hpp"
#include "binaries/reader/file_reader.hpp"
#include "binaries/usdt/usdt_notes.hpp"
#include "sandbox/foreign_file.hpp"
#include "sandbox/machine_root.hpp"

namespace lagtrap::binaries {
namespace {

Result<std::string> read_at(int fd, std::uint64_t offset, std::size_t size) {
    std::string bytes(size, '\0');
    const ssize_t got = ::pread(fd, bytes.data(), size, static_cast<off_t>(offset));
    if (got < 0 || static_cast<std::size_t>(got) != size)
        return make_error(ErrorKind::Invalid, "the file ended early");
    return bytes;
}

// Adds the functions of Go's own table, for a stripped Go program.
Status add_go_functions(const ElfImage& image, std::vector<FunctionSymbol>& symbols) {
    TRY_ASSIGN(const auto functions, read_go_functions(image));
    for (const GoFunction& function : functions)
        if (!function.name.empty())
            symbols.push_back({function.name, function.address, function.size, SymbolBinding::Local,
                               false, false});
    return success();
}

// Whether table and symbols have the same addresses.
bool agree(const std::vector<GoFunction>& table, const std::vector<Function>& functions) {
    const auto known = std::find_if(table.begin(), table.end(), [](const GoFunction& function) {
        return function.name == "runtime.main";
    });
    return known == table.end() ||
           std::any_of(functions.begin(), functions.end(), [&](const Function& function) {
               return function.address == known->address && function.name == known->name;
           });
}

}  // namespace

struct ProgramFile::State {
    // Either `image` is set, or `reader` reads the file.
    std::optional<ElfImage> image;
    FileReader* reader = nullptr;
    ReadBudget budget;
    std::optional<Error> failure;  // of the reader, for this file
    UniqueFd file;
    std::string name;
    ProgramFacts facts;
    std::optional<std::vector<Function>> functions;
    std::optional<std::vector<UsdtProbe>> probes;
    std::unique_ptr<ProgramCode> code;
    GoProgram go;
    std::optional<std::vector<GoFunction>> go_functions;

    // Asks the reader: `question` is a method of it, called with `arguments`.
    template <typename Question, typename... Arguments>
    auto ask(Question question, const Arguments&... arguments)
        -> decltype((reader->*question)(0, name, arguments..., budget)) {
        if (failure) return *failure;
        auto answer = (reader->*question)(file.get(), name, arguments..., budget);
        if (!answer &&
            (answer.error().kind == ErrorKind::System || answer.error().kind == ErrorKind::Timeout))
            failure = answer.error();
        return answer;
    }
};

ProgramFile::ProgramFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProgramFile::ProgramFile(ProgramFile&&) noexcept = default;
ProgramFile& ProgramFile::operator=(ProgramFile&&) noexcept = default;
ProgramFile::~ProgramFile() = default;

Result<ProgramFile> ProgramFile::open(const std::filesystem::path& path) {
    // A plain open() would block on a named pipe.
    auto opened = open_regular_file(on_machine(path));
    // Something that is not a regular file is invalid rather than denied.
    const bool no_file =
        !opened && opened.error().kind == ErrorKind::Denied && opened.error().system_errno == 0;
    if (no_file) return make_error(ErrorKind::Invalid, opened.error().message);
    TRY_ASSIGN(UniqueFd file, std::move(opened));
    return open(std::move(file), path.string(), {});
}

Result<ProgramFile> ProgramFile::open(UniqueFd file, const std::string& name,
                                      const ReadBudget& budget) {
    FileReader* const reader = file_reader();
    if (reader == nullptr) return from_file(std::move(file), name);
    TRY_ASSIGN(ProgramFacts facts, reader->program(file.get(), name, budget));
    auto state = std::make_unique<State>();
    state->reader = reader;
    state->budget = budget;
    state->file = std::move(file);
    state->name = name;
    state->facts = std::move(facts);
    return ProgramFile(std::move(state));
}

Result<ProgramFile> ProgramFile::from_file(UniqueFd file, const std::string& name) {
    auto state = std::make_unique<State>();
    TRY_ASSIGN(state->image, ElfImage::from_file(std::move(file), name));
    for (const ElfSegment& segment : state->image->segments())
        if (segment.type == PT_LOAD)
            state->facts.segments.push_back(
                {segment.offset, segment.address, segment.file_bytes, segment.flags});
    state->facts.build_id = state->image->build_id();
    state->go = read_go_program(*state->image);
    state->facts.go_refusal = state->go.refusal;
    return ProgramFile(std::move(state));
}

void ProgramFile::use(const ReadBudget& budget) { state_->budget = budget; }

std::string ProgramFile::build_id() const { return state_->facts.build_id; }

std::string ProgramFile::go_refusal() const { return state_->facts.go_refusal; }

ProgramFacts ProgramFile::facts() const {
    ProgramFacts facts = state_->facts;
    facts.exceptions_may_pass = exceptions_may_pass();
    facts.needed = needed();
    return facts;
}

NeededLibraries ProgramFile::needed() const {
    if (state_->reader) return state_->facts.needed;
    auto libraries = needed_libraries(*state_->image);
    return libraries ? std::move(*libraries) : NeededLibraries{};
}

std::optional<Result<FunctionExits>> ProgramFile::exits_read_elsewhere(
    const Function& function) const {
    if (state_->reader == nullptr) return std::nullopt;
    return state_->ask(&FileReader::exits, function);
}

std::optional<Result<std::vector<Result<FunctionPlaces>>>> ProgramFile::places_read_elsewhere(
    const std::vector<FunctionQuery>& queries) const {
    if (state_->reader == nullptr) return std::nullopt;
    return state_->ask(&FileReader::places, queries);
}

std::optional<Result<std::vector<FunctionCalls>>> ProgramFile::calls_read_elsewhere(
    const std::vector<std::uint64_t>& functions) const {
    if (state_->reader == nullptr) return std::nullopt;
    return state_->ask(&FileReader::calls, functions);
}

Result<std::vector<UsdtProbe>> ProgramFile::usdt_probes() const {
    if (!state_->probes) {
        TRY_ASSIGN(state_->probes, state_->reader ? state_->ask(&FileReader::probes)
                                                  : read_usdt_probes(*state_->image));
    }
    return *state_->probes;
}

Result<std::vector<Function>> ProgramFile::functions() const {
    if (state_->functions) return *state_->functions;
    if (state_->reader) {
        TRY_ASSIGN(state_->functions, state_->ask(&FileReader::functions, std::string()));
        return *state_->functions;
    }
    TRY_ASSIGN(std::vector<FunctionSymbol> symbols, function_symbols(*state_->image));
    if (state_->go.is_go && state_->image->find_section(".symtab") == nullptr)
        TRY(add_go_functions(*state_->image, symbols));
    std::vector<Function> functions;
    functions.reserve(symbols.size());
    for (auto& symbol : symbols) {
        const auto offset = file_offset_of(symbol.address);
        if (symbol.indirect || !offset) continue;
        functions.push_back(
            Function{std::move(symbol.name), symbol.address, symbol.size, *offset, symbol.dynamic});
    }
    const auto identity = [](const Function& function) {
        return std::tie(function.address, function.name);
    };
    std::stable_sort(functions.begin(), functions.end(), [&](const Function& a, const Function& b) {
        return identity(a) < identity(b);
    });
    functions.erase(std::unique(functions.begin(), functions.end(),
                                [&](const Function& a, const Function& b) {
                                    return identity(a) == identity(b);
                                }),
                    functions.end());
    state_->functions = std::move(functions);
    return *state_->functions;
}

Result<std::vector<Function>> ProgramFile::find_functions(std::string_view name) const {
    if (state_->reader) return state_->ask(&FileReader::functions, std::string(name));
    TRY_ASSIGN(auto found, find_functions(std::vector<std::string>{std::string(name)}));
    return std::move(found.front());
}

Result<std::vector<std::vector<Function>>> ProgramFile::find_functions(
    const std::vector<std::string>& names) const {
    if (!state_->functions) {
        if (auto all = functions(); !all) return all.error();
    }
    const NameFinder finder(names);
    std::vector<std::vector<Function>> found(names.size());
    for (const auto& function : *state_->functions) {
        for (const std::size_t number : finder.names_of(function.name)) {
            auto& of_name = found[number];
            if (of_name.empty() || of_name.back().address != function.address)
                of_name.push_back(function);
        }
    }
    return found;
}

std::optional<std::uint64_t> ProgramFile::file_offset_of(std::uint64_t address) const {
    for (const auto& segment : state_->facts.segments)
        if (address >= segment.address && address - segment.address < segment.file_bytes)
            return segment.offset + (address - segment.address);
    return std::nullopt;
}

std::optional<std::uint64_t> ProgramFile::address_of(std::uint64_t file_offset) const {
    for (const auto& segment : state_->facts.segments)
        if (file_offset >= segment.offset && file_offset - segment.offset < segment.file_bytes)
            return segment.address + (file_offset - segment.offset);
    return std::nullopt;
}

bool ProgramFile::is_writable_twice(std::uint64_t file_offset) const {
    constexpr std::uint64_t page_bytes = 4096;
    const auto& segments = state_->facts.segments;
    const auto has_page = [page = file_offset / page_bytes](const auto& segment) {
        const std::uint64_t last =
            segment.offset + std::max<std::uint64_t>(segment.file_bytes, 1) - 1;
        return (segment.flags & PF_W) != 0 && page >= segment.offset / page_bytes &&
               page <= last / page_bytes;
    };
    return std::count_if(segments.begin(), segments.end(), has_page) > 1;
}

Result<std::string> ProgramFile::code_at(std::uint64_t file_offset) const {
    if (state_->reader) return state_->ask(&FileReader::code, file_offset);
    const std::uint64_t size = state_->image->size_bytes();
    const std::uint64_t rest = file_offset < size ? size - file_offset : 0;
    if (rest == 0) return std::string();
    return state_->image->read(file_offset, std::min<std::uint64_t>(rest, code_bytes), code_bytes);
}

namespace {

// Functions that run code on another stack: of the C library, of signal handlers, of Boost, and of
// coroutine libraries.
constexpr std::array stack_switches{
    std::string_view("makecontext"),    std::string_view("swapcontext"),
    std::string_view("setcontext"),     std::string_view("jump_fcontext"),
    std::string_view("ontop_fcontext"), std::string_view("make_fcontext"),
    std::string_view("coro_transfer"),  std::string_view("co_switch"),
    std::string_view("sigaltstack")};

// Searches the names of dynamic symbols, which include imported functions; without those, the
// file's own symbols.
bool switches_stacks(const ElfImage& image) {
    constexpr std::uint64_t names_limit_bytes = 64 << 20;
    const ElfSection* section = image.find_section(".dynstr");
    if (section == nullptr) section = image.find_section(".strtab");
    if (section == nullptr) return false;
    const auto names = image.read(*section, names_limit_bytes);
    if (!names) return false;
    return std::any_of(stack_switches.begin(), stack_switches.end(), [&](std::string_view name) {
        const std::string entry = '\0' + std::string(name) + '\0';
        return names->find(entry) != std::string::npos;
    });
}

}  // namespace

bool ProgramFile::exceptions_may_pass() const {
    if (state_->reader) return state_->facts.exceptions_may_pass;
    const auto& sections = state_->image->sections();
    if (sections.empty() || state_->go.is_go) return true;
    for (const auto& section : sections)
        if (section.name == ".gcc_except_table") return true;
    const auto libraries = needed_libraries(*state_->image);
    if (!libraries) return true;
    // The C library, which needs only the loader, provides them for others.
    const bool is_c_library =
        libraries->names.size() == 1 && libraries->names.front().starts_with("ld-linux");
    if (!is_c_library && switches_stacks(*state_->image)) return true;
    return std::any_of(
        libraries->names.begin(), libraries->names.end(), [](std::string_view library) {
            const auto is = [&](std::string_view name) { return library.starts_with(name); };
            return is("libstdc++.so") || is("libc++.so") || is("libc++abi.so") || is("libgcc_s.so");
        });
}

const ElfImage& ProgramFile::image() const { return *state_->image; }

Result<const ProgramCode*> ProgramFile::code() const {
    if (!state_->code) {
        TRY_ASSIGN(std::vector<Function> all, functions());
        state_->code = std::make_unique<ProgramCode>(*state_->image, std::move(all));
    }
    return state_->code.get();
}

const GoProgram& ProgramFile::go() const { return state_->go; }

Result<const GoFunction*> ProgramFile::go_function(std::uint64_t address) const {
    if (!state_->go.is_go) return nullptr;
    if (!state_->go_functions) {
        TRY_ASSIGN(auto table, read_go_functions(*state_->image));
        TRY_ASSIGN(const auto symbols, functions());
        if (!agree(table, symbols))
            return make_error(ErrorKind::Unsupported,
                              "its Go function table and its symbols disagree");
        state_->go_functions = std::move(table);
    }
    const auto& all = *state_->go_functions;
    const auto found = std::lower_bound(
        all.begin(), all.end(), address,
        [](const GoFunction& function, std::uint64_t at) { return function.address < at; });
    return found != all.end() && found->address == address ? &*found : nullptr;
}

std::string read_build_id(int fd) {
    if (FileReader* const reader = file_reader()) {
        const auto build_id = reader->build_id(fd);
        return build_id ? *build_id : std::string();
    }
    constexpr std::size_t max_program_headers = 256;
    constexpr std::uint64_t max_segment_bytes = 64 << 10;
    const auto head = read_at(fd, 0, sizeof(Elf64_Ehdr));
    if (!head || !head->starts_with(ELFMAG) || (*head)[EI_CLASS] != ELFCLASS64 ||
        (*head)[EI_DATA] != ELFDATA2LSB)
        return {};
    const auto header = number_at<Elf64_Ehdr>(*head, 0);
    if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > max_program_headers) return {};
    const auto table = read_at(fd, header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
    if (!table) return {};
    for (std::size_t index = 0; index < header.e_phnum; ++index) {
        const auto segment = number_at<Elf64_Phdr>(*table, index * sizeof(Elf64_Phdr));
        if (segment.p_type != PT_NOTE || segment.p_filesz > max_segment_bytes) continue;
        const auto notes = read_at(fd, segment.p_offset, segment.p_filesz);
        if (!notes) continue;
        if (auto id = build_id_of_notes(*notes, segment.p_align); !id.empty()) return id;
    }
    return {};
}

}  // namespace lagtrap::binaries
