#include "daemon/runs/frame_names.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"
#include "core/text.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::daemon::frame_names_test {
namespace {

using testing::Each;
using testing::Field;
using testing::SizeIs;

std::string bytes_of(const std::string& digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    return bytes;
}

// Opens files through one process only; 0: on the machine.
class OneProcess : public DirectInspector {
  public:
    explicit OneProcess(std::uint32_t only) : pid(only) { inspect_processes_by(this); }
    OneProcess(const OneProcess&) = delete;
    OneProcess& operator=(const OneProcess&) = delete;
    ~OneProcess() override { inspect_processes_by(nullptr); }

    Result<OpenedFile> open(const NamedMapping& mapping) override {
        asked.push_back(mapping.mapping.pid);
        if (mapping.mapping.pid != pid)
            return make_error(ErrorKind::Vanished, "the process is gone");
        return DirectInspector::open(mapping);
    }

    std::uint32_t pid;
    std::vector<std::uint32_t> asked;
};

// Stacks of tests/unit/daemon/programs/deeply_inlined.cpp: thirty functions inlined at one address.
class NamesOfFrames : public testing::Test {
  protected:
    void SetUp() override {
        const auto program = binaries::ProgramFile::open(path_);
        ASSERT_TRUE(program) << program.error().message;
        const auto found = program->find_functions("outermost_function");
        ASSERT_TRUE(found && found->size() == 1);
        frame_ = {path_, program->build_id(), found->front().file_offset, {}, {}, 0};
        trace::RecordedModule module;
        module.path = path_;
        module.build_id = bytes_of(program->build_id());
        gathered_.modules.push_back(module);
    }
    trace::RunStack named(trace::RunStack stack) { return named_by(names_, std::move(stack)); }
    trace::RunStack named_by(FrameNames& names, trace::RunStack stack) {
        gathered_.batch.stacks = {std::move(stack)};
        names.name(gathered_);
        return gathered_.batch.stacks[0];
    }

    const std::string path_ = build_folder() + "/daemon/daemon_deeply_inlined_program";
    trace::RunFrame frame_;
    GatheredBatch gathered_;
    FrameNames names_{{}};
};

TEST_F(NamesOfFrames, InlinedFunctionsAreFramesAtTheSameOffsetUpToALimit) {
    const trace::RunStack stack = named({frame_});
    ASSERT_THAT(stack, SizeIs(16));
    EXPECT_THAT(stack, Each(Field(&trace::RunFrame::offset, frame_.offset)));
    EXPECT_THAT(stack[0].function, testing::HasSubstr("inlined_function<1>"));
    EXPECT_THAT(stack[0].file, testing::EndsWith("deeply_inlined.cpp"));
    // The function that is not inlined is among them.
    EXPECT_THAT(stack[14].function, testing::HasSubstr("inlined_function<15>"));
    EXPECT_EQ(stack[15].function, "outermost_function");
}

TEST_F(NamesOfFrames, AStackIsCutOnceItIsLong) {
    const trace::RunStack stack = named(trace::RunStack(40, frame_));
    EXPECT_GE(stack.size(), 250U);
    EXPECT_LT(stack.size(), 250U + 16U);
}

TEST_F(NamesOfFrames, FramesOfAnotherBuildKeepModuleAndOffset) {
    std::string& build_id = gathered_.modules[0].build_id;
    build_id[0] = static_cast<char>(build_id[0] ^ 1);
    frame_.build_id = hexadecimal(build_id);
    EXPECT_EQ(named({frame_}), trace::RunStack{frame_});
}

TEST_F(NamesOfFrames, AFileIsReadThroughTheFirstOfItsProcessesThatStillHasIt) {
    const auto own = static_cast<std::uint32_t>(::getpid());
    gathered_.modules[0].users = {{0x7ffffffe, 0, 0}, {own, 0, 0}, {0x7fffffff, 0, 0}};
    OneProcess inspector(own);
    FrameNames names({});
    EXPECT_EQ(named_by(names, {frame_}).back().function, "outermost_function");
    EXPECT_THAT(inspector.asked, testing::ElementsAre(0x7ffffffeU, own));
    // Its functions remain known.
    inspector.pid = 0x7fffffff;
    EXPECT_EQ(named_by(names, {frame_}).back().function, "outermost_function");
    EXPECT_THAT(inspector.asked, SizeIs(2));
}

TEST_F(NamesOfFrames, AFileWithoutBuildIdIsKnownByItsDeviceAndInode) {
    struct stat facts {};
    ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
    trace::RecordedModule& module = gathered_.modules[0];
    module.build_id.clear();
    frame_.build_id.clear();
    module.inode = facts.st_ino;
    module.device = device_number(major(facts.st_dev), minor(facts.st_dev)) + 1;
    EXPECT_EQ(named({frame_}), trace::RunStack{frame_});
    --module.device;
    FrameNames names({});
    EXPECT_EQ(named_by(names, {frame_}).back().function, "outermost_function");
}

TEST_F(NamesOfFrames, FramesWithoutAFileStayInTheirPlace) {
    trace::RunFrame unknown = frame_;
    unknown.module.clear();
    const trace::RunStack stack = named({unknown, frame_, unknown});
    ASSERT_THAT(stack, SizeIs(18));
    EXPECT_EQ(stack.front(), unknown);
    EXPECT_EQ(stack[16].function, "outermost_function");
    EXPECT_EQ(stack.back(), unknown);
}

}  // namespace
}  // namespace lagtrap::daemon::frame_names_test
