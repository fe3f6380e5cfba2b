// Writes records into a ring of the kernel, as BPF programs do.
#pragma once

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "core/unique_fd.hpp"

namespace lagtrap::daemon {

// Only root may use it.
class RingWriter {
  public:
    static constexpr std::uint32_t record_limit_bytes = 4096;

    RingWriter()
        : ring_(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "test", 0, 0, 4U << 20, nullptr)),
          record_(bpf_map_create(BPF_MAP_TYPE_ARRAY, "test", 4, record_limit_bytes, 1, nullptr)) {
        EXPECT_TRUE(ring_.valid() && record_.valid());
    }
    [[nodiscard]] int ring() const { return ring_.get(); }
    // Another descriptor of the ring.
    [[nodiscard]] UniqueFd copy() const { return UniqueFd(::dup(ring_.get())); }

    template <typename Record>
    void write(const Record& record) {
        write(&record, sizeof(record));
    }
    void write(const void* record, std::size_t bytes) {
        ASSERT_LE(bytes, record_limit_bytes);
        std::vector<char> value(record_limit_bytes);
        const auto* const from = static_cast<const char*>(record);
        std::copy(from, from + bytes, value.begin());
        const std::uint32_t key = 0;
        ASSERT_EQ(bpf_map_update_elem(record_.get(), &key, value.data(), BPF_ANY), 0);
        UniqueFd& program = programs_[bytes];
        if (!program.valid()) program = program_for(static_cast<std::int32_t>(bytes));
        ASSERT_TRUE(program.valid());
        std::array<char, 64> packet{};
        bpf_test_run_opts options{};
        options.sz = sizeof(options);
        options.data_in = packet.data();
        options.data_size_in = packet.size();
        ASSERT_EQ(bpf_prog_test_run_opts(program.get(), &options), 0);
        ASSERT_EQ(options.retval, 0U) << "the ring is full";
    }

  private:
    static bpf_insn instruction(int code, int to, int from, int offset, std::int32_t value) {
        bpf_insn made{};
        made.code = static_cast<__u8>(code);
        made.dst_reg = static_cast<__u8>(to & 15);
        made.src_reg = static_cast<__u8>(from & 15);
        made.off = static_cast<__s16>(offset);
        made.imm = value;
        return made;
    }
    // Copies the record from its map into the ring.
    [[nodiscard]] UniqueFd program_for(std::int32_t bytes) const {
        constexpr int move = BPF_ALU64 | BPF_MOV, load = BPF_LD | BPF_DW | BPF_IMM;
        constexpr int call = BPF_JMP | BPF_CALL;
        const std::array code{
            instruction(BPF_ST | BPF_W | BPF_MEM, BPF_REG_10, 0, -4, 0),  // the key
            instruction(load, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, record_.get()),
            instruction(0, 0, 0, 0, 0),
            instruction(move | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
            instruction(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
            instruction(call, 0, 0, 0, BPF_FUNC_map_lookup_elem),
            instruction(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 6, 0),
            instruction(move | BPF_X, BPF_REG_2, BPF_REG_0, 0, 0),
            instruction(load, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, ring_.get()),
            instruction(0, 0, 0, 0, 0),
            instruction(move | BPF_K, BPF_REG_3, 0, 0, bytes),
            instruction(move | BPF_K, BPF_REG_4, 0, 0, 0),
            instruction(call, 0, 0, 0, BPF_FUNC_ringbuf_output),
            instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
        };
        return UniqueFd(bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "test", "GPL", code.data(),
                                      code.size(), nullptr));
    }

    UniqueFd ring_, record_;
    std::map<std::size_t, UniqueFd> programs_;  // by the record's size
};

}  // namespace lagtrap::daemon
