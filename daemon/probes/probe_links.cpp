#include "daemon/probes/probe_links.hpp"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/perf_event.hpp"

namespace lagtrap::daemon {
namespace {

Status attach_tracepoint(const ProbeRequest& request, std::vector<Link>& links) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.config = request.tracepoint_id;
    // A program on a tracepoint event runs on every CPU, regardless of the event's CPU.
    UniqueFd event = open_perf_event(attributes, -1, 0);
    if (!event.valid()) return system_error(request.doing);
    LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = request.cookies.front());
    Link link(bpf_program__attach_perf_event_opts(request.program, event.get(), &options));
    if (!link) return libbpf_error(request.doing, -errno);
    (void)event.release();  // the link closes it
    links.push_back(std::move(link));
    return success();
}

Status attach_at_once(const ProbeRequest& request, const std::string& binary,
                      std::vector<Link>& links) {
    const std::vector<__u64> cookies(request.cookies.begin(), request.cookies.end());
    LIBBPF_OPTS(bpf_uprobe_multi_opts, options, .offsets = request.offsets.data(),
                .ref_ctr_offsets = request.semaphores.empty() ? nullptr : request.semaphores.data(),
                .cookies = cookies.data(), .cnt = request.offsets.size(),
                .retprobe = request.return_probe);
    Link link(
        bpf_program__attach_uprobe_multi(request.program, -1, binary.c_str(), nullptr, &options));
    if (!link) return libbpf_error(request.doing + ": probe", -errno);
    links.push_back(std::move(link));
    return success();
}

// Pass offsets to the kernel: given a function name, libbpf would parse the file itself.
Status attach_to_file(const ProbeRequest& request, std::vector<Link>& links) {
    const std::string binary = request.file->descriptor_path();
    if (has_uprobe_multi()) return attach_at_once(request, binary, links);
    for (std::size_t i = 0; i < request.offsets.size(); ++i) {
        LIBBPF_OPTS(bpf_uprobe_opts, options,
                    .ref_ctr_offset = request.semaphores.empty() ? 0 : request.semaphores[i],
                    .bpf_cookie = request.cookies[i], .retprobe = request.return_probe);
        Link link(bpf_program__attach_uprobe_opts(request.program, -1, binary.c_str(),
                                                  request.offsets[i], &options));
        if (!link) return libbpf_error(request.doing + ": probe", -errno);
        links.push_back(std::move(link));
    }
    return success();
}

}  // namespace

Result<std::vector<Link>> attach_probes(const std::vector<ProbeRequest>& requests) {
    std::vector<Link> links;
    for (const ProbeRequest& request : requests)
        TRY(request.file ? attach_to_file(request, links) : attach_tracepoint(request, links));
    return links;
}

}  // namespace lagtrap::daemon
