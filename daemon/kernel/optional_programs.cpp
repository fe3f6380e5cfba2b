#include "daemon/kernel/optional_programs.hpp"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "daemon/kernel/kernel_types.hpp"

namespace lagtrap::daemon {

void leave_out_missing(std::span<bpf_program* const> programs) {
    const auto types = kernel_types();
    for (bpf_program* const program : programs) {
        const std::string_view section = ::bpf_program__section_name(program);
        const std::string type = "btf_trace_" + std::string(section.substr(section.find('/') + 1));
        if (!types || ::btf__find_by_name_kind(types.get(), type.c_str(), BTF_KIND_TYPEDEF) < 0)
            ::bpf_program__set_autoload(program, false);
    }
}

Result<std::vector<Link>> attach_loaded(std::span<bpf_program* const> programs) {
    std::vector<Link> links;
    for (bpf_program* const program : programs) {
        if (::bpf_program__fd(program) < 0) continue;
        links.emplace_back(::bpf_program__attach_trace(program));
        if (!links.back())
            return libbpf_error("attach to " + std::string(::bpf_program__section_name(program)),
                                -errno);
    }
    return links;
}

std::vector<int> loaded_fds(std::span<bpf_program* const> programs) {
    std::vector<int> fds;
    for (bpf_program* const program : programs)
        if (const int fd = ::bpf_program__fd(program); fd >= 0) fds.push_back(fd);
    return fds;
}

}  // namespace lagtrap::daemon
