#include "daemon/capture/python_processes.hpp"

#include <unistd.h>

#include <condition_variable>
#include <map>

#include <gtest/gtest.h>

#include "binaries/elf/python_layout.hpp"
#include "daemon/processes/record_buffer.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::daemon::python_processes_test {
namespace {

const std::string folder = build_folder() + "/binaries/python/";
constexpr std::uint32_t gone = 0x7fff'fff0;  // beyond the kernel's highest number

class Places : public PythonPlaces {
  public:
    using Known = std::map<std::uint32_t, std::uint64_t>;  // address of the runtime, by process

    void set(std::uint32_t pid, const lagtrap_python& place) override {
        const std::scoped_lock lock(mutex_);
        known_[pid] = place.runtime;
        changed_.notify_all();
    }
    void forget(std::uint32_t pid) override {
        const std::scoped_lock lock(mutex_);
        known_.erase(pid);
        changed_.notify_all();
    }
    std::vector<std::uint32_t> processes() const override {
        const std::scoped_lock lock(mutex_);
        std::vector<std::uint32_t> pids;
        for (const auto& [pid, runtime] : known_) pids.push_back(pid);
        return pids;
    }
    void wait_for(const Known& wanted) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return known_ == wanted; });
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Known known_;
};

// Opens the file by the path of the mapping.
class Inspector : public DirectInspector {
  public:
    Result<OpenedFile> open(const NamedMapping& mapping) override {
        if (++opened <= busy) return make_error(ErrorKind::Busy, "all readers are in use");
        TRY_ASSIGN(UniqueFd file, open_to_read(mapping.path));
        OpenedFile result;
        result.file = std::move(file);
        return result;
    }
    std::atomic<int> opened{0}, busy{0};

  private:
    static Result<UniqueFd> open_to_read(const std::string& path) {
        UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!file.valid()) return make_error(ErrorKind::System, path + " cannot be opened");
        return file;
    }
};

class PythonProcessesTest : public testing::Test {
  protected:
    PythonProcessesTest() { (void)files_.want(python_file_names()); }

    void map(std::uint32_t pid, const std::string& name, std::uint64_t start,
             std::uint64_t inode = 1) {
        const std::string path = folder + name;
        lagtrap_mapping mapping{};
        mapping.header.type = LAGTRAP_RECORD_MAPPING;
        mapping.pid = pid;
        mapping.start = start;
        mapping.file_offset = 0x1000;
        mapping.inode = inode;
        mapping.path_bytes = static_cast<std::uint16_t>(path.size());
        RecordBuffer records;
        records.append(&mapping, sizeof(mapping), path);
        records.for_each([this](const lagtrap_record* record) { files_.take(record); });
        files_.done();
    }
    void change(std::uint16_t type, std::uint32_t pid, std::uint32_t parent) {
        lagtrap_task_change task{};
        task.header.type = type;
        task.pid = task.tid = pid;
        task.parent_pid = parent;
        RecordBuffer records;
        records.append(&task, sizeof(task), {});
        records.for_each([this](const lagtrap_record* record) { files_.take(record); });
        files_.done();
    }
    static std::uint64_t runtime_in(const std::string& name) {
        const auto image = binaries::ElfImage::open(folder + name);
        return binaries::find_python_layout(*image)->runtime;
    }

    MappedFiles files_{MappedFiles::Limits{},
                       [](std::uint32_t) -> std::optional<Party> { return root_party; }};
    Places places_;
    Inspector inspector_;
    const std::uint32_t own_ = static_cast<std::uint32_t>(::getpid());
};

TEST_F(PythonProcessesTest, AreKnownWithTheirForksUntilTheyEnd) {
    map(own_, "libpython3.11.so.1.0", 0x500000);
    const PythonProcesses processes(places_, files_, inspector_);
    const std::uint64_t own = 0x500000 - 0x1000 + runtime_in("libpython3.11.so.1.0");
    places_.wait_for({{own_, own}});
    change(LAGTRAP_RECORD_FORK, 70, own_);
    places_.wait_for({{own_, own}, {70, own}});
    map(80, "libpython3.13.so.1.0", 0x900000, 2);
    const std::uint64_t other = 0x900000 - 0x1000 + runtime_in("libpython3.13.so.1.0");
    places_.wait_for({{own_, own}, {70, own}, {80, other}});
    change(LAGTRAP_RECORD_EXIT, 70, 0);
    places_.wait_for({{own_, own}, {80, other}});
    EXPECT_EQ(inspector_.opened, 2) << "each file once";
}

TEST_F(PythonProcessesTest, AForkThatOnlyTheProgramsKnowStaysWhileItLives) {
    lagtrap_python place{};
    place.runtime = 1;
    places_.set(static_cast<std::uint32_t>(::getppid()), place);
    places_.set(gone, place);
    const PythonProcesses processes(places_, files_, inspector_);
    places_.wait_for({{static_cast<std::uint32_t>(::getppid()), 1}});
}

TEST_F(PythonProcessesTest, AFileThatCannotBeReadNowIsReadLater) {
    inspector_.busy = 1;
    map(own_, "libpython3.12.so.1.0", 0x500000);
    const PythonProcesses processes(places_, files_, inspector_);
    places_.wait_for({{own_, 0x500000 - 0x1000 + runtime_in("libpython3.12.so.1.0")}});
    EXPECT_EQ(inspector_.opened, 2);
}

}  // namespace
}  // namespace lagtrap::daemon::python_processes_test
