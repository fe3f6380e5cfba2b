// Shared by tests that attach markers to a library of this process, on this kernel.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/files.hpp"
#include "daemon/events/event_monitor.hpp"
#include "daemon/unwinding/mapped_files.hpp"
#include "daemon/unwinding/unwind_store.hpp"
#include "tests/unit/await.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::daemon {

// Of tests/unit/daemon/programs/marked.cpp.
inline std::string marked() { return build_folder() + "/daemon/libdaemon_marked.so"; }

class LoadedLibrary {
  public:
    explicit LoadedLibrary(const std::string& path)
        : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        EXPECT_NE(handle_, nullptr) << ::dlerror();
    }
    ~LoadedLibrary() { ::dlclose(handle_); }
    LoadedLibrary(const LoadedLibrary&) = delete;
    LoadedLibrary& operator=(const LoadedLibrary&) = delete;
    void call(const char* name, unsigned long argument = 0) const {
        reinterpret_cast<void (*)(unsigned long)>(::dlsym(handle_, name))(argument);
    }
    void call_all(const std::vector<const char*>& names) const {
        for (const char* name : names) call(name);
    }

  private:
    void* handle_;
};

inline settings::Marker function_in(const std::string& binary, const std::string& name) {
    settings::Marker marker;
    marker.kind = settings::MarkerKind::Function;
    marker.binary = binary;
    marker.name = name;
    return marker;
}

// From marked_begin() to marked_end() or marked_failed(), with one stage.
inline settings::Event query_in(const std::string& binary) {
    settings::Event event;
    event.name = "query";
    event.threshold = std::chrono::hours(1);
    event.begin = function_in(binary, "marked_begin");
    event.end = function_in(binary, "marked_end");
    event.stages.push_back({"parsed", function_in(binary, "marked_stage"), false});
    event.other_ends.push_back(
        {function_in(binary, "marked_failed"), settings::EndMeaning::Failed});
    event.record = settings::RecordMode::Runs;
    return event;
}

// Identifies and opens the files of this process's mappings by their paths.
class MappedPaths : public DirectInspector {
  public:
    std::vector<Result<CodeFileIdentity>> identify(
        const std::vector<NamedMapping>& mappings) override {
        CodeFileIdentity identity;
        identity.inode = mappings.at(0).mapping.inode;
        return {identity};
    }
    Result<OpenedFile> open(const NamedMapping& mapping) override {
        OpenedFile found;
        auto file = open_file(mapping.path, O_RDONLY | O_CLOEXEC);
        if (!file) return make_error(ErrorKind::Vanished, "it is gone");
        found.file = std::move(*file);
        return found;
    }
};

class WatchedLibrary : public BpfFixture {
  protected:
    static void SetUpTestSuite() {
        if (::geteuid() != 0) return;
        store_ = UnwindStore::create(8 << 20).value();
        threads_.emplace(TimedThreads::create(plain_settings({})).value());
    }
    static void TearDownTestSuite() {
        threads_.reset();
        store_.reset();
    }
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        std::string pattern = std::filesystem::temp_directory_path() / "lagtrap-marked-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        path_ = folder_ / "libmarked.so";
        std::filesystem::copy(marked(), path_);
        options_.report = [this](const MonitorReport& report) {
            std::visit([this](const auto& part) { note(part); }, report);
        };
    }
    void TearDown() override {
        monitor_.reset();
        if (!folder_.empty()) std::filesystem::remove_all(folder_);
    }
    static settings::Settings plain_settings(const std::vector<settings::Event>& events) {
        settings::Settings settings;
        settings.history.times = false;
        settings.history.early_share_ppm = 0;
        settings.budget.open_runs = 100;
        settings.events = events;
        return settings;
    }
    [[nodiscard]] std::unique_ptr<EventMonitor> monitor_of(
        const std::vector<settings::Event>& events) {
        auto created = EventMonitor::create(plain_settings(events), *store_, *threads_, options_);
        EXPECT_TRUE(created) << created.error().message;
        if (!created) return nullptr;
        (*created)->breaches().start();
        first_round_over_.store(false);
        (*created)->arm_all();
        await("the first round", [this] { return first_round_over_.load(); });
        return std::move(*created);
    }
    void watch(const std::vector<settings::Event>& events) {
        monitor_ = monitor_of(events);
        ASSERT_TRUE(monitor_);
    }
    [[nodiscard]] EventStatus status(std::uint32_t event = 0) const {
        return monitor_->status().at(event);
    }
    void note(const BreachReport& report) {
        if (const auto* const breach = std::get_if<Breach>(&report))
            tell("breach " + std::to_string(breach->run.event));
    }
    void note(const ArmingReport& report) {
        if (std::holds_alternative<FirstRoundOver>(report)) first_round_over_.store(true);
        if (const auto* const armed = std::get_if<EventArmed>(&report))
            tell("armed " + std::to_string(armed->event) +
                 (armed->problem.empty() ? "" : ": " + armed->problem));
        if (const auto* const replaced = std::get_if<FileReplaced>(&report))
            tell("replaced " + replaced->path);
    }
    void tell(const std::string& what) {
        const std::lock_guard lock(mutex_);
        told_.push_back(what);
    }
    [[nodiscard]] std::vector<std::string> told() {
        const std::lock_guard lock(mutex_);
        return told_;
    }
    void await_told(const std::string& what) {
        await(what, [&] { return testing::Matches(testing::Contains(what))(told()); });
    }

    inline static std::unique_ptr<UnwindStore> store_;
    inline static std::optional<TimedThreads> threads_;
    std::filesystem::path folder_;
    std::string path_;
    MappedFiles mapped_;
    MappedPaths files_;
    ContainerNames names_{"/no-such-folder"};
    EventMonitor::Options options_;
    std::mutex mutex_;
    std::vector<std::string> told_;
    std::atomic<bool> first_round_over_{false};
    std::unique_ptr<EventMonitor> monitor_;
};

}  // namespace lagtrap::daemon
