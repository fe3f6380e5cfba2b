#include "daemon/kernel/iterator.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "core/unique_fd.hpp"
#include "daemon/kernel/libbpf_support.hpp"

namespace lagtrap::daemon {

void run_iterator(const bpf_program* program, std::uint32_t pid) {
    bpf_iter_link_info info{};
    info.task.pid = pid;
    bpf_iter_attach_opts options{};
    options.sz = sizeof(options);
    options.link_info = &info;
    options.link_info_len = sizeof(info);
    const Link link(bpf_program__attach_iter(program, pid == 0 ? nullptr : &options));
    if (!link) return;
    const UniqueFd fd(bpf_iter_create(bpf_link__fd(link.get())));
    char nothing = 0;
    while (fd.valid() && ::read(fd.get(), &nothing, 1) > 0) {
    }
}

}  // namespace lagtrap::daemon
