#include "daemon/probes/call_probes.hpp"

#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "daemon/threads/at_once.hpp"
#include "sandbox/foreign_file.hpp"

namespace lagtrap::daemon {
namespace {

// Approximate time that the kernel needs to remove one probe if nobody else attaches or detaches
// any.
constexpr std::chrono::microseconds taking_out_takes(3);

using Moment = std::chrono::steady_clock::time_point;

// The kernel removes the machine's probes one by one, then waits for other CPUs, some tens of
// milliseconds per link. If links waited for each other at every probe, that would take many times
// as long. Links that follow each other share the wait.
void destroy_in_turn(std::vector<Link>& links, const std::vector<Moment>& begins) {
    do_at_once(links.size(), [&](std::size_t number) {
        std::this_thread::sleep_until(begins[number]);
        links[number].reset();
    });
}

}  // namespace

Status CallProbes::link_some(const Group& group, std::size_t first, std::size_t count,
                             std::vector<ProbeLink>& links) const {
    const std::string binary = path_of_descriptor(group.file->get()).string();
    if (!has_uprobe_multi()) {
        // A filter for one process would select a single thread here, so the programs check whose
        // hit it is.
        for (std::size_t i = first; i < first + count; ++i) {
            LIBBPF_OPTS(bpf_uprobe_opts, options, .ref_ctr_offset = group.probes[i].semaphore,
                        .bpf_cookie = group.probes[i].cookie, .retprobe = group.at_return);
            Link link(bpf_program__attach_uprobe_opts(group.program, -1, binary.c_str(),
                                                      group.probes[i].offset, &options));
            if (!link) return libbpf_error("attach a probe", -errno);
            links.push_back({std::move(link), 1});
        }
        return success();
    }
    std::vector<unsigned long> offsets;
    std::vector<unsigned long> semaphores;
    std::vector<__u64> cookies;
    for (std::size_t i = first; i < first + count; ++i) {
        offsets.push_back(group.probes[i].offset);
        semaphores.push_back(group.probes[i].semaphore);
        cookies.push_back(group.probes[i].cookie);
    }
    LIBBPF_OPTS(bpf_uprobe_multi_opts, options, .offsets = offsets.data(),
                .ref_ctr_offsets = semaphores.data(), .cookies = cookies.data(), .cnt = count,
                .retprobe = group.at_return);
    Link link(
        bpf_program__attach_uprobe_multi(group.program, pid_, binary.c_str(), nullptr, &options));
    if (!link) return libbpf_error("attach probes", -errno);
    links.push_back({std::move(link), count});
    return success();
}

Status CallProbes::link(Group& group) const {
    return group.probes.empty() ? success() : link_some(group, 0, group.probes.size(), group.links);
}

// If the kernel refuses one probe, it refuses all that are attached with it. So halve the set until
// the refused one is alone.
Status CallProbes::link_what_works(Group& group, std::vector<Refused>& refused) const {
    std::vector<std::pair<std::size_t, std::size_t>> open{{0, group.probes.size()}};
    std::set<std::size_t> out;
    while (!open.empty()) {
        const auto [first, count] = open.back();
        open.pop_back();
        std::vector<ProbeLink> links;
        const Status linked = link_some(group, first, count, links);
        if (linked) {
            for (ProbeLink& link : links) group.links.push_back(std::move(link));
            continue;
        }
        const int number = linked.error().system_errno;
        if (number == ESRCH) return make_error(ErrorKind::Vanished, "the process is gone");
        if (number == EPERM || number == ENOMEM) return linked.error();
        if (count > 1) {
            open.emplace_back(first + count / 2, count - count / 2);
            open.emplace_back(first, count / 2);
            continue;
        }
        out.insert(first);
        for (const std::uint32_t function : group.probes[first].functions)
            refused.push_back(
                {function, "the kernel refuses a probe there: " + linked.error().message});
    }
    std::size_t place = 0;
    std::erase_if(group.probes, [&](const CallProbe&) { return out.contains(place++); });
    return success();
}

Result<std::vector<CallProbes::Refused>> CallProbes::attach(bpf_program* program,
                                                            std::shared_ptr<const UniqueFd> file,
                                                            std::vector<CallProbe> probes,
                                                            bool at_return) {
    std::vector<Refused> refused;
    // Probes attached one by one are detached one by one.
    const std::size_t size = has_uprobe_multi() ? probes.size() : 1;
    for (std::size_t at = 0; at < probes.size(); at += size) {
        Group group{program, file, at_return, {}, {}};
        group.probes.assign(
            std::make_move_iterator(probes.begin() + static_cast<std::ptrdiff_t>(at)),
            std::make_move_iterator(probes.begin() + static_cast<std::ptrdiff_t>(at + size)));
        TRY(link_what_works(group, refused));
        if (!group.probes.empty()) groups_.push_back(std::move(group));
    }
    return refused;
}

Status CallProbes::detach_functions(const std::set<std::uint32_t>& functions) {
    Status all = success();
    std::vector<ProbeLink> old;
    for (Group& group : groups_) {
        const std::size_t before = group.probes.size();
        for (CallProbe& probe : group.probes)
            std::erase_if(probe.functions,
                          [&](std::uint32_t one) { return functions.contains(one); });
        std::erase_if(group.probes, [](const CallProbe& probe) { return probe.functions.empty(); });
        if (group.probes.size() == before) continue;
        for (ProbeLink& link : group.links) old.push_back(std::move(link));
        group.links.clear();
        if (const Status linked = link(group); !linked) {
            all = linked;
            group.probes.clear();
        }
    }
    std::erase_if(groups_, [](const Group& group) { return group.probes.empty(); });
    join_finished(std::move(old));
    return all;
}

bool CallProbes::is_detaching() const {
    return std::chrono::steady_clock::now() < taking_out_until_;
}

void CallProbes::detach_soon() {
    std::vector<ProbeLink> links;
    for (Group& group : groups_)
        for (ProbeLink& link : group.links) links.push_back(std::move(link));
    groups_.clear();
    join_finished(std::move(links));
}

void CallProbes::join_finished(std::vector<ProbeLink> links) {
    if (links.empty()) return;
    std::erase_if(on_their_way_out_, [](const std::future<void>& one) {
        return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
    const auto going = std::make_shared<std::vector<Link>>();
    std::vector<Moment> begins;
    taking_out_until_ = std::max(taking_out_until_, std::chrono::steady_clock::now());
    for (ProbeLink& one : links) {
        begins.push_back(taking_out_until_);
        taking_out_until_ += one.probes * taking_out_takes;
        going->push_back(std::move(one.link));
    }
    try {
        on_their_way_out_.push_back(
            std::async(std::launch::async, [going, begins] { destroy_in_turn(*going, begins); }));
    } catch (const std::system_error&) {
        destroy_in_turn(*going, begins);
    }
}

void CallProbes::detach() {
    detach_soon();
    on_their_way_out_.clear();  // waits until they are removed
}

}  // namespace lagtrap::daemon
