// Reads a program or library (ELF): build id, functions, USDT probes. The file is untrusted: every
// offset and count is checked against its size, and limits bound what is kept.
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

// A USDT site (.note.stapsdt). Several sites may have the same provider and name.
struct UsdtProbe {
    std::string provider;
    std::string name;
    std::uint64_t address = 0;    // of the nop, as linked, prelink-adjusted by .stapsdt.base
    std::uint64_t semaphore = 0;  // 0 if there is none
    std::string arguments;        // "-4@%eax 8@-16(%rbp)"
    std::uint32_t argument_count = 0;
    std::vector<UsdtArgument> places;  // of the first max_usdt_arguments arguments
};

inline constexpr std::size_t code_bytes = 16;  // the maximum length of an instruction

struct Function {
    std::string name;           // as in the symbol table
    std::uint64_t address = 0;  // as linked
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;  // of its first instruction, for uprobes
    bool dynamic = false;           // from .dynsym
};

// The libraries that a file asks the loader for.
struct NeededLibraries {
    std::vector<std::string> names;    // from DT_NEEDED: "libstdc++.so.6"
    std::vector<std::string> folders;  // from DT_RUNPATH or DT_RPATH; may contain $ORIGIN
};

// An opened file. Tables are read on first use, by this process's file reader if it has one
// (file_reader.hpp). After the reader failed or timed out on this file, it is not asked again. Not
// thread-safe.
class ProgramFile {
  public:
    // ErrorKind::NotFound, Denied, Invalid (not a 64-bit little-endian ELF file, damaged),
    // TooLarge.
    [[nodiscard]] static Result<ProgramFile> open(const std::filesystem::path& path);
    // The same for an open file, with a budget as for use().
    [[nodiscard]] static Result<ProgramFile> open(UniqueFd file, const std::string& name,
                                                  const ReadBudget& budget);
    // The same, but always read in this process. `name` is for errors.
    [[nodiscard]] static Result<ProgramFile> from_file(UniqueFd file, const std::string& name);
    ProgramFile(ProgramFile&&) noexcept;
    ProgramFile& operator=(ProgramFile&&) noexcept;
    ~ProgramFile();

    // The budget for all further questions together.
    void use(const ReadBudget& budget);
    // Lower-case hexadecimal; empty if there is none.
    [[nodiscard]] std::string build_id() const;
    [[nodiscard]] Result<std::vector<UsdtProbe>> usdt_probes() const;
    // Functions of .symtab, .dynsym and .gnu_debugdata, sorted by address, without duplicates of
    // address and name. For a Go program without .symtab, those of its own table. Omits indirect
    // functions (such as libc's strlen), whose symbol is a resolver that runs once.
    [[nodiscard]] Result<std::vector<Function>> functions() const;
    // Finds functions by symbol, or by demangled name with or without parameters ("ns::Store::get"
    // finds every overload). One per address. Empty if there is none. A part of a function placed
    // elsewhere ("f.cold") is found only by its symbol.
    [[nodiscard]] Result<std::vector<Function>> find_functions(std::string_view name) const;
    // The same for many names. Only for a file read in this process.
    [[nodiscard]] Result<std::vector<std::vector<Function>>> find_functions(
        const std::vector<std::string>& names) const;
    // The file offset of an address as linked, from the loadable segments; nullopt outside them.
    [[nodiscard]] std::optional<std::uint64_t> file_offset_of(std::uint64_t address) const;
    // The reverse: the address as linked of a file offset.
    [[nodiscard]] std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const;
    // Whether two writable segments contain the page of the file at `file_offset`, as lld lays them
    // out. Then the page is in memory twice, and the kernel raises a USDT semaphore in the first
    // (kernel/events/uprobes.c, find_ref_ctr_vma()), which the program does not read.
    [[nodiscard]] bool is_writable_twice(std::uint64_t file_offset) const;
    // The first bytes of the code at `file_offset`: code_bytes, or fewer at the end of the file's
    // code.
    [[nodiscard]] Result<std::string> code_at(std::uint64_t file_offset) const;
    // Whether something may unwind the stack through this file's functions. If so, do not use
    // kernel return probes on them, but return_sites.hpp. True if the file needs the libraries of
    // C++ or of unwinding (also for Rust's panics), has landing pads (.gcc_except_table), switches
    // stacks (coroutines: the kernel drops return probes of another stack), or is a Go program.
    // Also true if that is unknown: no section headers, damage. Does not cover a callback that
    // throws through functions of a plain C library.
    [[nodiscard]] bool exceptions_may_pass() const;
    // Empty for a static program, or if the dynamic segment is damaged.
    [[nodiscard]] NeededLibraries needed() const;
    // Why functions of this Go program cannot be watched ("was made by go1.16.5; ..."). Empty if
    // they can, or if it is not a Go program.
    [[nodiscard]] std::string go_refusal() const;
    // Build id, segments, exceptions, libraries and Go facts together.
    [[nodiscard]] ProgramFacts facts() const;
    // The result of function_exits() (return_sites.hpp) if a file reader reads this file; nullopt
    // if it is read in this process.
    [[nodiscard]] std::optional<Result<FunctionExits>> exits_read_elsewhere(
        const Function& function) const;
    // The same for function_places() (function_places.hpp).
    [[nodiscard]] std::optional<Result<std::vector<Result<FunctionPlaces>>>> places_read_elsewhere(
        const std::vector<FunctionQuery>& queries) const;
    // The same for function_calls() (function_calls.hpp).
    [[nodiscard]] std::optional<Result<std::vector<FunctionCalls>>> calls_read_elsewhere(
        const std::vector<std::uint64_t>& functions) const;
    // The image and code, for other files of binaries/. Only for a file read in this process.
    [[nodiscard]] const ElfImage& image() const;
    [[nodiscard]] Result<const ProgramCode*> code() const;
    [[nodiscard]] const GoProgram& go() const;
    // The Go function that starts at this address, as linked; nullptr if there is none. For Go
    // programs, errors of read_go_functions().
    [[nodiscard]] Result<const GoFunction*> go_function(std::uint64_t address) const;

  private:
    struct State;
    explicit ProgramFile(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Demangles names of C++, Rust and D; returns other names unchanged.
[[nodiscard]] std::string demangle(std::string_view symbol);
// The same without parameters and return type: "ns::Store::get".
[[nodiscard]] std::string demangle_without_parameters(std::string_view symbol);

// The build id of the file `fd`; empty if it has none. Reads only program headers and notes, which
// takes a few microseconds, or tens of them with a file reader.
[[nodiscard]] std::string read_build_id(int fd);

}  // namespace lagtrap::binaries
