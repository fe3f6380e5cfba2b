// A capture controller on the real kernel whose only event, "query", has no probes.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "daemon/capture/capture_controller.hpp"
#include "daemon/unwinding/unwinder.hpp"
#include "tests/unit/daemon/bpf_fixture.hpp"

namespace lagtrap::daemon {

class NoSurroundings : public CaptureSurroundings {
  public:
    void session_changed(const std::string&) override {}
    void capture_begun(std::uint32_t) override {}
    void spool_changed() override {}
    std::vector<std::string> disabled_now() override { return {}; }
    Status begin_calls(CallRequest, std::shared_ptr<AnswerLines>) override { return success(); }
    Status begin_functions(std::uint32_t, std::uint32_t, std::shared_ptr<AnswerLines>) override {
        return success();
    }
    Status begin_objects(ObjectRequest, std::shared_ptr<AnswerLines>) override { return success(); }
};

class ControllerFixture : public BpfFixture {
  protected:
    // Knows no processes.
    class NoProcesses : public DirectInspector {
      public:
        Result<InspectedProcess> read(std::uint32_t, Code, const InspectionLimits&) override {
            return make_error(ErrorKind::Vanished, "is not read");
        }
    };
    void SetUp() override {
        BpfFixture::SetUp();
        if (IsSkipped()) return;
        std::string pattern = std::filesystem::temp_directory_path() / "lagtrap-controller-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        settings_.history.length = std::chrono::nanoseconds(0);
        settings_.history.early_share_ppm = 0;
        settings_.events.resize(1);
        settings_.events[0].name = "query";
        settings_.events[0].threshold = std::chrono::milliseconds(50);
        Unwinder::Options options;
        options.memory_bytes = 8 << 20;
        unwinder_ = Unwinder::create(options, inspector_, mapped_files_).value();
        spool_.emplace(spool::Spool::create(folder_ / "spool").value());
        controller_ = std::make_unique<CaptureController>(
            context_, *spool_, surroundings_,
            CaptureController::Options{"/bin/false", folder_ / "unanswered", log()});
    }
    void TearDown() override {
        if (folder_.empty()) return;
        controller_.reset();
        unwinder_.reset();
        std::filesystem::remove_all(folder_);
    }
    [[nodiscard]] Log log() {
        return Log([this](Log::Level level, const std::string& text) {
            (level == Log::Level::Warning ? warnings_ : infos_).push_back(text);
        });
    }
    void use_settings() {
        const auto threads = TimedThreads::create(settings_).value();
        auto monitor = EventMonitor::create(settings_, unwinder_->store(), threads, {});
        ASSERT_TRUE(monitor) << monitor.error().message;
        auto recorder = Recorder::create(settings_, *unwinder_, mapped_files_, threads, nullptr);
        ASSERT_TRUE(recorder) << recorder.error().message;
        controller_->use(settings_, std::move(*monitor), std::move(*recorder));
    }

    std::filesystem::path folder_;
    settings::Settings settings_;
    boost::asio::io_context context_;
    NoSurroundings surroundings_;
    NoProcesses inspector_;
    MappedFiles mapped_files_;
    std::unique_ptr<Unwinder> unwinder_;
    std::optional<spool::Spool> spool_;
    std::unique_ptr<CaptureController> controller_;
    std::vector<std::string> warnings_, infos_;
};

}  // namespace lagtrap::daemon
