// Files, sockets and pipes as the kernel's structures show them to programs.
#pragma once

#include <deque>
#include <memory>

#include "tests/unit/bpf_recorder/recorder.hpp"

namespace lagtrap::native {

constexpr unsigned short regular_file = 0100000, directory = 0040000, block_device = 0060000,
                         character_device = 0020000, socket_file = 0140000, pipe_file = 0010000;
constexpr unsigned int for_reading = 1, for_writing = 2;

// A file "/data/NAME" on a disk.
struct DiskFile {
    explicit DiskFile(const char* name = "db", unsigned short format = regular_file) {
        std::strcpy(disk.disk_name, "sdb");
        device.bd_disk = &disk;
        super.s_bdev = &device;
        inode.i_mode = format | 0644;
        inode.i_sb = &super;
        inode.i_flctx = &locks;
        for (kernel::list_head* list : {&locks.flc_flock, &locks.flc_posix, &locks.flc_lease})
            list->next = list;
        root.d_name.name = reinterpret_cast<const unsigned char*>("/");
        folder.d_name.name = reinterpret_cast<const unsigned char*>("data");
        entry.d_name.name = reinterpret_cast<const unsigned char*>(name);
        root.d_parent = folder.d_parent = &root;
        entry.d_parent = &folder;
        entry.d_inode = &inode;
        mount.mnt_parent = &mount;
        mount.mnt.mnt_root = &root;
        file.f_inode = &inode;
        file.f_mode = for_reading | for_writing;
        file.f_path.dentry = &entry;
        file.f_path.mnt = &mount.mnt;
    }
    DiskFile(const DiskFile&) = delete;
    DiskFile& operator=(const DiskFile&) = delete;

    kernel::gendisk disk{};
    kernel::block_device device{};
    kernel::super_block super{};
    kernel::file_lock_context locks{};
    kernel::inode inode{};
    kernel::dentry root{}, folder{}, entry{};
    kernel::mount mount{};
    kernel::file file{};
};

// The locks of a list, newest first.
struct Locks {
    explicit Locks(kernel::list_head& head) : list(head) {}

    // `owner`: nullptr is one of its own.
    void add(int pid, unsigned char type, const void* owner = nullptr) {
        kernel::file_lock_core& lock = all.emplace_back();
        lock.flc_owner = owner != nullptr ? const_cast<void*>(owner) : &lock;
        lock.flc_pid = pid;
        lock.flc_type = type;
        lock.flc_list.next = list.next;
        list.next = &lock.flc_list;
    }

    kernel::list_head& list;
    std::deque<kernel::file_lock_core> all;
};

constexpr std::uint16_t family_local = 1, family_internet = 2, family_internet_6 = 10;
constexpr std::uint16_t tcp = 6, udp = 17;
constexpr unsigned char established = 1, syn_sent = 2, listens = 10;

// A socket with its file.
struct Socket {
    explicit Socket(std::uint16_t family = family_internet, std::uint16_t protocol = tcp) {
        kernel::sock& sk = sock();
        sk.__sk_common.skc_family = family;
        sk.__sk_common.skc_state = established;
        sk.sk_protocol = protocol;
        sk.sk_socket = &socket;
        socket.sk = &sk;
        socket.file = &file;
        inode.i_mode = socket_file | 0777;
        file.f_inode = &inode;
        file.private_data = &socket;
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    [[nodiscard]] kernel::sock& sock() { return memory.sk; }
    // Connects to 10.0.0.`host`, port `port`, from `own_port`.
    Socket& to(std::uint8_t host, std::uint16_t port, std::uint16_t own_port = 40000,
               std::uint8_t own_host = 1) {
        kernel::sock_common& common = sock().__sk_common;
        common.skc_daddr = address_of(host);
        common.skc_rcv_saddr = address_of(own_host);
        common.skc_dport = static_cast<__be16>(port << 8 | port >> 8);
        common.skc_num = own_port;
        common.skc_v6_daddr = common.skc_v6_rcv_saddr = {};
        for (auto* one : {&common.skc_v6_daddr, &common.skc_v6_rcv_saddr}) one->bytes[0] = 0xfd;
        std::memcpy(common.skc_v6_daddr.bytes + 12, &common.skc_daddr, 4);
        std::memcpy(common.skc_v6_rcv_saddr.bytes + 12, &common.skc_rcv_saddr, 4);
        return *this;
    }
    static __be32 address_of(std::uint8_t host) {
        return static_cast<__be32>(host) << 24 | 10;  // network byte order
    }

    // What a local socket has beyond others lies behind that.
    struct {
        kernel::sock sk{};
        kernel::unix_sock local{};
    } memory;
    kernel::socket socket{};
    kernel::inode inode{};
    kernel::file file{};
};

struct Pipe {
    explicit Pipe(kernel::inode& inode, unsigned int mode) {
        inode.i_mode = pipe_file | 0600;
        file.f_inode = &inode;
        file.f_mode = mode;
    }
    kernel::file file{};
};

}  // namespace lagtrap::native
