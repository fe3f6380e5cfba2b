// Waits for a disk while the kernel holds requests of the thread's control group back.
#include "tests/unit/bpf_recorder/recorder.hpp"

namespace lagtrap::native::disk_limit_test {

namespace {

constexpr std::uint64_t call_read = 0, call_write = 1, call_pread = 17, call_readv = 19,
                        call_fsync = 74, call_preadv = 295, call_preadv_2 = 327;
constexpr int reads = 0, writes = 1;
constexpr __u64 no_byte_limit = ~0ULL;
constexpr unsigned int no_operation_limit = ~0U;

// A control group and what it may do on one disk.
struct Group {
    explicit Group(const char* name, kernel::request_queue& queue, Group* around = nullptr) {
        node.name = name;
        group.kn = &node;
        all.css.cgroup = &group;
        all.blkg_list.first = &of_disk.blkcg_node;
        of_disk.q = &queue;
        of_disk.blkcg = &all;
        of_disk.parent = around == nullptr ? nullptr : &around->of_disk;
        other_policy.pd.blkg = limits.pd.blkg = &of_disk;
        limits.td = queue.td;
        of_disk.pd[1] = &other_policy.pd;
        of_disk.pd[4] = &limits.pd;
        for (const int direction : {reads, writes}) {
            limits.bps[direction] = no_byte_limit;
            limits.iops[direction] = no_operation_limit;
        }
    }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    kernel::kernfs_node node{};
    kernel::cgroup group{};
    kernel::blkcg all{};
    kernel::blkcg_gq of_disk{};
    kernel::throtl_grp limits{}, other_policy{};
};

class DiskLimit : public Recorder {
  protected:
    DiskLimit() {
        kernel_.missing = {"old->bps", "old->iops"};
        std::strcpy(disk_.disk_name, "vdb");
        groups_.subsys[kernel::io_cgrp_id] = &own_.all.css;
        task(101).task.cgroups = &groups_;
    }
    // What is recorded of a wait in this call; tid 0: nothing.
    lagtrap_disk_limit wait_in(std::uint64_t call, unsigned int state = uninterruptible) {
        in_call(call, 99);
        select(101);
        on_switch(false, &task(101).task, &task(201).task, state);
        const auto found = take<lagtrap_disk_limit>(LAGTRAP_RECORD_DISK_LIMIT);
        EXPECT_LE(found.size(), 1U);
        return found.empty() ? lagtrap_disk_limit{} : found[0];
    }

    std::uint64_t data_ = 0;
    kernel::gendisk disk_{};
    kernel::request_queue queue_{&disk_, reinterpret_cast<kernel::throtl_data*>(&data_)};
    Group around_{"shop", queue_}, own_{"batch", queue_, &around_};
    kernel::css_set groups_{};
};

TEST_F(DiskLimit, is_recorded_with_the_group_the_disk_and_the_limit) {
    own_.limits.bps[reads] = 1 << 20;
    own_.limits.iops[reads] = 50;
    EXPECT_EQ(wait_in(call_read).tid, 0U) << "nothing is held back";
    own_.limits.service_queue.nr_queued_bps[reads] = 3;
    const lagtrap_disk_limit found = wait_in(call_read);
    EXPECT_EQ(found.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(found.pid, 100U);
    EXPECT_EQ(found.tid, 101U);
    EXPECT_EQ(found.bytes_per_s, 1U << 20);
    EXPECT_EQ(found.operations_per_s, 0U) << "nothing waits for that";
    EXPECT_EQ(found.writes, 0);
    EXPECT_STREQ(found.disk, "vdb");
    EXPECT_STREQ(found.group, "batch");
    own_.limits.service_queue.nr_queued_bps[reads] = 0;
    own_.limits.service_queue.nr_queued_iops[reads] = 1;
    const lagtrap_disk_limit other = wait_in(no_call);
    EXPECT_EQ(other.bytes_per_s, 0U);
    EXPECT_EQ(other.operations_per_s, 50U);
    EXPECT_EQ(wait_in(call_read, interruptible).tid, 0U)
        << "only an uninterruptible wait may be for a disk";
}

TEST_F(DiskLimit, of_writes_concerns_no_call_that_only_reads) {
    own_.limits.bps[writes] = 4096;
    own_.limits.service_queue.nr_queued_bps[writes] = 1;
    for (const std::uint64_t call :
         {call_read, call_pread, call_readv, call_preadv, call_preadv_2, no_call})
        EXPECT_EQ(wait_in(call).tid, 0U) << call;
    for (const std::uint64_t call : {call_write, call_fsync}) {
        EXPECT_EQ(wait_in(call).writes, 1) << call;
        EXPECT_EQ(wait_in(call).bytes_per_s, 4096U) << call;
    }
    own_.limits.service_queue.nr_queued_bps[reads] = 1;
    EXPECT_EQ(wait_in(call_write).writes, 0) << "it may have to read first";
}

TEST_F(DiskLimit, may_be_that_of_a_group_around_it) {
    around_.limits.iops[writes] = 20;
    around_.limits.service_queue.nr_queued_iops[writes] = 1;
    const lagtrap_disk_limit found = wait_in(call_fsync);
    EXPECT_STREQ(found.group, "shop");
    EXPECT_EQ(found.operations_per_s, 20U);
}

TEST_F(DiskLimit, is_unknown_where_the_kernel_has_none) {
    own_.limits.service_queue.nr_queued_bps[reads] = 1;
    queue_.td = nullptr;
    EXPECT_EQ(wait_in(call_read).tid, 0U);
    queue_.td = own_.limits.td;
    EXPECT_EQ(wait_in(call_read).tid, 101U);
    kernel_.missing.insert("io_cgrp_id");
    EXPECT_EQ(wait_in(call_read).tid, 0U);
}

// Until 6.15, requests wait for bytes and operations in the same queue.
TEST_F(DiskLimit, of_older_kernels_is_read_too) {
    kernel_.missing.insert({"queue->nr_queued_bps", "queue->nr_queued_iops"});
    own_.limits.bps[reads] = 8192;
    own_.limits.iops[reads] = 30;
    EXPECT_EQ(wait_in(call_read).tid, 0U);
    own_.limits.service_queue.nr_queued[reads] = 1;
    EXPECT_EQ(wait_in(call_read).bytes_per_s, 8192U);
    EXPECT_EQ(wait_in(call_read).operations_per_s, 30U) << "either may hold";
    own_.limits.iops[reads] = no_operation_limit;
    EXPECT_EQ(wait_in(call_read).operations_per_s, 0U);
}

}  // namespace

}  // namespace lagtrap::native::disk_limit_test
