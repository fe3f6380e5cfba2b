// The file for which a thread waits.
#include <set>

#include "tests/unit/bpf_recorder/files.hpp"

namespace lagtrap::native::wait_file_test {

namespace {

constexpr std::uint64_t call_read = 0, call_open = 2, call_poll = 7, call_select = 23,
                        call_fcntl = 72, call_flock = 73, call_open_at = 257, call_select_6 = 270,
                        call_ppoll = 271, call_open_at_2 = 437;
constexpr std::uint64_t lock_and_wait = 7, ofd_lock_and_wait = 38;
constexpr unsigned char read_lock = 0, write_lock = 1, unlock = 2;
constexpr int try_again = -11;

class WaitFile : public Recorder {
  protected:
    WaitFile() {
        Task& waiting = task(101);
        open(waiting, other_.file);
        descriptor_ = open(waiting, file_.file);
        waiting.task.stack = kernel_stack_.data();
    }
    // The thread 101 stops in this state.
    void stop(unsigned int state) {
        select(101);
        on_switch(false, &task(101).task, &task(201).task, state);
    }
    std::vector<Bytes> bytes_of_wait(unsigned int state) {
        stop(state);
        return take(LAGTRAP_RECORD_WAIT_FILE);
    }
    // What is recorded of it; kind 0: nothing.
    lagtrap_wait_file wait(unsigned int state) {
        stop(state);
        const auto found = take<lagtrap_wait_file>(LAGTRAP_RECORD_WAIT_FILE);
        EXPECT_LE(found.size(), 1U);
        if (found.empty()) return {};
        EXPECT_NE(found[0].kind, 0);
        EXPECT_NE(found[0].file, 0U);
        return found[0];
    }
    lagtrap_wait_file wait_in(std::uint64_t call, std::uint64_t second = 1,
                              unsigned int state = uninterruptible) {
        in_call(call, descriptor_, second);
        return wait(state);
    }
    // Puts the address of an object on the kernel stack, where an open call would have it.
    void put_on_stack(const void* object, std::size_t words_from_end = 100) {
        kernel_stack_[kernel_stack_.size() - words_from_end] = kernel_address(object);
    }

    DiskFile file_{"db"}, other_{"other"};
    std::uint64_t descriptor_ = 0;
    std::vector<std::uint64_t> kernel_stack_ = std::vector<std::uint64_t>(16384 / 8);
};

TEST_F(WaitFile, is_that_of_a_call_about_a_file) {
    const std::set<std::uint64_t> about_a_file{0,   1,   8,   17,  18,  19,  20,  74,  75,  77, 78,
                                               187, 217, 221, 277, 285, 295, 296, 306, 327, 328};
    for (std::uint64_t call = 0; call < 470; ++call) {
        const lagtrap_wait_file found = wait_in(call);
        const int expected = call == call_flock              ? LAGTRAP_FILE_LOCK
                             : about_a_file.count(call) != 0 ? LAGTRAP_FILE_OF_CALL
                                                             : 0;
        EXPECT_EQ(found.kind, expected) << call;
    }
    EXPECT_EQ(wait_in(call_read, 1, interruptible).kind, 0);
}

TEST_F(WaitFile, is_recorded_with_its_thread_and_its_names_once_in_a_capture) {
    in_call(call_read, descriptor_);
    kernel_.cpu = 2;
    const auto first = bytes_of_wait(uninterruptible);
    ASSERT_EQ(first.size(), 1U);
    lagtrap_wait_file record{};
    std::memcpy(&record, first[0].data(), sizeof(record));
    EXPECT_EQ(record.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(record.header.cpu, 2);
    EXPECT_EQ(record.pid, 100U);
    EXPECT_EQ(record.tid, 101U);
    EXPECT_EQ(record.holder_pid, 0U);
    EXPECT_NE(record.file, 0U);
    EXPECT_STREQ(record.disk, "sdb");
    EXPECT_EQ(names_behind<lagtrap_wait_file>(first[0]), (std::vector<std::string>{"db", "data"}));
    EXPECT_EQ(record.path_bytes, 8);
    EXPECT_EQ(record.header.size_bytes, sizeof(record) + 8);
    fill_ring();
    recording.capture = 5;
    stop(uninterruptible);
    take(LAGTRAP_RECORD_WAIT_FILE);
    EXPECT_EQ(wait(uninterruptible).path_bytes, 8) << "the names were lost";
    const lagtrap_wait_file again = wait(uninterruptible);
    EXPECT_EQ(again.path_bytes, 0);
    EXPECT_EQ(again.file, record.file);
    EXPECT_STREQ(again.disk, "sdb");
    in_call(call_read, 0);
    EXPECT_NE(wait(uninterruptible).file, record.file);
    in_call(call_read, descriptor_);
    recording.capture = 2;
    EXPECT_EQ(wait(uninterruptible).path_bytes, 8);
}

TEST_F(WaitFile, has_the_names_of_the_mounts_around_it) {
    kernel::dentry place{}, outer_root{};
    kernel::mount outer{};
    outer.mnt_parent = &outer;
    outer.mnt.mnt_root = &outer_root;
    outer_root.d_parent = &outer_root;
    place.d_parent = &outer_root;
    place.d_name.name = reinterpret_cast<const unsigned char*>("srv");
    file_.mount.mnt_parent = &outer;
    file_.mount.mnt_mountpoint = &place;
    in_call(call_read, descriptor_);
    const auto found = bytes_of_wait(uninterruptible);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(names_behind<lagtrap_wait_file>(found[0]),
              (std::vector<std::string>{"db", "data", "srv"}));
}

TEST_F(WaitFile, below_a_mounted_folder_has_names_from_there_on) {
    kernel::dentry place{}, outer_root{};
    kernel::mount outer{};
    outer.mnt_parent = &outer;
    outer.mnt.mnt_root = &outer_root;
    outer_root.d_parent = &outer_root;
    place.d_parent = &outer_root;
    place.d_name.name = reinterpret_cast<const unsigned char*>("srv");
    file_.mount.mnt_parent = &outer;
    file_.mount.mnt_mountpoint = &place;
    file_.mount.mnt.mnt_root = &file_.folder;
    in_call(call_read, descriptor_);
    const auto found = bytes_of_wait(uninterruptible);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(names_behind<lagtrap_wait_file>(found[0]), (std::vector<std::string>{"db", "srv"}));
}

TEST_F(WaitFile, has_no_more_names_than_fit) {
    std::deque<kernel::dentry> folders;
    const std::string name(63, 'n');
    kernel::dentry* below = &file_.folder;
    for (int i = 0; i < 30; ++i) {
        kernel::dentry& folder = folders.emplace_back();
        folder.d_name.name = reinterpret_cast<const unsigned char*>(name.c_str());
        below->d_parent = &folder;
        below = &folder;
    }
    below->d_parent = &file_.root;
    in_call(call_read, descriptor_);
    const auto found = bytes_of_wait(uninterruptible);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].size(), sizeof(lagtrap_wait_file) + LAGTRAP_PATH_BYTES);
}

TEST_F(WaitFile, has_the_requests_that_its_disk_has_at_that_moment) {
    kernel::request_queue queue{&file_.disk, nullptr}, others{&other_.disk, nullptr};
    kernel::request request{}, elsewhere{};
    request.q = &queue;
    elsewhere.q = &others;
    on_request_completed(&request);
    EXPECT_EQ(wait_in(call_read).queue_depth, 0U) << "it began before the recording";
    on_request_issued(&request);
    on_request_issued(&request);
    on_request_issued(&elsewhere);
    EXPECT_EQ(wait_in(call_read).queue_depth, 2U);
    in_call(call_read, 0);
    EXPECT_EQ(wait(uninterruptible).queue_depth, 1U) << "of the other disk";
    on_request_completed(&request);
    EXPECT_EQ(wait_in(call_read).queue_depth, 1U);
    file_.super.s_bdev = nullptr;
    const lagtrap_wait_file without_disk = wait_in(call_read);
    EXPECT_EQ(without_disk.queue_depth, 0U);
    EXPECT_STREQ(without_disk.disk, "");
}

TEST_F(WaitFile, is_one_that_can_be_on_a_disk) {
    for (const auto& [format, kind] :
         {std::pair(regular_file, LAGTRAP_FILE_OF_CALL), std::pair(directory, LAGTRAP_FILE_OF_CALL),
          std::pair(block_device, LAGTRAP_FILE_OF_CALL),
          std::pair(character_device, lagtrap_wait_file_kind{})}) {
        file_.inode.i_mode = format | 0755;
        EXPECT_EQ(wait_in(call_read).kind, kind) << format;
    }
}

TEST_F(WaitFile, of_a_page_fault_is_the_mapped_one) {
    kernel::vm_area_struct area{};
    area.vm_start = 0x1000;
    area.vm_end = 0x3000;
    area.vm_file = &file_.file;
    native_set_areas(&area, nullptr);
    in_call(no_call);
    EXPECT_EQ(wait(uninterruptible).kind, 0) << "it has touched nothing yet";
    select(101);
    on_page_fault(0x2fff);
    const lagtrap_wait_file found = wait(uninterruptible);
    EXPECT_EQ(found.kind, LAGTRAP_FILE_OF_FAULT);
    EXPECT_EQ(found.file, wait_in(call_read).file);
    in_call(no_call);
    on_page_fault(0x3000);
    EXPECT_EQ(wait(uninterruptible).kind, 0);
    on_page_fault(0x1000);
    EXPECT_EQ(wait(interruptible).kind, 0);
}

TEST_F(WaitFile, of_a_descriptor_that_is_not_open_is_unknown) {
    in_call(call_read, 2);
    EXPECT_EQ(wait(uninterruptible).kind, 0);
    task(101).files.fdt = nullptr;
    in_call(call_read, 0);
    EXPECT_EQ(wait(uninterruptible).kind, 0);
}

TEST_F(WaitFile, that_is_locked_has_another_process_that_holds_it) {
    Locks whole(file_.locks.flc_flock), ranges(file_.locks.flc_posix);
    const void* own_files = &task(101).files;
    whole.add(777, write_lock);
    ranges.add(888, write_lock);
    ranges.add(101, write_lock, own_files);
    ranges.add(999, read_lock, &file_.file);
    lagtrap_wait_file found = wait_in(call_flock, 0, interruptible);
    EXPECT_EQ(found.kind, LAGTRAP_FILE_LOCK);
    EXPECT_EQ(found.holder_pid, 777U);
    found = wait_in(call_fcntl, lock_and_wait, interruptible);
    EXPECT_EQ(found.kind, LAGTRAP_FILE_LOCK);
    EXPECT_EQ(found.holder_pid, 888U);
    ranges.all[0].flc_type = read_lock;
    EXPECT_EQ(wait_in(call_fcntl, lock_and_wait, interruptible).holder_pid, 888U)
        << "the last reader in the list";
    // Locks of open file descriptions belong to the file, not to the process.
    EXPECT_EQ(wait_in(call_fcntl, ofd_lock_and_wait, interruptible).holder_pid, 101U);
    EXPECT_EQ(wait_in(call_fcntl, 6, interruptible).kind, 0);
    file_.inode.i_flctx = nullptr;
    found = wait_in(call_flock, 0, interruptible);
    EXPECT_EQ(found.kind, LAGTRAP_FILE_LOCK);
    EXPECT_EQ(found.holder_pid, 0U);
}

TEST_F(WaitFile, a_writer_holds_a_lock_rather_than_a_reader) {
    Locks locks(file_.locks.flc_posix);
    kernel::list_head* list = &file_.locks.flc_posix;
    EXPECT_EQ(native_lock_holder(list, 0), 0U);
    locks.add(11, write_lock, &file_);
    locks.add(12, read_lock);
    locks.add(-1, write_lock, &file_);
    locks.add(0, write_lock, &file_);
    EXPECT_EQ(native_lock_holder(list, 1), 11U);
    EXPECT_EQ(native_lock_holder(list, reinterpret_cast<std::uint64_t>(&file_)), 12U);
    for (int i = 0; i < 31; ++i) locks.add(0, write_lock);
    EXPECT_EQ(native_lock_holder(list, 1), 0U) << "only 32 locks are looked at";
}

TEST_F(WaitFile, locks_of_older_kernels_are_read_too) {
    kernel_.missing.insert("struct file_lock_core");
    kernel::file_lock lock{};
    lock.fl_pid = 55;
    lock.fl_type = write_lock;
    lock.fl_list.next = &file_.locks.flc_posix;
    file_.locks.flc_posix.next = &lock.fl_list;
    EXPECT_EQ(native_lock_holder(&file_.locks.flc_posix, 1), 55U);
    int owner = 0;
    lock.fl_owner = &owner;
    EXPECT_EQ(native_lock_holder(&file_.locks.flc_posix, reinterpret_cast<std::uint64_t>(&owner)),
              0U);
    kernel::file_lock reads{};
    reads.fl_pid = 56;
    reads.fl_list.next = &file_.locks.flc_posix;
    lock.fl_list.next = &reads.fl_list;
    EXPECT_EQ(native_lock_holder(&file_.locks.flc_posix, 1), 55U) << "it writes";
}

TEST_F(WaitFile, whose_lock_was_just_refused_explains_a_pause) {
    Locks locks(file_.locks.flc_posix);
    locks.add(777, write_lock);
    kernel::file_lock_core asked{};
    asked.flc_owner = &task(101).files;
    asked.flc_type = write_lock;
    in_call(call_fcntl, descriptor_, 6);
    select(101);
    on_lock(&file_.inode, &asked, try_again);
    in_call(230);  // clock_nanosleep
    kernel_.now_ns += 100 * ms;
    lagtrap_wait_file found = wait(interruptible);
    EXPECT_EQ(found.kind, LAGTRAP_FILE_REFUSED);
    EXPECT_EQ(found.holder_pid, 777U);
    kernel_.now_ns += 1;
    EXPECT_EQ(wait(interruptible).kind, 0) << "too long ago";
    kernel_.now_ns -= ms;
    asked.flc_type = unlock;
    on_lock(&file_.inode, &asked, 0);
    EXPECT_EQ(wait(interruptible).kind, LAGTRAP_FILE_REFUSED) << "it gave back what it had";
    asked.flc_type = write_lock;
    on_lock(&other_.inode, &asked, 0);
    EXPECT_EQ(wait(interruptible).kind, LAGTRAP_FILE_REFUSED) << "that was another file";
    on_lock(&file_.inode, &asked, -4);
    EXPECT_EQ(wait(interruptible).kind, LAGTRAP_FILE_REFUSED);
    on_lock(&file_.inode, &asked, 0);
    EXPECT_EQ(wait(interruptible).kind, 0) << "it has the lock";
}

TEST_F(WaitFile, a_refused_lock_on_the_whole_file_counts_as_well) {
    Locks locks(file_.locks.flc_flock);
    locks.add(778, write_lock);
    kernel::file_lock_core asked{};
    in_call(call_flock, descriptor_, 6);
    select(101);
    on_whole_file_lock(&file_.inode, nullptr, try_again);
    in_call(230);
    EXPECT_EQ(wait(interruptible).kind, 0);
    in_call(call_flock, descriptor_, 6);
    on_whole_file_lock(&file_.inode, &asked, try_again);
    in_call(230);
    const lagtrap_wait_file found = wait(interruptible);
    EXPECT_EQ(found.kind, LAGTRAP_FILE_REFUSED);
    EXPECT_EQ(found.holder_pid, 778U);
    select(102);
    task(102).task.stack = kernel_stack_.data();
    on_switch(false, &task(102).task, &task(201).task, interruptible);
    EXPECT_TRUE(take(LAGTRAP_RECORD_WAIT_FILE).empty())
        << "another thread has nothing to do with it";
}

TEST_F(WaitFile, of_a_message_queue_is_that_queue) {
    for (const std::uint64_t call : {242, 243}) {
        const lagtrap_wait_file found = wait_in(call, 1, interruptible);
        EXPECT_EQ(found.kind, LAGTRAP_FILE_OF_CALL) << call;
        EXPECT_NE(found.file, 0U);
    }
    EXPECT_EQ(wait_in(244, 1, interruptible).kind, 0);
}

TEST_F(WaitFile, that_is_being_opened_is_found_on_the_kernel_stack) {
    Locks leases(file_.locks.flc_lease);
    for (const std::uint64_t call : {call_open, call_open_at, call_open_at_2}) {
        kernel_stack_.assign(kernel_stack_.size(), 0);
        EXPECT_EQ(wait_in(call, 1, interruptible).kind, 0) << call;
        file_.file.f_inode = reinterpret_cast<kernel::inode*>(kernel_address(&file_.inode));
        file_.entry.d_inode = file_.file.f_inode;
        file_.file.f_path.mnt =
            reinterpret_cast<kernel::vfsmount*>(kernel_address(&file_.mount.mnt));
        put_on_stack(&file_.file, 768);
        EXPECT_EQ(wait_in(call, 1, interruptible).kind, LAGTRAP_FILE_OF_CALL) << call;
        kernel_stack_.assign(kernel_stack_.size(), 0);
        put_on_stack(&file_.file, 769);
        EXPECT_EQ(wait_in(call, 1, interruptible).kind, 0) << "only the innermost calls are read";
    }
    put_on_stack(&file_.file, 1);
    file_.inode.i_flctx = nullptr;
    EXPECT_EQ(wait_in(call_open, 1, interruptible).kind, LAGTRAP_FILE_OF_CALL);
    file_.inode.i_flctx = &file_.locks;
    file_.file.f_path.mnt = nullptr;
    EXPECT_EQ(wait_in(call_open, 1, interruptible).kind, 0) << "it is on no mount";
    file_.file.f_path.mnt = reinterpret_cast<kernel::vfsmount*>(kernel_address(&file_.mount.mnt));
    leases.add(66, write_lock);
    const lagtrap_wait_file leased = wait_in(call_open, 1, interruptible);
    EXPECT_EQ(leased.kind, LAGTRAP_FILE_LOCK);
    EXPECT_EQ(leased.holder_pid, 66U);
    file_.entry.d_inode = &other_.inode;
    EXPECT_EQ(wait_in(call_open, 1, interruptible).kind, 0) << "no file has this name";
    EXPECT_EQ(wait_in(call_open, 1, uninterruptible).kind, 0);
}

TEST_F(WaitFile, polling_nothing_is_a_sleep) {
    in_call(call_poll, 0, 0);
    lagtrap_wait_file found = wait(interruptible);
    EXPECT_EQ(found.kind, LAGTRAP_FILE_NONE);
    EXPECT_EQ(found.file, LAGTRAP_FILE_NONE);
    EXPECT_EQ(found.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(found.tid, 101U);
    EXPECT_EQ(found.pid, 100U);
    EXPECT_EQ(found.header.size_bytes, sizeof(found));
    in_call(call_ppoll, 5, 0);
    EXPECT_EQ(wait(interruptible).kind, LAGTRAP_FILE_NONE);
    in_call(call_select, 0, 7);
    EXPECT_EQ(wait(interruptible).kind, LAGTRAP_FILE_NONE);
    in_call(call_select_6, 0, 7);
    EXPECT_EQ(wait(interruptible).kind, LAGTRAP_FILE_NONE);
    in_call(call_poll, 0, 1);
    EXPECT_EQ(wait(interruptible).kind, 0);
    in_call(call_select, 1, 0);
    EXPECT_EQ(wait(interruptible).kind, 0);
    in_call(call_read, 0, 0);
    EXPECT_EQ(wait(interruptible).kind, 0);
}

TEST_F(WaitFile, of_a_sleeping_thread_is_found_when_the_recording_begins) {
    kernel::bpf_iter__task context{nullptr, &task(101).task};
    const auto visit = [&](unsigned int state) {
        task(101).task.__state = state;
        on_thread(&context);
        const auto found = take<lagtrap_wait_file>(LAGTRAP_RECORD_WAIT_FILE);
        return found.empty() ? lagtrap_wait_file{} : found[0];
    };
    in_call(call_read, descriptor_);
    const lagtrap_wait_file of_call = visit(uninterruptible);
    EXPECT_EQ(of_call.kind, LAGTRAP_FILE_OF_CALL);
    EXPECT_EQ(of_call.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(of_call.pid, 100U);
    EXPECT_EQ(of_call.tid, 101U);
    EXPECT_EQ(of_call.path_bytes, 8);
    EXPECT_EQ(visit(interruptible).kind, 0);
    // Its page fault is on its kernel stack: that of its own memory, at an address of the area.
    kernel::vm_area_struct area{};
    area.vm_start = 0x1000;
    area.vm_end = 0x3000;
    area.vm_mm = &task(101).memory;
    area.vm_file = &file_.file;
    in_call(no_call);
    const std::size_t place = kernel_stack_.size() - 300;
    task(101).task.thread.sp = reinterpret_cast<std::uint64_t>(&kernel_stack_[place - 200]);
    kernel_stack_[place] = kernel_address(&area);
    kernel_stack_[place + 1] = 0x2fff;
    EXPECT_EQ(visit(uninterruptible).kind, LAGTRAP_FILE_OF_FAULT);
    for (const std::uint64_t outside : {0xfffULL, 0x3000ULL}) {
        kernel_stack_[place + 1] = outside;
        EXPECT_EQ(visit(uninterruptible).kind, 0) << outside;
    }
    kernel_stack_[place + 1] = 0x1000;
    EXPECT_EQ(visit(uninterruptible).kind, LAGTRAP_FILE_OF_FAULT);
    area.vm_mm = &task(201).memory;
    EXPECT_EQ(visit(uninterruptible).kind, 0);
    area.vm_mm = &task(101).memory;
    task(101).task.thread.sp = reinterpret_cast<std::uint64_t>(&kernel_stack_[place + 1]);
    EXPECT_EQ(visit(uninterruptible).kind, 0) << "calls that have ended";
}

}  // namespace

}  // namespace lagtrap::native::wait_file_test
