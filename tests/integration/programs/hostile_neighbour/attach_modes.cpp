#include <elf.h>
#include <fcntl.h>
#include <lagtrap.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "modes.hpp"

namespace hostile {
namespace {

int fail(const char* what) {
    std::perror(what);
    return 1;
}

// swap FILE OTHER: exchanges FILE and OTHER (which may be a link) as fast as possible.
int swap_files(std::span<char* const> arguments) {
    if (arguments.size() != 2) return 2;
    for (std::puts("ready"), std::fflush(stdout);;)
        if (::renameat2(AT_FDCWD, arguments[0], AT_FDCWD, arguments[1], RENAME_EXCHANGE) != 0)
            return fail("swap");
}

bool copy(const char* from, const std::string& to) {
    const int in = ::open(from, O_RDONLY | O_CLOEXEC);
    const int out = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    std::array<char, 65536> piece{};
    ssize_t got = -1;
    while (in >= 0 && out >= 0 && (got = ::read(in, piece.data(), piece.size())) > 0)
        if (::write(out, piece.data(), static_cast<std::size_t>(got)) != got) break;
    ::close(in);
    ::close(out);
    return got == 0;
}

// replace FILE: replaces it by a copy again and again.
int replace_file(std::span<char* const> arguments) {
    if (arguments.size() != 1) return 2;
    const std::string fresh = std::string(arguments[0]) + ".new";
    for (std::puts("ready"), std::fflush(stdout);;
         std::this_thread::sleep_for(std::chrono::milliseconds(100)))
        if (!copy(arguments[0], fresh) || ::rename(fresh.c_str(), arguments[0]) != 0)
            return fail("replace");
}

// touch FILE: sets its modification time again and again, and opens it for writing without writing.
int touch_file(std::span<char* const> arguments) {
    if (arguments.size() != 1) return 2;
    for (std::puts("ready"), std::fflush(stdout);;
         std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
        const int fd = ::open(arguments[0], O_WRONLY | O_CLOEXEC);
        if (fd < 0 || ::futimens(fd, nullptr) != 0) return fail("touch");
        ::close(fd);
    }
}

// A program with many functions whose names take long to demangle: each parameter contains the
// previous one twice.
struct SlowProgram {
    static constexpr std::uint32_t functions = 1'000'000;
    static constexpr std::uint64_t code_bytes = 16ULL * functions;

    Elf64_Ehdr header{};
    Elf64_Phdr code{};
    std::array<Elf64_Shdr, 4> sections{};
};

// "slow(A<int>, A<A<int>, A<int>>, ...)"
std::string slow_name() {
    std::string name = "_Z4slow1AIiE";
    for (const char last : std::string("012345678"))
        name += std::string("S_IS") + last + "_S" + last + "_E";
    return name;
}

SlowProgram slow_program(std::uint64_t names_bytes) {
    SlowProgram program;
    std::memcpy(program.header.e_ident, ELFMAG "\2\1\1", 7);
    program.header.e_type = ET_DYN;
    program.header.e_machine = EM_X86_64;
    program.header.e_version = EV_CURRENT;
    program.header.e_ehsize = sizeof(Elf64_Ehdr);
    program.header.e_phoff = offsetof(SlowProgram, code);
    program.header.e_phentsize = sizeof(Elf64_Phdr);
    program.header.e_phnum = 1;
    program.header.e_shoff = offsetof(SlowProgram, sections);
    program.header.e_shentsize = sizeof(Elf64_Shdr);
    program.header.e_shnum = program.sections.size();
    program.header.e_shstrndx = 2;
    program.code = {PT_LOAD, PF_R | PF_X, 0, 0, 0, SlowProgram::code_bytes, SlowProgram::code_bytes,
                    4096};
    const std::uint64_t names_at = sizeof(SlowProgram);
    const std::uint64_t symbols_at = (names_at + names_bytes + 7) / 8 * 8;
    program.sections[1] = {1,          SHT_SYMTAB,
                           0,          0,
                           symbols_at, (SlowProgram::functions + 1) * sizeof(Elf64_Sym),
                           2,          1,
                           8,          sizeof(Elf64_Sym)};
    program.sections[2] = {9, SHT_STRTAB, 0, 0, names_at, names_bytes, 0, 0, 1, 0};
    program.sections[3] = {
        17, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0, SlowProgram::code_bytes, 0, 0, 16, 0};
    return program;
}

// slow FILE: writes a program in which it takes long to find a function "slow".
int write_slow_program(std::span<char* const> arguments) {
    if (arguments.size() != 1) return 2;
    using std::string_literals::operator""s;
    const std::string first_names = "\0.symtab\0.strtab\0.text\0"s;
    const std::string names = first_names + slow_name() + "\0"s;
    const SlowProgram program = slow_program(names.size());
    std::vector<Elf64_Sym> symbols(1);
    for (std::uint32_t number = 0; number < SlowProgram::functions; ++number)
        symbols.push_back({static_cast<Elf64_Word>(first_names.size()),
                           ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 3, 16ULL * number, 16});
    std::ofstream file(arguments[0], std::ios::binary);
    file.write(reinterpret_cast<const char*>(&program), sizeof program);
    file << names;
    file.seekp(static_cast<std::streamoff>(program.sections[1].sh_offset));
    file.write(reinterpret_cast<const char*>(symbols.data()),
               static_cast<std::streamsize>(symbols.size() * sizeof(Elf64_Sym)));
    file.close();
    if (!file ||
        ::truncate(arguments[0], static_cast<off_t>(SlowProgram::code_bytes + (64U << 20))) != 0)
        return fail("slow");
    return 0;
}

// Runs wherever its page is mapped; does not cross a page boundary.
__attribute__((noinline, aligned(64))) void make_run() {
    LAGTRAP_BEGIN("mapped");
    LAGTRAP_END("mapped");
}

constexpr std::size_t page_bytes = 4096;

// The file offset of the page with make_run().
off_t page_of_run() {
    off_t offset = -1;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* found) {
            const auto address = reinterpret_cast<std::uintptr_t>(&make_run);
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const Elf64_Phdr& part = info->dlpi_phdr[i];
                const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
                if (part.p_type != PT_LOAD || address < begin || address - begin >= part.p_filesz)
                    continue;
                *static_cast<off_t*>(found) = static_cast<off_t>(
                    (part.p_offset + (address - begin)) / page_bytes * page_bytes);
                return 1;
            }
            return 0;
        },
        &offset);
    return offset;
}

// map COUNT: maps a page of its program as code this many times, and makes runs of event "mapped"
// at ever new addresses.
int map_code(std::span<char* const> arguments) {
    if (arguments.size() != 1) return 2;
    constexpr std::size_t places = 200'000;
    const int program = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const off_t offset = page_of_run();
    const auto map_page = [&](void* at, int flags) {
        return ::mmap(at, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | flags, program, offset);
    };
    void* const room =
        ::mmap(nullptr, places * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (program < 0 || offset < 0 || room == MAP_FAILED) return fail("map");
    for (int number = std::atoi(arguments[0]); number > 0; --number)
        if (map_page(nullptr, 0) == MAP_FAILED) return fail("map");
    const auto in_page = reinterpret_cast<std::uintptr_t>(&make_run) % page_bytes;
    for (std::puts("ready"), std::fflush(stdout);;)
        for (std::size_t place = 0; place < places; ++place) {
            void* const at = static_cast<char*>(room) + place * page_bytes;
            if (map_page(at, MAP_FIXED) == MAP_FAILED) return fail("map");
            reinterpret_cast<void (*)()>(reinterpret_cast<std::uintptr_t>(at) + in_page)();
            if (::mmap(at, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
                MAP_FAILED)
                return fail("map");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
}

constexpr std::array<NamedMode, 5> modes{{{"swap", swap_files},
                                          {"replace", replace_file},
                                          {"touch", touch_file},
                                          {"slow", write_slow_program},
                                          {"map", map_code}}};

}  // namespace

std::span<const NamedMode> attach_modes() { return modes; }

}  // namespace hostile
