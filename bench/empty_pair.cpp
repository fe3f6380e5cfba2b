// empty_pair BINARY nothing|clock BEGIN END: attaches a program that does nothing, or one that only
// reads clock, cookie and thread, to these two USDT probes of BINARY, prints "attached", and
// detaches it when its input ends.
// empty_pair BINARY call FUNCTION: attaches a program that does nothing to entry and return of a
// function.
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "binaries/elf/program_file.hpp"
#include "empty_pair.skel.h"

namespace {

// Offsets of the probes by name, and of their semaphores.
bool find_markers(const char* binary, const std::vector<std::string>& names,
                  std::vector<unsigned long>& places, std::vector<unsigned long>& semaphores) {
    const auto file = lagtrap::binaries::ProgramFile::open(binary);
    const auto probes = file ? file->usdt_probes() : file.error();
    if (!probes) {
        std::fprintf(stderr, "empty_pair: %s\n", probes.error().message.c_str());
        return false;
    }
    for (const auto& probe : *probes) {
        if (std::find(names.begin(), names.end(), probe.name) == names.end()) continue;
        places.push_back(file->file_offset_of(probe.address).value_or(0));
        semaphores.push_back(
            probe.semaphore == 0 ? 0 : file->file_offset_of(probe.semaphore).value_or(0));
    }
    return true;
}

bpf_link* link_function(const bpf_program* program, const char* binary, const char* function,
                        bool at_return) {
    LIBBPF_OPTS(bpf_uprobe_multi_opts, options, .retprobe = at_return);
    return bpf_program__attach_uprobe_multi(program, -1, binary, function, &options);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string kind = argc > 2 ? argv[2] : "";
    if (argc != (kind == "call" ? 4 : 5)) {
        std::fputs("usage: empty_pair BINARY nothing|clock BEGIN END, or BINARY call FUNCTION\n",
                   stderr);
        return 2;
    }
    std::vector<unsigned long> places, semaphores;
    if (kind != "call" && !find_markers(argv[1], {argv[3], argv[4]}, places, semaphores)) return 1;
    empty_pair_bpf* const programs = empty_pair_bpf__open_and_load();
    bpf_link* links[2] = {nullptr, nullptr};
    bool attached = programs != nullptr;
    if (attached && kind == "call") {
        for (const bool at_return : {true, false}) {
            bpf_link*& link = links[at_return ? 0 : 1];
            link = link_function(programs->progs.do_nothing, argv[1], argv[3], at_return);
            attached = attached && link != nullptr;
        }
    } else if (attached) {
        LIBBPF_OPTS(bpf_uprobe_multi_opts, options, .offsets = places.data(),
                    .ref_ctr_offsets = semaphores.data(), .cnt = places.size());
        links[0] = bpf_program__attach_uprobe_multi(
            kind == "nothing" ? programs->progs.do_nothing : programs->progs.read_clock_and_thread,
            -1, argv[1], nullptr, &options);
        attached = links[0] != nullptr;
    }
    if (!attached) {
        std::fprintf(stderr, "empty_pair: %s\n", std::strerror(errno));
    } else {
        std::puts("attached");
        std::fflush(stdout);
        while (std::getchar() != EOF) {
        }
    }
    for (bpf_link* link : links) bpf_link__destroy(link);
    empty_pair_bpf__destroy(programs);
    return attached ? 0 : 1;
}
