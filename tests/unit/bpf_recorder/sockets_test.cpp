// Waits for the other ends of sockets and pipes, and who has those.
#include <array>
#include <set>

#include "tests/unit/bpf_recorder/files.hpp"

namespace lagtrap::native::sockets_test {

namespace {

constexpr std::uint64_t call_read = 0, call_write = 1, call_open = 2, call_poll = 7,
                        call_select = 23, call_connect = 42, call_ppoll = 271;
constexpr int closed = 7, fin_wait = 4, last_ack = 9;
constexpr std::uint64_t polled_at = 0x7f0000001000;

class Sockets : public Recorder {
  protected:
    Sockets() {
        Task& waiting = task(101);
        open(waiting, other_.file);
        open(waiting, server_.file);
        waiting.task.stack = kernel_stack_.data();
        server_.to(9, 443);
        std::strcpy(path_.text, "/run/shop.sock");
    }
    std::vector<Bytes> bytes_of_wait(std::uint64_t call, std::uint64_t first = 1,
                                     std::uint64_t second = 1, int tid = 101) {
        in_call(call, first, second);
        select(tid);
        on_switch(false, &task(tid).task, &task(201).task, interruptible);
        return take(LAGTRAP_RECORD_WAIT_FILE);
    }
    lagtrap_wait_file wait(std::uint64_t call, std::uint64_t first = 1, std::uint64_t second = 1) {
        const auto found = bytes_of_wait(call, first, second);
        EXPECT_LE(found.size(), 1U);
        lagtrap_wait_file record{};
        if (found.empty()) return record;
        std::memcpy(&record, found[0].data(), sizeof(record));
        EXPECT_NE(record.kind, 0);
        EXPECT_NE(record.file, 0U);
        return record;
    }
    // The process with this open file is looked at when the recording ends.
    lagtrap_wait_file look_at(kernel::file& file, int tid = 301) {
        kernel::bpf_iter__task_file context{nullptr, &task(tid).task, 5, &file};
        on_open_file(&context);
        const auto found = take<lagtrap_wait_file>(LAGTRAP_RECORD_WAIT_FILE);
        if (found.empty()) return {};
        EXPECT_NE(found[0].kind, 0);
        EXPECT_EQ(found[0].header.at_ns, kernel_.now_ns);
        return found[0];
    }
    void poll(const std::vector<int>& descriptors) {
        for (std::size_t i = 0; i < descriptors.size(); ++i)
            kernel_.user_words[polled_at + i * 8] = static_cast<std::uint32_t>(descriptors[i]);
    }
    void put_on_stack(const void* object, std::size_t words_from_end) {
        kernel_stack_[kernel_stack_.size() - words_from_end] = kernel_address(object);
    }
    // A struct unix_address, which is what a local socket is bound to.
    struct LocalName {
        int bytes = 0;
        unsigned short family = family_local;
        char text[108] = {};
    };
    static void bind(Socket& socket, LocalName& name) {
        socket.memory.local.addr = reinterpret_cast<kernel::unix_address*>(&name);
    }

    Socket server_, other_{family_local};
    LocalName path_;
    std::vector<std::uint64_t> kernel_stack_ = std::vector<std::uint64_t>(16384 / 8);
};

TEST_F(Sockets, are_waited_for_in_calls_about_them) {
    const std::set<std::uint64_t> calls{0, 1, 19, 20, 40, 42, 44, 45, 46, 47, 299, 307};
    const std::set<std::uint64_t> about_other_files{73, 242, 243};
    for (std::uint64_t call = 0; call < 470; ++call)
        if (about_other_files.count(call) == 0) {
            EXPECT_EQ(wait(call).kind, calls.count(call) != 0 ? LAGTRAP_FILE_PEER : 0) << call;
        }
}

TEST_F(Sockets, are_recorded_with_their_peer_once_in_a_capture) {
    const auto first = bytes_of_wait(call_read);
    ASSERT_EQ(first.size(), 1U);
    ASSERT_EQ(first[0].size(), sizeof(lagtrap_wait_file) + sizeof(lagtrap_peer));
    lagtrap_peer peer{};
    std::memcpy(&peer, first[0].data() + sizeof(lagtrap_wait_file), sizeof(peer));
    EXPECT_EQ(peer.family, family_internet);
    EXPECT_EQ(peer.protocol, tcp);
    EXPECT_EQ(peer.port, 443);
    EXPECT_EQ((std::vector<int>(peer.address, peer.address + 5)),
              (std::vector<int>{10, 0, 0, 9, 0}));
    const lagtrap_wait_file again = wait(call_write);
    EXPECT_EQ(again.path_bytes, 0);
    EXPECT_EQ(again.pid, 100U);
    EXPECT_EQ(again.tid, 101U);
    EXPECT_EQ(again.file, native_socket_number(&server_.sock(), LAGTRAP_FILE_PEER));
    EXPECT_EQ(ends_wanted_in, 1U);
}

TEST_F(Sockets, of_the_sixth_version_have_long_addresses) {
    Socket six(family_internet_6, udp);
    six.to(9, 53);
    lagtrap_peer peer{};
    native_read_internet_peer(&six.sock(), &peer);
    EXPECT_EQ(peer.family, family_internet_6);
    EXPECT_EQ(peer.protocol, udp);
    EXPECT_EQ(peer.address[0], 0xfd);
    EXPECT_EQ(peer.address[15], 9);
    std::memset(&peer, 0xff, sizeof(peer));
    native_read_internet_peer(&server_.sock(), &peer);
    EXPECT_EQ((std::vector<int>(peer.address, peer.address + 16)),
              (std::vector<int>{10, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(peer.padding, 0);
}

TEST_F(Sockets, of_the_sixth_version_have_owners_too) {
    server_.sock().__sk_common.skc_family = family_internet_6;
    server_.sock().__sk_common.skc_daddr = server_.sock().__sk_common.skc_rcv_saddr = 0;
    const std::uint64_t number = wait(call_read).file;
    Socket accepted(family_internet_6), stranger(family_internet_6);
    accepted.to(1, 40000, 443, 9);
    const lagtrap_wait_file owner = look_at(accepted.file);
    EXPECT_EQ(owner.kind, LAGTRAP_FILE_OWNER);
    EXPECT_EQ(owner.file, number);
    stranger.to(2, 40000, 443, 9);
    EXPECT_EQ(look_at(stranger.file).kind, 0);
    stranger.to(1, 40000, 443, 8);
    EXPECT_EQ(look_at(stranger.file).kind, 0);
    // A connection of the fourth version arrives at such a socket, too.
    recording.capture = 2;
    server_.sock().__sk_common.skc_family = family_internet;
    server_.to(9, 443);
    wait(call_read);
    EXPECT_EQ(look_at(accepted.file).kind, LAGTRAP_FILE_OWNER);
}

TEST_F(Sockets, are_connected_connecting_or_without_connections) {
    EXPECT_EQ(native_kind_of_peer(&server_.sock()), LAGTRAP_FILE_PEER);
    server_.sock().__sk_common.skc_state = syn_sent;
    EXPECT_EQ(native_kind_of_peer(&server_.sock()), LAGTRAP_FILE_CONNECTING);
    server_.sock().sk_protocol = udp;
    EXPECT_EQ(native_kind_of_peer(&server_.sock()), LAGTRAP_FILE_DATAGRAM_PEER);
}

TEST_F(Sockets, without_a_peer_are_not_recorded) {
    server_.sock().__sk_common.skc_dport = 0;
    EXPECT_EQ(wait(call_read).kind, 0);
    server_.to(9, 443).sock().__sk_common.skc_family = 16;
    EXPECT_EQ(wait(call_read).kind, 0);
}

TEST_F(Sockets, are_files_whose_inode_says_so) {
    EXPECT_EQ(native_sock_of(&server_.file), &server_.sock());
    DiskFile file;
    EXPECT_EQ(native_sock_of(&file.file), nullptr);
    server_.socket.file = &file.file;
    EXPECT_EQ(native_sock_of(&server_.file), nullptr);
    server_.file.private_data = nullptr;
    EXPECT_EQ(native_sock_of(&server_.file), nullptr);
    server_.file.f_inode = nullptr;
    EXPECT_EQ(native_sock_of(&server_.file), nullptr);
}

TEST_F(Sockets, have_a_number_that_changes_with_peer_and_stage) {
    std::set<std::uint64_t> numbers;
    const auto add = [&](std::uint8_t kind) {
        numbers.insert(native_socket_number(&server_.sock(), kind));
    };
    add(LAGTRAP_FILE_PEER);
    add(LAGTRAP_FILE_PEER);
    EXPECT_EQ(numbers.size(), 1U);
    add(LAGTRAP_FILE_CONNECTING);
    server_.to(8, 443);
    add(LAGTRAP_FILE_PEER);
    server_.to(9, 444);
    add(LAGTRAP_FILE_PEER);
    server_.to(9, 443, 40001);
    add(LAGTRAP_FILE_PEER);
    EXPECT_EQ(numbers.size(), 5U);
    EXPECT_EQ(numbers.count(0), 0U);
}

TEST_F(Sockets, of_this_machine_have_the_path_of_their_peer_or_their_own) {
    LocalName own;
    std::strcpy(own.text, "/run/own.sock");
    Socket peer(family_local);
    std::array<char, 108> text{};
    EXPECT_EQ(native_read_local_path(&other_.sock(), text.data()), 0U);
    bind(other_, own);
    EXPECT_EQ(native_read_local_path(&other_.sock(), text.data()), 14U);
    EXPECT_STREQ(text.data(), "/run/own.sock");
    other_.memory.local.peer = &peer.sock();
    EXPECT_EQ(native_read_local_path(&other_.sock(), text.data()), 14U);
    bind(peer, path_);
    EXPECT_EQ(native_read_local_path(&other_.sock(), text.data()), 15U);
    EXPECT_STREQ(text.data(), "/run/shop.sock");
    path_.text[0] = '\0';
    EXPECT_EQ(native_read_local_path(&other_.sock(), text.data()), 0U) << "an abstract name";
    const auto found = bytes_of_wait(call_read, 0);
    ASSERT_EQ(found.size(), 1U);
    lagtrap_wait_file record{};
    std::memcpy(&record, found[0].data(), sizeof(record));
    EXPECT_EQ(record.kind, LAGTRAP_FILE_LOCAL_PEER);
}

TEST_F(Sockets, of_this_machine_that_connect_are_found_by_who_listens) {
    Socket listener(family_local);
    listener.sock().__sk_common.skc_state = listens;
    bind(listener, path_);
    put_on_stack(&listener.sock(), 300);
    listener.socket.sk = reinterpret_cast<kernel::sock*>(kernel_address(&listener.sock()));
    const auto found = bytes_of_wait(call_connect, 0);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(names_behind<lagtrap_wait_file>(found[0]),
              (std::vector<std::string>{"/run/shop.sock"}));
    lagtrap_wait_file record{};
    std::memcpy(&record, found[0].data(), sizeof(record));
    const lagtrap_wait_file owner = look_at(listener.file);
    EXPECT_EQ(owner.kind, LAGTRAP_FILE_OWNER);
    EXPECT_EQ(owner.file, record.file);
    listener.sock().__sk_common.skc_state = established;
    recording.capture = 2;
    EXPECT_EQ(wait(call_connect, 0).path_bytes, 0);
    listener.sock().__sk_common.skc_state = listens;
    listener.sock().__sk_common.skc_family = family_internet;
    EXPECT_EQ(wait(call_connect, 0).path_bytes, 0) << "that listens for other machines";
    EXPECT_EQ(ends_wanted_in, 1U) << "nothing is known of the other end";
}

TEST_F(Sockets, that_are_polled_must_be_one_of_a_few) {
    DiskFile file;
    Socket second;
    second.to(7, 80);
    Task& waiting = task(101);
    const int a_file = static_cast<int>(open(waiting, file.file));
    const int another = static_cast<int>(open(waiting, second.file));
    const auto kind = [&](std::vector<int> descriptors, std::uint64_t call = call_poll) {
        poll(descriptors);
        return wait(call, polled_at, descriptors.size()).kind;
    };
    EXPECT_EQ(kind({1}), LAGTRAP_FILE_PEER);
    EXPECT_EQ(kind({a_file, 0, 1}, call_ppoll), LAGTRAP_FILE_PEER);
    EXPECT_EQ(kind({a_file, 0, 99, 1}), LAGTRAP_FILE_PEER);
    EXPECT_EQ(kind({a_file, 0, 99, 0, 1}), 0) << "five";
    EXPECT_EQ(kind({1, another}), 0) << "two connections";
    EXPECT_EQ(kind({1, -1}), 0);
    EXPECT_EQ(kind({a_file}), 0);
    EXPECT_EQ(wait(call_select, 1, polled_at).kind, 0);
    kernel_.user_words.clear();
    EXPECT_EQ(wait(call_poll, polled_at, 1).kind, 0) << "its memory cannot be read";
}

TEST_F(Sockets, that_a_sleeping_thread_polls_are_on_its_kernel_stack) {
    kernel::bpf_iter__task context{nullptr, &task(101).task};
    task(101).task.__state = interruptible;
    task(101).task.thread.sp =
        reinterpret_cast<std::uint64_t>(&kernel_stack_[kernel_stack_.size() - 700]);
    const auto kind = [&] {
        on_thread(&context);
        const auto found = take<lagtrap_wait_file>(LAGTRAP_RECORD_WAIT_FILE);
        return found.empty() ? 0 : found[0].kind;
    };
    in_call(call_poll, polled_at, 9);
    EXPECT_EQ(kind(), 0);
    put_on_stack(&server_.file, 100);
    server_.socket.file = &server_.file;
    server_.socket.file = reinterpret_cast<kernel::file*>(kernel_address(&server_.file));
    EXPECT_EQ(kind(), LAGTRAP_FILE_PEER);
    in_call(call_select, 9, 9);
    EXPECT_EQ(kind(), LAGTRAP_FILE_PEER);
    put_on_stack(&server_.file, 90);
    EXPECT_EQ(kind(), LAGTRAP_FILE_PEER) << "the same one";
    Socket second;
    second.to(7, 80);
    second.socket.file = reinterpret_cast<kernel::file*>(kernel_address(&second.file));
    put_on_stack(&second.file, 80);
    EXPECT_EQ(kind(), 0);
}

TEST_F(Sockets, have_owners_that_are_found_when_the_recording_ends) {
    Socket accepted, stranger;
    const std::uint64_t number = wait(call_read).file;
    accepted.to(1, 40000, 443, 9);
    stranger.to(1, 40001, 443, 9);
    const lagtrap_wait_file owner = look_at(accepted.file);
    EXPECT_EQ(owner.kind, LAGTRAP_FILE_OWNER);
    EXPECT_EQ(owner.file, number);
    EXPECT_EQ(owner.holder_pid, 300U);
    EXPECT_EQ(owner.pid, 300U);
    EXPECT_EQ(look_at(stranger.file).kind, 0);
    EXPECT_EQ(look_at(server_.file).kind, 0) << "its own end";
}

TEST_F(Sockets, owners_are_looked_for_in_a_limited_time_and_only_if_somebody_waited) {
    Socket accepted;
    accepted.to(1, 40000, 443, 9);
    EXPECT_EQ(look_at(accepted.file).kind, 0);
    EXPECT_EQ(open_files_until_ns, 0U);
    wait(call_read);
    EXPECT_EQ(look_at(accepted.file).kind, LAGTRAP_FILE_OWNER);
    EXPECT_EQ(open_files_until_ns, kernel_.now_ns + 50 * ms);
    kernel_.now_ns += 50 * ms - 1;
    EXPECT_EQ(look_at(accepted.file).kind, LAGTRAP_FILE_OWNER);
    kernel_.now_ns += 1;
    EXPECT_EQ(look_at(accepted.file).kind, 0);
    open_files_until_ns = 0;
    recording.capture = 2;
    EXPECT_EQ(look_at(accepted.file).kind, 0);
    server_.to(9, 80);
    wait(call_read);
    EXPECT_EQ(look_at(accepted.file).kind, 0) << "nobody waited for it in this recording";
    accepted.to(1, 40000, 80, 9);
    EXPECT_EQ(look_at(accepted.file).kind, LAGTRAP_FILE_OWNER);
}

TEST_F(Sockets, that_connect_on_this_machine_have_a_listener) {
    kernel::net_device loopback{};
    loopback.flags = 0x49;
    kernel::net_device network{};
    network.flags = 0x1043;
    kernel::dst_entry route{&loopback}, route_out{&network};
    server_.sock().__sk_common.skc_state = syn_sent;
    wait(call_connect);
    server_.sock().sk_dst_cache = &route_out;
    wait(call_connect);
    EXPECT_EQ(ends_wanted_in, 0U);
    Socket listener;
    kernel::sock& sk = listener.sock();
    sk.__sk_common.skc_state = listens;
    sk.__sk_common.skc_num = 443;
    sk.sk_max_ack_backlog = 1;
    EXPECT_EQ(look_at(listener.file).kind, 0) << "the packets leave the machine";
    server_.sock().sk_dst_cache = &route;
    recording.capture = 2;
    const std::uint64_t number = wait(call_connect).file;
    lagtrap_wait_file found = look_at(listener.file);
    EXPECT_EQ(found.kind, LAGTRAP_FILE_LISTENER);
    EXPECT_EQ(found.file, number);
    sk.sk_ack_backlog = 1;
    EXPECT_EQ(look_at(listener.file).kind, LAGTRAP_FILE_LISTENER);
    sk.sk_ack_backlog = 2;
    EXPECT_EQ(look_at(listener.file).kind, LAGTRAP_FILE_FULL_LISTENER);
    sk.sk_ack_backlog = 0;
    sk.sk_drops.counter = 1;
    EXPECT_EQ(look_at(listener.file).kind, LAGTRAP_FILE_FULL_LISTENER);
    sk.sk_drops.counter = 0;
    sk.__sk_common.skc_rcv_saddr = Socket::address_of(9);
    EXPECT_EQ(look_at(listener.file).kind, LAGTRAP_FILE_LISTENER);
    sk.__sk_common.skc_rcv_saddr = Socket::address_of(8);
    EXPECT_EQ(look_at(listener.file).kind, 0) << "it listens at another address";
    sk.__sk_common.skc_rcv_saddr = 0;
    sk.__sk_common.skc_num = 80;
    EXPECT_EQ(look_at(listener.file).kind, 0);
    sk.__sk_common.skc_num = 443;
    sk.__sk_common.skc_net.net = reinterpret_cast<kernel::net*>(0x1000);
    EXPECT_EQ(look_at(listener.file).kind, 0) << "in another network namespace";
}

TEST_F(Sockets, for_datagrams_are_owned_by_who_has_the_port) {
    kernel::net_device loopback{};
    loopback.flags = 8;
    kernel::dst_entry route{&loopback};
    server_.sock().sk_protocol = udp;
    server_.sock().sk_dst_cache = &route;
    EXPECT_EQ(wait(call_read).kind, LAGTRAP_FILE_DATAGRAM_PEER);
    Socket receiver(family_internet, udp);
    receiver.sock().__sk_common.skc_num = 443;
    receiver.sock().sk_ack_backlog = 7;
    EXPECT_EQ(look_at(receiver.file).kind, LAGTRAP_FILE_LISTENER);
    receiver.sock().sk_protocol = tcp;
    EXPECT_EQ(look_at(receiver.file).kind, 0);
}

TEST_F(Sockets, of_this_machine_are_owned_by_who_has_their_peer) {
    Socket peer(family_local), stranger(family_local);
    other_.memory.local.peer = &peer.sock();
    peer.memory.local.peer = &other_.sock();
    const std::uint64_t number = wait(call_read, 0).file;
    const lagtrap_wait_file found = look_at(peer.file);
    EXPECT_EQ(found.kind, LAGTRAP_FILE_OWNER);
    EXPECT_EQ(found.file, number);
    EXPECT_EQ(look_at(stranger.file).kind, 0);
    peer.memory.local.peer = nullptr;
    EXPECT_EQ(look_at(peer.file).kind, LAGTRAP_FILE_OWNER) << "one of both is connected";
    peer.memory.local.peer = &other_.sock();
    other_.memory.local.peer = nullptr;
    EXPECT_EQ(look_at(peer.file).kind, LAGTRAP_FILE_OWNER);
    peer.memory.local.peer = nullptr;
    EXPECT_EQ(look_at(peer.file).kind, 0) << "by now another socket lies there";
}

TEST_F(Sockets, of_pipes_are_owned_by_who_has_their_other_end) {
    kernel::inode inode{};
    Pipe reads(inode, for_reading), writes(inode, for_writing);
    Task& waiting = task(101);
    const std::uint64_t descriptor = open(waiting, reads.file);
    const lagtrap_wait_file for_a_writer = wait(call_read, descriptor);
    EXPECT_EQ(for_a_writer.kind, LAGTRAP_FILE_PIPE);
    const lagtrap_wait_file owner = look_at(writes.file);
    EXPECT_EQ(owner.kind, LAGTRAP_FILE_OWNER);
    EXPECT_EQ(owner.file, for_a_writer.file);
    EXPECT_EQ(look_at(reads.file).kind, 0);
    const std::uint64_t for_writes = open(waiting, writes.file);
    const lagtrap_wait_file for_a_reader = wait(call_write, for_writes);
    EXPECT_NE(for_a_reader.file, for_a_writer.file);
    EXPECT_EQ(look_at(reads.file).file, for_a_reader.file);
    EXPECT_EQ(look_at(writes.file).file, for_a_writer.file);
    Pipe both(inode, for_reading | for_writing);
    EXPECT_EQ(look_at(both.file).file, for_a_reader.file);
    both.file.f_mode = 0;
    EXPECT_EQ(look_at(both.file).kind, 0);
    both.file.f_mode = for_reading | for_writing;
    inode.i_mode = regular_file | 0600;
    EXPECT_EQ(look_at(both.file).kind, 0);
    both.file.f_inode = nullptr;
    EXPECT_EQ(look_at(both.file).kind, 0);
}

TEST_F(Sockets, of_a_pipe_that_is_opened_wait_for_the_other_end) {
    kernel::inode inode{};
    inode.i_mode = pipe_file;
    Pipe pipe(inode, for_reading);
    kernel::dentry entry{};
    kernel::mount mount{};
    pipe.file.f_inode = entry.d_inode = reinterpret_cast<kernel::inode*>(kernel_address(&inode));
    pipe.file.f_path.dentry = &entry;
    pipe.file.f_path.mnt = reinterpret_cast<kernel::vfsmount*>(kernel_address(&mount.mnt));
    entry.d_parent = &entry;
    put_on_stack(&pipe.file, 50);
    const lagtrap_wait_file for_a_writer = wait(call_open);
    EXPECT_EQ(for_a_writer.kind, LAGTRAP_FILE_PIPE);
    Pipe other_end(inode, for_writing);
    other_end.file.f_inode = pipe.file.f_inode;
    EXPECT_EQ(look_at(other_end.file).file, for_a_writer.file);
    recording.capture = 2;
    pipe.file.f_mode = for_writing;
    const lagtrap_wait_file for_a_reader = wait(call_open);
    EXPECT_NE(for_a_reader.file, for_a_writer.file);
    EXPECT_EQ(look_at(other_end.file).kind, 0);
    other_end.file.f_mode = for_reading;
    EXPECT_EQ(look_at(other_end.file).file, for_a_reader.file);
}

TEST_F(Sockets, that_their_program_closes_are_told_at_once) {
    struct RunQueue {
        char before[64];
        int preempt_count;
    } run_queue{};
    native_set_preempt_count_place(offsetof(RunQueue, preempt_count));
    Socket accepted;
    accepted.to(1, 40000, 443, 9);
    const auto owner_after = [&](int old_state, int new_state) {
        task(305).queue.rq = reinterpret_cast<kernel::rq*>(&run_queue);
        select(305);
        on_socket_state(&accepted.sock(), old_state, new_state);
        const auto found = take<lagtrap_wait_file>(LAGTRAP_RECORD_WAIT_FILE);
        return found.empty() ? lagtrap_wait_file{} : found[0];
    };
    EXPECT_EQ(owner_after(established, closed).kind, 0) << "nobody waits for it";
    const std::uint64_t number = wait(call_read).file;
    for (const int state : {fin_wait, closed, last_ack}) {
        const lagtrap_wait_file found = owner_after(established, state);
        EXPECT_EQ(found.kind, LAGTRAP_FILE_OWNER) << state;
        EXPECT_EQ(found.file, number);
        EXPECT_EQ(found.holder_pid, 300U);
    }
    for (const int state : {1, 2, 3, 5, 6, 8, 10, 11})
        EXPECT_EQ(owner_after(established, state).kind, 0) << state;
    run_queue.preempt_count = 0x100;
    EXPECT_EQ(owner_after(established, closed).kind, 0) << "its peer closed it";
    run_queue.preempt_count = 0;
    EXPECT_EQ(owner_after(listens, closed).kind, 0);
    recording.on = 0;
    EXPECT_EQ(owner_after(established, closed).kind, 0);
}

TEST_F(Sockets, that_get_no_answer_or_a_refusal_are_told) {
    server_.sock().__sk_common.skc_state = syn_sent;
    const auto told = [&] {
        const auto bytes = take(LAGTRAP_RECORD_WAIT_FILE);
        lagtrap_wait_file record{};
        if (bytes.empty()) return record;
        EXPECT_EQ(bytes[0].size(), sizeof(record) + sizeof(lagtrap_peer));
        std::memcpy(&record, bytes[0].data(), sizeof(record));
        lagtrap_peer peer{};
        std::memcpy(&peer, bytes[0].data() + sizeof(record), sizeof(peer));
        EXPECT_EQ(peer.port, 443);
        EXPECT_EQ(peer.address[3], 9);
        EXPECT_EQ(record.header.at_ns, kernel_.now_ns);
        EXPECT_EQ(record.file, native_socket_number(&server_.sock(), LAGTRAP_FILE_CONNECTING));
        return record;
    };
    select(101);
    on_retransmit(&server_.sock());
    lagtrap_wait_file found = told();
    EXPECT_EQ(found.kind, LAGTRAP_FILE_SYN_REPEATED);
    EXPECT_EQ(found.tid, 0U);
    EXPECT_EQ(found.path_bytes, sizeof(lagtrap_peer));
    on_reset(&server_.sock());
    EXPECT_EQ(told().kind, 0) << "the thread is not in connect()";
    in_call(call_connect);
    on_reset(&server_.sock());
    found = told();
    EXPECT_EQ(found.kind, LAGTRAP_FILE_CONNECT_REFUSED);
    EXPECT_EQ(found.pid, 100U);
    EXPECT_EQ(found.tid, 101U);
    server_.sock().__sk_common.skc_state = established;
    on_retransmit(&server_.sock());
    on_reset(&server_.sock());
    EXPECT_EQ(told().kind, 0);
    server_.sock().__sk_common.skc_state = syn_sent;
    recording.on = 0;
    on_retransmit(&server_.sock());
    on_reset(&server_.sock());
    EXPECT_EQ(told().kind, 0);
}

}  // namespace

}  // namespace lagtrap::native::sockets_test
