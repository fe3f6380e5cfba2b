#include "daemon/probes/real_file.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "bpf/mapped_file.h"
#include "daemon/kernel/libbpf_support.hpp"
#include "mapped_file.skel.h"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t page_bytes = 4096;
constexpr int attempts = 100;
constexpr auto pause = 1ms;

}  // namespace

Result<std::unique_ptr<RealFiles>> RealFiles::load() {
    keep_libbpf_messages();
    std::unique_ptr<RealFiles> self(new RealFiles);
    mapped_file_bpf* const program = mapped_file_bpf__open_and_load();
    if (!program) return libbpf_error("load the program that identifies mapped files", -errno);
    self->program_ = std::shared_ptr<mapped_file_bpf>(program, mapped_file_bpf__destroy);
    (void)take_libbpf_messages();
    return self;
}

// The program does not wait for the memory lock of this process while another thread maps
// something; it returns EBUSY.
Result<RealFile> RealFiles::look_at(const void* address) {
    const std::lock_guard lock(mutex_);
    auto* const shared = reinterpret_cast<lagtrap_mapped_file*>(&program_->bss->mapped_file);
    LIBBPF_OPTS(bpf_test_run_opts, options);
    for (int attempt = 0; attempt < attempts; ++attempt) {
        shared->address = reinterpret_cast<std::uint64_t>(address);
        const int failed =
            bpf_prog_test_run_opts(bpf_program__fd(program_->progs.look_at_mapping), &options);
        if (failed != 0) return libbpf_error("identify the mapped file", failed);
        if (const auto answer = static_cast<std::int32_t>(options.retval); answer == -EBUSY) {
            std::this_thread::sleep_for(pause);
            continue;
        } else if (answer != 0 || shared->inode == 0) {
            return make_error(ErrorKind::System, "the kernel does not report which file is mapped");
        }
        return RealFile{shared->inode, shared->device};
    }
    return make_error(ErrorKind::Busy,
                      "identify the mapped file: the process's memory keeps changing");
}

// PROT_NONE, so that nothing can be read through this mapping by mistake.
Result<RealFile> RealFiles::of(int fd) {
    void* const address = ::mmap(nullptr, page_bytes, PROT_NONE, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) return system_error("map a file");
    auto file = look_at(address);
    ::munmap(address, page_bytes);
    return file;
}

}  // namespace lagtrap::daemon
