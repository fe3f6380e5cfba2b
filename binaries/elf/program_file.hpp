// What lagtrap reads from a program or library (ELF): build id, functions, USDT probes. The file is somebody
// else's: every offset and count is checked against its size, and limits bound what is kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binaries/usdt/usdt_arguments.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"

namespace lagtrap::binaries {

class ElfImage;
class ProgramCode;
struct GoFunction;
struct GoProgram;
struct FunctionCalls;
struct FunctionExits;
struct FunctionPlaces;
struct FunctionQuery;
struct ProgramFacts;
struct ReadBudget;

// One USDT site (.note.stapsdt). Several sites may have one provider and name.
struct UsdtProbe {
    std::string provider;
    std::string name;
    std::uint64_t address = 0;    // of the nop, as linked, prelink-adjusted by .stapsdt.base
    std::uint64_t semaphore = 0;  // 0: none
    std::string arguments;        // "-4@%eax 8@-16(%rbp)"
    std::uint32_t argument_count = 0;
    std::vector<UsdtArgument> places;  // of the first max_usdt_arguments arguments
};

inline constexpr std::size_t code_bytes = 16;  // as long as an instruction gets

struct Function {
    std::string name;           // as the symbol table has it
    std::uint64_t address = 0;  // as linked
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;  // of its first instruction, for uprobes
    bool dynamic = false;           // from .dynsym
};

// The libraries that a file asks the loader for.
struct NeededLibraries {
    std::vector<std::string> names;    // as DT_NEEDED has them: "libstdc++.so.6"
    std::vector<std::string> folders;  // of DT_RUNPATH or DT_RPATH, perhaps with $ORIGIN
};

// An opened file; the tables are read when first asked for: by the process that reads files for this one, if there is
// one (file_reader.hpp), else here. Once that process failed at it, or took too long, it is not asked about this file
// again. Not for several threads at once.
class ProgramFile {
  public:
    // ErrorKind::NotFound, Denied, Invalid (not a 64-bit little-endian ELF file, damaged), TooLarge.
    [[nodiscard]] static Result<ProgramFile> open(const std::filesystem::path& path);
    // The same of a file that is open, as use() has it.
    [[nodiscard]] static Result<ProgramFile> open(UniqueFd file, const std::string& name, const ReadBudget& budget);
    // The same. `name` is used in errors. Always read here.
    [[nodiscard]] static Result<ProgramFile> from_file(UniqueFd file, const std::string& name);
    ProgramFile(ProgramFile&&) noexcept;
    ProgramFile& operator=(ProgramFile&&) noexcept;
    ~ProgramFile();

    // What is asked from now on, all together, may use this budget.
    void use(const ReadBudget& budget);
    // Lower-case hexadecimal; empty where there is none.
    [[nodiscard]] std::string build_id() const;
    [[nodiscard]] Result<std::vector<UsdtProbe>> usdt_probes() const;
    // Functions of .symtab, .dynsym and .gnu_debugdata, sorted by address, no duplicates of one address and name; of a program
    // of Go that has no .symtab those of its own table.
    // Indirect functions (strlen of libc) are left out: their symbol is the resolver, which runs once.
    [[nodiscard]] Result<std::vector<Function>> functions() const;
    // By symbol name, or by demangled name with or without its parameters ("ns::Store::get" finds
    // every overload of it). One for each address. Empty where there is none. A part of a function that lies elsewhere
    // ("f.cold") is found by its symbol name alone.
    [[nodiscard]] Result<std::vector<Function>> find_functions(std::string_view name) const;
    // The same of many names. Only of a file that is read here.
    [[nodiscard]] Result<std::vector<std::vector<Function>>> find_functions(
        const std::vector<std::string>& names) const;
    // File offset of an address as linked, by the loadable segments; nullopt outside them.
    [[nodiscard]] std::optional<std::uint64_t> file_offset_of(std::uint64_t address) const;
    // Address as linked of a file offset, the reverse.
    [[nodiscard]] std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const;
    // Whether two writable segments have the page of the file at `file_offset`, as lld lays them out: it is in memory twice,
    // and the kernel raises a USDT semaphore of it in the first of them (kernel/events/uprobes.c, find_ref_ctr_vma()), which
    // the program does not read.
    [[nodiscard]] bool is_writable_twice(std::uint64_t file_offset) const;
    // The first bytes of the code at `file_offset`, code_bytes or as many as the file has there.
    [[nodiscard]] Result<std::string> code_at(std::uint64_t file_offset) const;
    // Whether something may walk the stack through this file's functions: then no return probe of the kernel may be put
    // on them, but return_sites.hpp serves. True for a file that needs the libraries of C++ or of unwinding (Rust's
    // panics too), has landing pads (.gcc_except_table), switches stacks (coroutines: the kernel takes the return probes of
    // another stack for left ones) or is a Go program; true too where it cannot be told: no section headers, damage. A callback that throws through the functions of a plain C library is not foreseen.
    [[nodiscard]] bool exceptions_may_pass() const;
    // Empty for a static program, and for one whose dynamic segment is damaged.
    [[nodiscard]] NeededLibraries needed() const;
    // Why functions of this program of Go cannot be watched ("was made by go1.16.5; ..."); empty: they can, or it is no such
    // program.
    [[nodiscard]] std::string go_refusal() const;
    // Build id, segments, exceptions, libraries, Go: at once.
    [[nodiscard]] ProgramFacts facts() const;
    // As function_exits() (return_sites.hpp) has it, if another process reads this file; nullopt: read it here.
    [[nodiscard]] std::optional<Result<FunctionExits>> exits_read_elsewhere(const Function& function) const;
    // The same of function_places() (function_places.hpp).
    [[nodiscard]] std::optional<Result<std::vector<Result<FunctionPlaces>>>> places_read_elsewhere(
        const std::vector<FunctionQuery>& queries) const;
    // The same of function_calls() (function_calls.hpp).
    [[nodiscard]] std::optional<Result<std::vector<FunctionCalls>>> calls_read_elsewhere(
        const std::vector<std::uint64_t>& functions) const;
    // The file's bones and its code, for the other files of this folder. Only of a file that is read here.
    [[nodiscard]] const ElfImage& image() const;
    [[nodiscard]] Result<const ProgramCode*> code() const;
    [[nodiscard]] const GoProgram& go() const;
    // The function of Go that begins at this address, as linked; nullptr: there is none. Errors of read_go_functions(), of
    // programs of Go alone.
    [[nodiscard]] Result<const GoFunction*> go_function(std::uint64_t address) const;

  private:
    struct State;
    explicit ProgramFile(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// C++, Rust and D names as people write them; the name itself where it is not mangled.
[[nodiscard]] std::string demangle(std::string_view symbol);
// The same without parameters and return type: "ns::Store::get".
[[nodiscard]] std::string demangle_without_parameters(std::string_view symbol);

// Build id of the file behind `fd`, reading its program headers and notes alone (some microseconds, or some tens where
// another process reads). Empty: none.
[[nodiscard]] std::string read_build_id(int fd);

}  // namespace lagtrap::binaries
