#include "calls/function_sorting.hpp"

#include <algorithm>
#include <array>

namespace lagtrap::calls {
namespace {

constexpr std::array system_folders{
    std::string_view("/lib/"),        std::string_view("/lib32/"),
    std::string_view("/lib64/"),      std::string_view("/usr/lib/"),
    std::string_view("/usr/lib32/"),  std::string_view("/usr/lib64/"),
    std::string_view("/usr/libexec/")};
// Start and end of programs, from crt1.o, crtbegin.o and the static part of the C library.
constexpr std::array start_functions{std::string_view("_start"),
                                     std::string_view("_init"),
                                     std::string_view("_fini"),
                                     std::string_view("frame_dummy"),
                                     std::string_view("register_tm_clones"),
                                     std::string_view("deregister_tm_clones"),
                                     std::string_view("__do_global_dtors_aux"),
                                     std::string_view("__libc_csu_init"),
                                     std::string_view("__libc_csu_fini"),
                                     std::string_view("_dl_relocate_static_pie"),
                                     std::string_view("atexit"),
                                     std::string_view("at_quick_exit")};
constexpr std::array allocator_functions{
    std::string_view("malloc"),        std::string_view("free"),
    std::string_view("calloc"),        std::string_view("realloc"),
    std::string_view("reallocarray"),  std::string_view("memalign"),
    std::string_view("aligned_alloc"), std::string_view("posix_memalign"),
    std::string_view("valloc"),        std::string_view("malloc_usable_size")};
// Namespaces as demanglers write them.
constexpr std::array language_namespaces{std::string_view("std::"),
                                         std::string_view("__gnu_cxx::"),
                                         std::string_view("__cxxabiv1::"),
                                         std::string_view("core::"),
                                         std::string_view("alloc::"),
                                         std::string_view("<core::"),
                                         std::string_view("<alloc::"),
                                         std::string_view("<std::"),
                                         std::string_view("compiler_builtins::"),
                                         std::string_view("hashbrown::"),
                                         std::string_view("gimli::"),
                                         std::string_view("addr2line::"),
                                         std::string_view("rustc_demangle::")};
constexpr std::array compiler_beginnings{std::string_view("__x86_"),
                                         std::string_view("__stack_chk_"),
                                         std::string_view("__asan_"),
                                         std::string_view("__tsan_"),
                                         std::string_view("__ubsan_"),
                                         std::string_view("__sanitizer_"),
                                         std::string_view("__clang_"),
                                         std::string_view("_GLOBAL__sub_I_"),
                                         std::string_view("__static_initialization_and_"),
                                         std::string_view("__cxx_global_"),
                                         std::string_view("__tls_init"),
                                         std::string_view("__rust_"),
                                         std::string_view("__gcov_"),
                                         std::string_view("__llvm_")};

template <typename List>
bool begins_with_one(std::string_view text, const List& beginnings) {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string_view one) { return text.starts_with(one); });
}

template <typename List>
bool is_one(std::string_view text, const List& all) {
    return std::find(all.begin(), all.end(), text) != all.end();
}

// "postgresql/15" for /usr/lib/postgresql/15/bin/postgres, "postgresql" for
// .../postgresql/bin/postgres. Empty for a file directly in a system folder, or in one for a single
// architecture.
std::string_view own_folder(std::string_view program) {
    for (const std::string_view folder : system_folders) {
        if (!program.starts_with(folder)) continue;
        const std::size_t file = program.rfind('/');
        if (file < folder.size()) return {};
        std::string_view inside = program.substr(0, file);
        if (inside.ends_with("/bin") || inside.ends_with("/sbin") || inside.ends_with("/lib"))
            inside = inside.substr(0, inside.rfind('/'));
        const std::string_view name =
            inside.size() > folder.size() ? inside.substr(folder.size()) : std::string_view();
        return name.empty() || name.find("-linux-") < name.find('/') ? std::string_view() : inside;
    }
    return {};
}

}  // namespace

SystemReason system_file_reason(std::string_view path, std::string_view program) {
    if (path == program) return {};
    if (!path.starts_with('/')) return "code without a file";
    if (!begins_with_one(path, system_folders)) return {};
    const std::string_view own = own_folder(program);
    if (!own.empty() && path.starts_with(own) && path.substr(own.size()).starts_with('/'))
        return {};
    return "system library";
}

SystemReason system_function_reason(std::string_view symbol, std::string_view name) {
    if (is_one(symbol, start_functions)) return "program startup and exit";
    if (is_one(symbol, allocator_functions) || name.starts_with("operator new") ||
        name.starts_with("operator delete"))
        return "allocator";
    if (begins_with_one(symbol, compiler_beginnings)) return "compiler-generated";
    if (begins_with_one(name, language_namespaces)) return "language library";
    // Demanglers write the result type of templates first.
    const std::size_t open = name.find_first_of("(<");
    const std::size_t space = name.substr(0, open).rfind(' ');
    if (space != std::string_view::npos &&
        begins_with_one(name.substr(space + 1), language_namespaces))
        return "language library";
    return {};
}

}  // namespace lagtrap::calls
