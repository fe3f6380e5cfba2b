// Whose data the disks write.
#include "tests/unit/bpf_recorder/files.hpp"

namespace lagtrap::native::written_files_test {

namespace {

constexpr unsigned int mebibyte = 1 << 20;
constexpr unsigned int writes = 1, reads = 0;

class WrittenFiles : public Recorder {
  protected:
    WrittenFiles() {
        std::strcpy(disk_.disk_name, "sdc");
        queue_.disk = &disk_;
        request_.q = &queue_;
        request_.cmd_flags = writes | 0x800;
        request_.bio = &bio_;
        bio_.bi_io_vec = parts_;
        parts_[0].bv_page = &page_;
        page_.mapping = &mapping_;
        mapping_.host = &file_.inode;
        file_.folder.d_parent = &file_.root;
        file_.inode.i_dentry.first = &file_.entry.d_u.d_alias;
    }
    // The record after the disk has written so much more of the file; file 0: none.
    lagtrap_written write(unsigned int bytes) {
        on_write_done(&request_, 0, bytes);
        const auto found = take<lagtrap_written>(LAGTRAP_RECORD_WRITTEN);
        EXPECT_LE(found.size(), 1U);
        return found.empty() ? lagtrap_written{} : found[0];
    }
    bool is_reported(unsigned int bytes) { return write(bytes).file != 0; }
    std::vector<lagtrap_written> look_at(kernel::file& file, int tid = 301) {
        kernel::bpf_iter__task_file context{nullptr, &task(tid).task, 5, &file};
        on_open_file(&context);
        return take<lagtrap_written>(LAGTRAP_RECORD_WRITTEN);
    }
    // Thread `tid` ends after its process wrote these bytes.
    void end(int tid, std::uint64_t bytes) {
        Task& ending = task(tid);
        ending.task.ioac.write_bytes = bytes;
        on_writer_ends(&ending.task);
    }

    DiskFile file_{"log"};
    kernel::gendisk disk_{};
    kernel::request_queue queue_{};
    kernel::request request_{};
    kernel::bio bio_{};
    kernel::bio_vec parts_[2] = {};
    kernel::page page_{};
    kernel::address_space mapping_{};
};

TEST_F(WrittenFiles, are_reported_from_a_mebibyte_on) {
    kernel_.cpu = 1;
    EXPECT_FALSE(is_reported(100));
    EXPECT_FALSE(is_reported(mebibyte - 101));
    on_write_done(&request_, 0, 1);
    const auto bytes = take(LAGTRAP_RECORD_WRITTEN);
    ASSERT_EQ(bytes.size(), 1U);
    lagtrap_written first{};
    std::memcpy(&first, bytes[0].data(), sizeof(first));
    EXPECT_EQ(first.bytes, mebibyte);
    EXPECT_EQ(first.pid, 0U);
    EXPECT_EQ(first.ended_ns, 0U);
    EXPECT_STREQ(first.name, "sdc");
    EXPECT_EQ(first.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(first.header.cpu, 1);
    EXPECT_EQ((names_behind<lagtrap_written>(bytes[0])), (std::vector<std::string>{"log", "data"}));
    EXPECT_FALSE(is_reported(mebibyte - 1));
    const lagtrap_written second = write(1);
    EXPECT_EQ(second.bytes, 2 * mebibyte);
    EXPECT_EQ(second.file, first.file);
    EXPECT_EQ(second.path_bytes, 0) << "its names are known";
    EXPECT_EQ(files_written_in, 1U);
}

TEST_F(WrittenFiles, that_are_large_are_reported_by_eighths) {
    EXPECT_FALSE(is_reported(80 * mebibyte)) << "the first request only begins the count";
    EXPECT_TRUE(is_reported(0));
    EXPECT_FALSE(is_reported(10 * mebibyte - 1));
    EXPECT_TRUE(is_reported(1));
}

TEST_F(WrittenFiles, are_counted_by_capture) {
    write(mebibyte);
    EXPECT_TRUE(is_reported(1));
    recording.capture = 2;
    EXPECT_FALSE(is_reported(mebibyte));
    EXPECT_EQ(write(1).bytes, mebibyte + 1);
    recording.on = 0;
    EXPECT_FALSE(is_reported(8 * mebibyte));
}

TEST_F(WrittenFiles, are_regular_ones_whose_pages_a_request_writes) {
    const auto counts = [&] {
        write(mebibyte);
        const bool counted = is_reported(mebibyte);
        recording.capture = recording.capture + 1;
        return counted;
    };
    EXPECT_TRUE(counts());
    request_.cmd_flags = reads;
    EXPECT_FALSE(counts());
    request_.cmd_flags = 0x100 | writes;
    EXPECT_TRUE(counts());
    for (const unsigned short format : {directory, block_device, socket_file}) {
        file_.inode.i_mode = format;
        EXPECT_FALSE(counts()) << format;
    }
    file_.inode.i_mode = regular_file | 0600;
    for (const std::uint64_t flag : {1ULL, 2ULL, 3ULL}) {
        page_.mapping = reinterpret_cast<kernel::address_space*>(
            reinterpret_cast<std::uint64_t>(&mapping_) | flag);
        EXPECT_FALSE(counts()) << "a program's own page: " << flag;
    }
    page_.mapping = nullptr;
    EXPECT_FALSE(counts());
    page_.mapping = &mapping_;
    request_.bio = nullptr;
    EXPECT_FALSE(counts());
    request_.bio = &bio_;
    bio_.bi_iter.bi_idx = 1;
    EXPECT_FALSE(counts());
    parts_[1].bv_page = &page_;
    EXPECT_TRUE(counts());
    bio_.bi_io_vec = nullptr;
    EXPECT_FALSE(counts());
}

TEST_F(WrittenFiles, of_a_large_page_are_those_of_its_head) {
    kernel::page tail{};
    tail.compound_head = reinterpret_cast<unsigned long>(&page_) | 1;
    parts_[0].bv_page = &tail;
    write(mebibyte);
    EXPECT_TRUE(is_reported(1));
    page_.compound_head = reinterpret_cast<unsigned long>(&tail);  // a list of pages
    parts_[0].bv_page = &page_;
    EXPECT_TRUE(is_reported(mebibyte));
}

TEST_F(WrittenFiles, that_an_interrupt_completes_meanwhile_are_reported_later) {
    write(mebibyte);
    kernel_.at_clock = [&] { on_write_done(&request_, 0, 5); };
    on_write_done(&request_, 0, 1);
    const auto found = take<lagtrap_written>(LAGTRAP_RECORD_WRITTEN);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].bytes, mebibyte + 1);
    EXPECT_EQ(write(mebibyte).bytes, 2 * mebibyte + 6);
}

TEST_F(WrittenFiles, without_a_known_name_have_none) {
    file_.inode.i_dentry.first = nullptr;
    write(mebibyte);
    EXPECT_EQ(write(1).path_bytes, 0);
}

TEST_F(WrittenFiles, that_do_not_fit_are_reported_later) {
    write(mebibyte);
    fill_ring();
    EXPECT_FALSE(is_reported(1));
    EXPECT_EQ(files_written_in, 0U);
    const lagtrap_written found = write(1);
    EXPECT_EQ(found.bytes, mebibyte + 2);
    EXPECT_EQ(found.path_bytes, 9);
}

TEST_F(WrittenFiles, are_looked_for_among_open_files) {
    write(mebibyte);
    EXPECT_TRUE(look_at(file_.file).empty()) << "none was reported yet";
    const std::uint64_t number = write(1).file;
    const auto found = look_at(file_.file);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].file, number);
    EXPECT_EQ(found[0].pid, 300U);
    EXPECT_EQ(found[0].bytes, 0U);
    file_.file.f_mode = for_reading;
    EXPECT_TRUE(look_at(file_.file).empty());
    DiskFile other;
    EXPECT_TRUE(look_at(other.file).empty());
    file_.file.f_mode = for_writing;
    EXPECT_EQ(look_at(file_.file).size(), 1U);
    recording.capture = 2;
    EXPECT_TRUE(look_at(file_.file).empty());
    mapping_.host = &other.inode;
    other.inode.i_dentry.first = &other.entry.d_u.d_alias;
    write(mebibyte);
    write(1);
    EXPECT_EQ(look_at(other.file).size(), 1U);
    EXPECT_TRUE(look_at(file_.file).empty()) << "it was written in an earlier recording";
    kernel::bpf_iter__task_file last{nullptr, nullptr, 0, &other.file};
    on_open_file(&last);
    last = {nullptr, &task(301).task, 0, nullptr};
    on_open_file(&last);
    EXPECT_TRUE(take(LAGTRAP_RECORD_WRITTEN).empty()) << "all were looked at";
}

TEST_F(WrittenFiles, processes_that_wrote_much_are_told_after_their_end) {
    constexpr std::uint64_t much = 16 * mebibyte;
    end(401, 2 * much);
    end(400, much - 1);
    kernel_.now_ns += 5;
    end(500, much);
    Task& two = task(600);
    two.process.ioac.write_bytes = much;
    two.task.ioac.cancelled_write_bytes = 1;
    end(600, 1);
    Task& dropped = task(700);
    dropped.task.ioac.cancelled_write_bytes = 3 * much;
    end(700, 2 * much);
    Task& of_kernel = task(800);
    of_kernel.task.flags = 0x00200000;
    end(800, much);
    write(mebibyte);
    write(1);
    const auto found = look_at(file_.file);
    ASSERT_EQ(found.size(), 3U) << "two that ended, and one that has the file open";
    EXPECT_EQ(found[0].pid, 500U);
    EXPECT_EQ(found[0].file, 0U);
    EXPECT_EQ(found[0].bytes, much);
    EXPECT_EQ(found[0].ended_ns, kernel_.now_ns);
    EXPECT_EQ(found[0].header.at_ns, kernel_.now_ns);
    EXPECT_EQ(found[0].path_bytes, 0);
    EXPECT_STREQ(found[0].name, "thread-500");
    EXPECT_EQ(found[1].pid, 600U);
    EXPECT_EQ(found[1].bytes, much);
    EXPECT_EQ(look_at(file_.file).size(), 1U) << "each is listed once";
}

TEST_F(WrittenFiles, of_kernels_that_do_not_count_have_no_ended_writers) {
    kernel_.missing.insert("leader->ioac.write_bytes");
    end(500, 1ULL << 40);
    write(mebibyte);
    write(1);
    EXPECT_EQ(look_at(file_.file).size(), 1U);
}

TEST_F(WrittenFiles, the_last_64_ended_writers_are_kept) {
    for (int i = 1; i <= 70; ++i) end(i * 100, 1ULL << 30);
    write(mebibyte);
    write(1);
    const auto found = look_at(file_.file);
    ASSERT_EQ(found.size(), 65U);
    EXPECT_EQ(found[0].pid, 6500U) << "in the place of the first";
    EXPECT_EQ(found[6].pid, 700U);
}

}  // namespace

}  // namespace lagtrap::native::written_files_test
