/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Which processes of this machine have the other ends of the sockets that threads wait for: told
 * when one closes its end, and for all others by a look at open files when the recording ends.
 */
#ifndef LAGTRAP_BPF_SOCKET_OWNERS_BPF_H
#define LAGTRAP_BPF_SOCKET_OWNERS_BPF_H

#include "bpf/interrupt_level.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/recorder.h"
#include "bpf/socket_peer.bpf.h"

#define WANTED_ENDS 4096
#define TCP_WAITS_FOR_FIN_ACK                                                                    \
    4 /* TCP_FIN_WAIT1, include/net/tcp_states.h: closed by its own program, as are the next two \
       */
#define TCP_IS_CLOSED 7          /* TCP_CLOSE */
#define TCP_WAITS_FOR_LAST_ACK 9 /* TCP_LAST_ACK */
#define DEVICE_IS_LOOPBACK 8     /* IFF_LOOPBACK, include/uapi/linux/if.h */
#define OPEN_FILES_NS 50000000   /* so long all open files are looked at */

/* An end as its owner has it. Listeners have their port alone: most take any address. */
struct socket_end {
    __u64 scope; /* a listener's network namespace, a local socket itself, or the inode of a pipe */
    __u32 address;
    __u32 remote_address;
    __u16 port; /* of a pipe: whether the end is for reading or writing */
    __u16 remote_port;
    __u16 protocol; /* of listeners */
    __u16 padding;
};

struct wanted_end {
    __u64 socket;  /* the number of the socket for which threads wait, as records have it */
    __u64 waiting; /* address of that socket, or of the local one that listens */
    __u32 address; /* of a listener: to which it connects */
    __u32 capture;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, WANTED_ENDS);
    __type(key, struct socket_end);
    __type(value, struct wanted_end);
} wanted_ends SEC(".maps");

volatile __u32 ends_wanted_in = 0;      /* the last capture in which one was */
volatile __u64 open_files_until_ns = 0; /* of the look at open files; 0: it has not begun */

/* The last four bytes of the address: an IPv4 address is the end of one of IPv6 too. */
static __always_inline __u32 short_address(const struct sock* sk, bool remote) {
    if (BPF_CORE_READ(sk, __sk_common.skc_family) == FAMILY_INTERNET)
        return remote ? BPF_CORE_READ(sk, __sk_common.skc_daddr)
                      : BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
    struct in6_addr address = remote ? BPF_CORE_READ(sk, __sk_common.skc_v6_daddr)
                                     : BPF_CORE_READ(sk, __sk_common.skc_v6_rcv_saddr);
    __u32 last;
    __builtin_memcpy(&last, address.bytes + 12, sizeof(last));
    return last;
}

/* Whether what it sends stays on the machine, and in its network namespace. */
static __always_inline bool sends_to_itself(const struct sock* sk) {
    struct dst_entry* route = BPF_CORE_READ(sk, sk_dst_cache);
    struct net_device* device = route ? BPF_CORE_READ(route, dev) : NULL;
    return device && BPF_CORE_READ(device, flags) & DEVICE_IS_LOOPBACK;
}

static __always_inline struct socket_end listener_end(const struct sock* sk, __u16 port) {
    struct socket_end end = {.port = port, .protocol = BPF_CORE_READ(sk, sk_protocol)};
    end.scope = (__u64)BPF_CORE_READ(sk, __sk_common.skc_net.net);
    return end;
}

/* What a socket is connected to, or is about to be; false: that is not on this machine. */
static __always_inline bool other_end(const struct sock* sk, __u8 kind, struct socket_end* end) {
    __builtin_memset(end, 0, sizeof(*end));
    if (kind == LAGTRAP_FILE_LOCAL_PEER) {
        end->scope =
            is_local_listener(sk) ? (__u64)sk : (__u64)BPF_CORE_READ((struct unix_sock*)sk, peer);
        return end->scope != 0;
    }
    if (kind != LAGTRAP_FILE_PEER) {
        *end = listener_end(sk, bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport)));
        return sends_to_itself(sk);
    }
    end->address = short_address(sk, true);
    end->remote_address = short_address(sk, false);
    end->port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
    end->remote_port = BPF_CORE_READ(sk, __sk_common.skc_num);
    return true;
}

/* A thread waits for the socket `number` or, if `sk` is NULL, for the end of a pipe with this mode
 * (FILE_FOR_...). From now on, the owner of the other end is looked for. Not inline:
 * note_wait_file() has no room on its stack. */
static __noinline int want_owner(const struct sock* sk, __u8 kind, __u64 number,
                                 const struct inode* pipe, __u16 mode) {
    struct socket_end end;
    struct wanted_end wanted = {
        .socket = number, .waiting = (__u64)sk, .capture = recording.capture};
    if (!sk) {
        __builtin_memset(&end, 0, sizeof(end));
        end.scope = (__u64)pipe;
        end.port = mode;
    } else if (!other_end(sk, kind, &end)) {
        return 0;
    } else if (kind != LAGTRAP_FILE_LOCAL_PEER) {
        wanted.address = short_address(sk, true);
    }
    bpf_map_update_elem(&wanted_ends, &end, &wanted, BPF_ANY);
    ends_wanted_in = wanted.capture;
    return 0;
}

static __always_inline struct wanted_end* wanted_end(const struct socket_end* end) {
    struct wanted_end* wanted = bpf_map_lookup_elem(&wanted_ends, end);
    return wanted && wanted->capture == recording.capture ? wanted : NULL;
}

static __always_inline struct wanted_end* wanted_connection(const struct sock* sk) {
    struct socket_end end = {.address = short_address(sk, false),
                             .remote_address = short_address(sk, true)};
    end.port = BPF_CORE_READ(sk, __sk_common.skc_num);
    end.remote_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
    return wanted_end(&end);
}

static __always_inline struct wanted_end* wanted_listener(const struct sock* sk) {
    struct socket_end end = listener_end(sk, BPF_CORE_READ(sk, __sk_common.skc_num));
    struct wanted_end* wanted = wanted_end(&end);
    __u32 address = short_address(sk, false);
    return wanted && (address == 0 || address == wanted->address) ? wanted : NULL;
}

/* By now another socket may lie where the wanted one was. */
static __always_inline struct wanted_end* wanted_local(const struct sock* sk) {
    struct socket_end end = {.scope = (__u64)sk};
    struct wanted_end* wanted = wanted_end(&end);
    if (!wanted) return NULL;
    if (is_local_listener(sk)) return wanted->waiting == (__u64)sk ? wanted : NULL;
    const struct unix_sock* waiting = (const struct unix_sock*)wanted->waiting;
    bool connected =
        BPF_CORE_READ((const struct unix_sock*)sk, peer) == (const struct sock*)waiting;
    return connected || BPF_CORE_READ(waiting, peer) == sk ? wanted : NULL;
}

static __always_inline struct wanted_end* wanted_pipe(const struct file* file) {
    struct inode* inode = BPF_CORE_READ(file, f_inode);
    if (!inode || (BPF_CORE_READ(inode, i_mode) & FORMAT_OF_FILE) != PIPE_FILE) return NULL;
    __u32 mode = BPF_CORE_READ(file, f_mode);
    struct socket_end end = {.scope = (__u64)inode};
    struct wanted_end* wanted = NULL;
    if (mode & FILE_FOR_READING) {
        end.port = FILE_FOR_READING;
        wanted = wanted_end(&end);
    }
    if (wanted || !(mode & FILE_FOR_WRITING)) return wanted;
    end.port = FILE_FOR_WRITING;
    return wanted_end(&end);
}

static __always_inline __u8 listener_kind(const struct sock* sk) {
    if (BPF_CORE_READ(sk, sk_protocol) != PROTOCOL_TCP) return LAGTRAP_FILE_LISTENER;
    bool has_room = BPF_CORE_READ(sk, sk_ack_backlog) <= BPF_CORE_READ(sk, sk_max_ack_backlog);
    return has_room && BPF_CORE_READ(sk, sk_drops.counter) == 0 ? LAGTRAP_FILE_LISTENER
                                                                : LAGTRAP_FILE_FULL_LISTENER;
}

static __always_inline struct lagtrap_wait_file owner_record(__u8 kind, __u64 socket, __u32 pid) {
    struct lagtrap_wait_file record = {.file = socket, .pid = pid, .holder_pid = pid, .kind = kind};
    return record;
}

/* The owner of an open file, if it is a wanted end; kind 0: it is none. */
static __always_inline struct lagtrap_wait_file owner_of(const struct file* file, __u32 pid) {
    struct sock* sk = sock_of(file);
    __u16 family = sk ? BPF_CORE_READ(sk, __sk_common.skc_family) : 0;
    struct wanted_end* wanted = NULL;
    __u8 kind = LAGTRAP_FILE_OWNER;
    if (!sk) {
        wanted = wanted_pipe(file);
    } else if (family == FAMILY_LOCAL) {
        wanted = wanted_local(sk);
    } else if (is_internet(family)) {
        bool is_stream = BPF_CORE_READ(sk, sk_protocol) == PROTOCOL_TCP;
        if (!is_stream || BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTENS) {
            wanted = wanted_listener(sk);
            kind = listener_kind(sk);
        } else {
            wanted = wanted_connection(sk);
        }
    }
    return owner_record(wanted ? kind : 0, wanted ? wanted->socket : 0, pid);
}

/* The end that closes a connection, or a thread that ends with it open. */
static __always_inline bool is_closed_by_its_program(int state) {
    bool closes =
        state == TCP_WAITS_FOR_FIN_ACK || state == TCP_WAITS_FOR_LAST_ACK || state == TCP_IS_CLOSED;
    return closes && level_of(preempt_count_now()) == LEVEL_THREAD;
}

#endif
