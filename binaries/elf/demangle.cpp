// The C library declares basename, and libiberty.h would declare it differently.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <memory>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::binaries {
namespace {

// Mangled names can refer back to themselves, so a few hundred bytes may expand to gigabytes. Hence
// the input is bounded, and a name that exceeds its limit is abandoned.
constexpr std::size_t max_mangled_bytes = 4'096;
constexpr std::size_t max_demangled_bytes = 16'384;
// libiberty refuses longer C++ names by default; its stack use is about 64 bytes per character.
constexpr std::size_t default_mangled_bytes = 1'024;
constexpr std::ptrdiff_t max_back_references_in_d = 16;

struct Output {
    std::jmp_buf too_long;
    std::size_t size = 0;
    char text[max_demangled_bytes];
};

void append(const char* piece, std::size_t bytes, void* opaque) {
    auto& output = *static_cast<Output*>(opaque);
    // libiberty's printer cannot be stopped otherwise. The C frames in between own no resources.
    if (bytes > max_demangled_bytes - output.size) std::longjmp(output.too_long, 1);
    std::copy_n(piece, bytes, output.text + output.size);
    output.size += bytes;
}

using CallbackDemangler = int (*)(const char*, int, demangle_callbackref, void*);

// longjmp skips this frame, so it must not contain objects with destructors.
bool run_demangler(CallbackDemangler demangler, const char* symbol, int options, Output& output) {
    if (setjmp(output.too_long) != 0) return false;
    return demangler(symbol, options, append, &output) != 0;
}

std::string demangle_d(const std::string& symbol) {
    if (std::count(symbol.begin(), symbol.end(), 'Q') > max_back_references_in_d) return symbol;
    const std::unique_ptr<char, decltype(&std::free)> text(dlang_demangle(symbol.c_str(), 0),
                                                           &std::free);
    return text ? std::string(text.get()) : symbol;
}

std::string demangle_with(std::string_view view, int options) {
    std::string symbol(view);
    if (symbol.size() < 3 || symbol[0] != '_' || symbol.size() > max_mangled_bytes) return symbol;
    if (symbol.find('\0') != std::string::npos) return symbol;
    if (symbol[1] == 'D') return demangle_d(symbol);
    if (symbol[1] != 'Z' && symbol[1] != 'R') return symbol;
    const auto output = std::make_unique<Output>();
    // Try Rust first: its old mangling looks like C++ with a hash at the end.
    if (run_demangler(rust_demangle_callback, symbol.c_str(), 0, *output))
        return std::string(output->text, output->size);
    output->size = 0;
    if (symbol[1] != 'Z') return symbol;
    if (symbol.size() > default_mangled_bytes) options |= DMGL_NO_RECURSE_LIMIT;
    if (run_demangler(cplus_demangle_v3_callback, symbol.c_str(), options, *output))
        return std::string(output->text, output->size);
    return symbol;
}

}  // namespace

std::string demangle(std::string_view symbol) {
    return demangle_with(symbol, DMGL_PARAMS | DMGL_ANSI);
}

std::string demangle_without_parameters(std::string_view symbol) {
    return demangle_with(symbol, DMGL_NO_OPTS);
}

}  // namespace lagtrap::binaries
