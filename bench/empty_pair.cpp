// empty_pair BINARY EVENT nothing|clock: puts a program that does nothing, or one that only reads clock, cookie and
// thread, on the event's begin and end markers (lagtrap.h) in BINARY, says "attached", and takes it off when its input
// ends.
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "binaries/program_file.hpp"
#include "empty_pair.skel.h"

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fputs("usage: empty_pair BINARY EVENT nothing|clock\n", stderr);
        return 2;
    }
    const auto file = lagtrap::binaries::ProgramFile::open(argv[1]);
    const auto probes = file ? file->usdt_probes() : file.error();
    if (!probes) {
        std::fprintf(stderr, "empty_pair: %s\n", probes.error().message.c_str());
        return 1;
    }
    std::vector<unsigned long> places, semaphores;
    for (const auto& probe : *probes) {
        const bool wanted =
            probe.name == std::string(argv[2]) + "__begin" || probe.name == std::string(argv[2]) + "__end";
        if (!wanted) continue;
        places.push_back(file->file_offset_of(probe.address).value_or(0));
        semaphores.push_back(probe.semaphore == 0 ? 0 : file->file_offset_of(probe.semaphore).value_or(0));
    }
    empty_pair_bpf* const programs = empty_pair_bpf__open_and_load();
    LIBBPF_OPTS(bpf_uprobe_multi_opts, options, .offsets = places.data(), .ref_ctr_offsets = semaphores.data(),
                .cnt = places.size());
    const bool nothing = argv[3] == std::string("nothing");
    bpf_link* const link = programs ? bpf_program__attach_uprobe_multi(
                                          nothing ? programs->progs.do_nothing : programs->progs.read_clock_and_thread,
                                          -1, argv[1], nullptr, &options)
                                    : nullptr;
    if (!link) {
        std::fprintf(stderr, "empty_pair: %s\n", std::strerror(errno));
        empty_pair_bpf__destroy(programs);
        return 1;
    }
    std::puts("attached");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    bpf_link__destroy(link);
    empty_pair_bpf__destroy(programs);
    return 0;
}
