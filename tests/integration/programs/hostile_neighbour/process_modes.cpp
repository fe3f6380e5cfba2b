#include <elf.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "modes.hpp"

namespace hostile {
namespace {

constexpr std::size_t page_bytes = 4096;

int fail(const char* what) {
    std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
    return 1;
}

int ready_for_good() {
    std::puts("ready");
    std::fflush(stdout);
    for (;;) ::pause();
}

long number(std::span<char* const> arguments, std::size_t place) {
    return place < arguments.size() ? std::strtol(arguments[place], nullptr, 10) : 0;
}

// map-files FILE...: maps the files as code.
int map_files(std::span<char* const> arguments) {
    for (const char* path : arguments) {
        const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
        struct stat facts {};
        if (fd < 0 || ::fstat(fd, &facts) != 0) return fail(path);
        const auto bytes =
            std::max<std::size_t>(page_bytes, static_cast<std::size_t>(facts.st_size));
        if (::mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
            return fail(path);
        ::close(fd);
    }
    return ready_for_good();
}

// churn-code HELD: like a just-in-time compiler, keeps HELD separate pieces of code, and then
// creates and drops one at an ever new address, up to a thousand times a second.
int make_code(std::span<char* const> arguments) {
    const auto held = static_cast<std::size_t>(number(arguments, 0));
    constexpr std::size_t churned = 1UL << 30;
    const std::size_t bytes = held * 2 * page_bytes + churned;
    char* const room = static_cast<char*>(
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (room == MAP_FAILED) return fail("mmap");
    const auto make = [](char* place, int protection) {
        return ::mmap(place, page_bytes, protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
    };
    for (std::size_t i = 0; i < held; ++i) {
        if (!make(room + i * 2 * page_bytes, PROT_READ | PROT_EXEC)) return fail("mmap");
        if (i % 100 == 99) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::puts("ready");
    std::fflush(stdout);
    char* const fresh = room + held * 2 * page_bytes;
    for (std::size_t i = 0;; i = (i + 1) % (churned / page_bytes / 2)) {
        char* const place = fresh + i * 2 * page_bytes;
        if (!make(place, PROT_READ | PROT_EXEC) || !make(place, PROT_NONE)) return fail("mmap");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// long-names PROCESSES MAPPINGS FOLDER: this many processes with this many mappings each of a file
// with the longest possible name, created below FOLDER.
int long_names(std::span<char* const> arguments) {
    if (arguments.size() != 3 || ::chdir(arguments[2]) != 0)
        return fail("long-names PROCESSES MAPPINGS FOLDER");
    const std::string part(250, 'n');
    for (int depth = 0; depth < 14; ++depth)
        if (::mkdir(part.c_str(), 0755) != 0 || ::chdir(part.c_str()) != 0) return fail("mkdir");
    const int fd = ::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0755);
    if (fd < 0 || ::ftruncate(fd, 2 * page_bytes) != 0) return fail("open");
    for (long i = 0; i < number(arguments, 1); ++i) {
        // Alternates between two pages, so that adjacent mappings do not merge.
        const off_t at = i % 2 == 0 ? 0 : static_cast<off_t>(page_bytes);
        if (::mmap(nullptr, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, at) == MAP_FAILED)
            return fail("mmap");
    }
    for (long i = 1; i < number(arguments, 0); ++i)
        if (const pid_t child = ::fork(); child <= 0) {
            if (child < 0) return fail("fork");
            for (;;) ::pause();
        }
    return ready_for_good();
}

// ---- a file system with one file, which stops answering when its process is stopped ----

constexpr std::uint64_t file_node = 2;

class FileServer {
  public:
    FileServer(int device, std::string content) : device_(device), content_(std::move(content)) {}

    int serve() {
        std::vector<char> request(1 << 20);
        for (;;) {
            const ssize_t got = ::read(device_, request.data(), request.size());
            if (got < 0 && (errno == EINTR || errno == ENOENT)) continue;
            if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) return 0;  // unmounted
            answer(request.data());
        }
    }

  private:
    void reply(const fuse_in_header& request, int error, const void* body, std::size_t bytes) {
        std::vector<char> message(sizeof(fuse_out_header) + bytes);
        const fuse_out_header head{static_cast<std::uint32_t>(message.size()), -error,
                                   request.unique};
        std::memcpy(message.data(), &head, sizeof head);
        if (bytes > 0) std::memcpy(message.data() + sizeof head, body, bytes);
        (void)!::write(device_, message.data(), message.size());
    }

    fuse_attr attributes_of(std::uint64_t node) const {
        fuse_attr attributes{};
        attributes.ino = node;
        attributes.mode = node == file_node ? S_IFREG | 0755 : S_IFDIR | 0755;
        attributes.nlink = 1;
        attributes.size = node == file_node ? content_.size() : 0;
        attributes.blksize = page_bytes;
        return attributes;
    }

    void answer(const char* bytes) {
        fuse_in_header request;
        std::memcpy(&request, bytes, sizeof request);
        const char* const body = bytes + sizeof request;
        switch (request.opcode) {
            case FUSE_INIT: {
                fuse_init_out out{};
                out.major = FUSE_KERNEL_VERSION;
                out.minor = 31;
                out.max_readahead = 1 << 17;
                out.max_write = 1 << 17;
                return reply(request, 0, &out, sizeof out);
            }
            case FUSE_LOOKUP: {
                if (std::strcmp(body, "program") != 0) return reply(request, ENOENT, nullptr, 0);
                fuse_entry_out out{};
                out.nodeid = file_node;
                out.entry_valid = out.attr_valid = 3600;
                out.attr = attributes_of(file_node);
                return reply(request, 0, &out, sizeof out);
            }
            case FUSE_GETATTR: {
                fuse_attr_out out{};
                out.attr_valid = 3600;
                out.attr = attributes_of(request.nodeid);
                return reply(request, 0, &out, sizeof out);
            }
            case FUSE_OPEN:
            case FUSE_OPENDIR: {
                fuse_open_out out{};
                out.open_flags = FOPEN_KEEP_CACHE;
                return reply(request, 0, &out, sizeof out);
            }
            case FUSE_READ: {
                fuse_read_in in;
                std::memcpy(&in, body, sizeof in);
                const std::size_t at = std::min<std::size_t>(in.offset, content_.size());
                return reply(request, 0, content_.data() + at,
                             std::min<std::size_t>(in.size, content_.size() - at));
            }
            case FUSE_STATFS: {
                fuse_statfs_out out{};
                out.st.bsize = out.st.frsize = page_bytes;
                out.st.namelen = 255;
                return reply(request, 0, &out, sizeof out);
            }
            case FUSE_FLUSH:
            case FUSE_RELEASE:
            case FUSE_RELEASEDIR: return reply(request, 0, nullptr, 0);
            case FUSE_FORGET:
            case FUSE_BATCH_FORGET:
            case FUSE_INTERRUPT: return;
            default: return reply(request, ENOSYS, nullptr, 0);
        }
    }

    int device_;
    std::string content_;
};

// file-server FOLDER FILE: FOLDER/program is a copy of FILE for all users, as if an administrator
// had mounted another machine's files. Answers while it runs.
int serve_file(std::span<char* const> arguments) {
    if (arguments.size() != 2) return fail("file-server FOLDER FILE");
    std::string content;
    std::vector<char> piece(1 << 20);
    const int from = ::open(arguments[1], O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 0; (got = ::read(from, piece.data(), piece.size())) > 0;)
        content.append(piece.data(), static_cast<std::size_t>(got));
    if (content.empty()) return fail(arguments[1]);
    const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
    const std::string options =
        "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
    if (device < 0 || ::mount("hostile", arguments[0], "fuse", MS_NODEV, options.c_str()) != 0)
        return fail("mount");
    std::puts("ready");
    std::fflush(stdout);
    return FileServer(device, std::move(content)).serve();
}

// ---- files that take long to read ----

// Writes an ELF file whose unwind information is one entry with `bytes` no-op instructions: a hole
// that takes no space on disk.
bool write_slow_file(const std::string& path, std::uint32_t bytes, std::uint64_t salt) {
    struct Layout {
        Elf64_Ehdr head;
        Elf64_Phdr segment;
        Elf64_Shdr sections[3];
        char names[32];
        unsigned char common[24];
        std::uint32_t entry_bytes, entry_common;
        std::uint64_t entry_start, entry_size;
    } layout{};
    static_assert(sizeof layout == offsetof(Layout, entry_bytes) + 24,
                  "no gaps before the instructions");
    Elf64_Ehdr& head = layout.head;
    std::memcpy(head.e_ident, "\177ELF\2\1\1", 7);
    head.e_type = ET_DYN;
    head.e_machine = EM_X86_64;
    head.e_version = EV_CURRENT;
    head.e_ehsize = sizeof(Elf64_Ehdr);
    head.e_phoff = offsetof(Layout, segment);
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_phnum = 1;
    head.e_shoff = offsetof(Layout, sections);
    head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = 3;
    head.e_shstrndx = 2;
    head.e_entry = salt;  // makes each file unique
    // the section ends with a length of 0
    const std::uint64_t file_bytes = sizeof(Layout) + bytes + 4;
    layout.segment = {PT_LOAD, PF_R | PF_X, 0, 0, 0, file_bytes, file_bytes, page_bytes};
    std::memcpy(layout.names, "\0.eh_frame\0.shstrtab", 21);
    const std::uint64_t frames_at = offsetof(Layout, common);
    layout.sections[1] = {
        1, SHT_PROGBITS, SHF_ALLOC, frames_at, frames_at, file_bytes - frames_at, 0, 0, 8, 0};
    layout.sections[2] = {11, SHT_STRTAB, 0, 0, offsetof(Layout, names), sizeof layout.names,
                          0,  0,          1, 0};
    // CIE: 20 bytes, version 1, no augmentation, code 1, data -8, return address 16, CFA = rsp + 8.
    const unsigned char common[24] = {20, 0, 0,    0,  0,    0, 0, 0,    1,
                                      0,  1, 0x78, 16, 0x0c, 7, 8, 0x90, 1};
    std::memcpy(layout.common, common, sizeof common);
    layout.entry_bytes = 4 + 16 + bytes;
    layout.entry_common = sizeof common + 4;
    layout.entry_start = 0x1000;
    layout.entry_size = 0x1000;
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    const bool written = fd >= 0 && ::write(fd, &layout, sizeof layout) == sizeof layout &&
                         ::ftruncate(fd, static_cast<off_t>(file_bytes)) == 0;
    ::close(fd);
    return written;
}

// slow-files FILES MEGABYTES FOLDER: maps this many files as code, created below FOLDER, each with
// this much unwind information.
int slow_files(std::span<char* const> arguments) {
    if (arguments.size() != 3) return fail("slow-files FILES MEGABYTES FOLDER");
    for (long i = 0; i < number(arguments, 0); ++i) {
        const std::string path = std::string(arguments[2]) + "/slow-" + std::to_string(i);
        if (!write_slow_file(path, static_cast<std::uint32_t>(number(arguments, 1) << 20),
                             static_cast<std::uint64_t>(i)))
            return fail(path.c_str());
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (::mmap(nullptr, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
            return fail("mmap");
        ::close(fd);
    }
    return ready_for_good();
}

constexpr NamedMode modes[] = {{"map-files", map_files},
                               {"churn-code", make_code},
                               {"long-names", long_names},
                               {"file-server", serve_file},
                               {"slow-files", slow_files}};

}  // namespace

std::span<const NamedMode> process_modes() { return modes; }

}  // namespace hostile
