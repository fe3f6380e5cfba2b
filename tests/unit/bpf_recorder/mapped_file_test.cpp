// The file behind a mapping.
#include "bpf/mapped_file.h"

#include "tests/unit/bpf_recorder/files.hpp"

extern "C" {
extern lagtrap_mapped_file mapped_file;
int look_at_mapping(void* context);
}

namespace lagtrap::native::mapped_file_test {

namespace {

using MappedFile = Recorder;

TEST_F(MappedFile, is_the_one_that_is_mapped_there) {
    DiskFile file;
    file.inode.i_ino = 4711;
    file.super.s_dev = 8 << 20 | 3;
    kernel::vm_area_struct area{};
    area.vm_start = 0x1000;
    area.vm_end = 0x3000;
    area.vm_file = &file.file;
    native_set_areas(&area, nullptr);
    select(101);
    mapped_file.address = 0x2fff;
    EXPECT_EQ(look_at_mapping(nullptr), 0);
    EXPECT_EQ(mapped_file.inode, 4711U);
    EXPECT_EQ(mapped_file.device, 8U << 20 | 3);
    mapped_file.address = 0x3000;
    EXPECT_NE(look_at_mapping(nullptr), 0) << "nothing is mapped";
    EXPECT_EQ(mapped_file.inode, 0U);
    EXPECT_EQ(mapped_file.device, 0U);
    mapped_file.address = 0x1000;
    area.vm_file = nullptr;
    EXPECT_EQ(look_at_mapping(nullptr), 0);
    EXPECT_EQ(mapped_file.inode, 0U) << "it is of no file";
}

}  // namespace

}  // namespace lagtrap::native::mapped_file_test
