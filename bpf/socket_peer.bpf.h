/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Reads the other end of a socket: address and port, or the path of a local socket.
 */
#ifndef LAGTRAP_BPF_SOCKET_PEER_BPF_H
#define LAGTRAP_BPF_SOCKET_PEER_BPF_H

#include <bpf/bpf_endian.h>

#include "bpf/kernel.bpf.h"
#include "bpf/records.h"

#define FAMILY_LOCAL 1         /* AF_UNIX, include/linux/socket.h */
#define FAMILY_INTERNET 2      /* AF_INET */
#define FAMILY_INTERNET_6 10   /* AF_INET6 */
#define TCP_SYN_WAS_SENT 2     /* TCP_SYN_SENT, include/net/tcp_states.h */
#define TCP_LISTENS 10         /* TCP_LISTEN; of local sockets too */
#define PROTOCOL_TCP 6         /* IPPROTO_TCP, include/uapi/linux/in.h */
#define SOCKET_FILE 0140000    /* S_IFSOCK, include/uapi/linux/stat.h */
#define PIPE_FILE 0010000      /* S_IFIFO */
#define FORMAT_OF_FILE 0170000 /* S_IFMT */
#define FILE_FOR_READING 1     /* FMODE_READ, include/linux/fs.h */
#define FILE_FOR_WRITING 2     /* FMODE_WRITE */
#define LOCAL_PATH_BYTES 108   /* UNIX_PATH_MAX, include/uapi/linux/un.h */

/* NULL if the file is not a socket. */
static __always_inline struct sock* sock_of(const struct file* file) {
    struct inode* inode = BPF_CORE_READ(file, f_inode);
    if (!inode || (BPF_CORE_READ(inode, i_mode) & FORMAT_OF_FILE) != SOCKET_FILE) return NULL;
    struct socket* socket = BPF_CORE_READ(file, private_data);
    return socket && BPF_CORE_READ(socket, file) == file ? BPF_CORE_READ(socket, sk) : NULL;
}

static __always_inline bool is_internet(__u16 family) {
    return family == FAMILY_INTERNET || family == FAMILY_INTERNET_6;
}

/* False if it is not connected to an address. */
static __always_inline bool has_internet_peer(const struct sock* sk) {
    return is_internet(BPF_CORE_READ(sk, __sk_common.skc_family)) &&
           BPF_CORE_READ(sk, __sk_common.skc_dport) != 0;
}

static __always_inline void read_internet_peer(const struct sock* sk, struct lagtrap_peer* peer) {
    __builtin_memset(peer, 0, sizeof(*peer));
    peer->family = BPF_CORE_READ(sk, __sk_common.skc_family);
    peer->port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
    peer->protocol = BPF_CORE_READ(sk, sk_protocol);
    if (peer->family == FAMILY_INTERNET) {
        __be32 address = BPF_CORE_READ(sk, __sk_common.skc_daddr);
        __builtin_memcpy(peer->address, &address, sizeof(address));
    } else {
        struct in6_addr address = BPF_CORE_READ(sk, __sk_common.skc_v6_daddr);
        __builtin_memcpy(peer->address, &address, sizeof(address));
    }
}

static __always_inline __u8 kind_of_peer(const struct sock* sk) {
    if (BPF_CORE_READ(sk, sk_protocol) != PROTOCOL_TCP) return LAGTRAP_FILE_DATAGRAM_PEER;
    return BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_SYN_WAS_SENT ? LAGTRAP_FILE_CONNECTING
                                                                        : LAGTRAP_FILE_PEER;
}

/* A number for the socket that is unique while it has this peer and is at this stage. */
static __always_inline __u64 socket_number(const struct sock* sk, __u8 kind) {
    __u64 number = (__u64)sk ^ (__u64)kind << 60;
    if (kind != LAGTRAP_FILE_LOCAL_PEER) {
        number ^= (__u64)BPF_CORE_READ(sk, __sk_common.skc_daddr) << 16;
        number ^= (__u64)BPF_CORE_READ(sk, __sk_common.skc_num) << 32 |
                  BPF_CORE_READ(sk, __sk_common.skc_dport);
    }
    return number * 0x9e3779b97f4a7c15ULL | 1;
}

static __always_inline bool is_local_listener(const struct sock* sk) {
    return BPF_CORE_READ(sk, __sk_common.skc_family) == FAMILY_LOCAL &&
           BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTENS;
}

/* Writes the path, with '\0', of a local socket's peer, or else its own. Returns its size in
 * bytes, 0 if neither has one. */
static __always_inline __u32 read_local_path(const struct sock* sk, char* path) {
    struct unix_sock* local = (struct unix_sock*)sk;
    struct unix_sock* peer = (struct unix_sock*)BPF_CORE_READ(local, peer);
    struct unix_address* address = peer ? BPF_CORE_READ(peer, addr) : NULL;
    if (!address) address = BPF_CORE_READ(local, addr);
    if (!address) return 0;
    long bytes = bpf_probe_read_kernel_str(
        path, LOCAL_PATH_BYTES,
        (const char*)address + bpf_core_field_offset(struct unix_address, name) + sizeof(__u16));
    return bytes > 1 && bytes <= LOCAL_PATH_BYTES ? bytes : 0; /* abstract names start with '\0' */
}

#endif
