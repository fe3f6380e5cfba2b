#include "daemon/settings_reader.hpp"

#include <boost/asio/post.hpp>

namespace lagtrap::daemon {

SettingsReader::~SettingsReader() {
    if (thread_.joinable()) thread_.join();
}

bool SettingsReader::begin(bool may) {
    if (reading_ || !may) {
        wanted_ = true;
        return false;
    }
    reading_ = true;
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([this] {
        auto outcome = settings::load_settings(path_, settings::BinaryCheck::Look);
        boost::asio::post(context_, [this, outcome = std::move(outcome)] {
            reading_ = false;
            take_(outcome);
        });
    });
    return true;
}

}  // namespace lagtrap::daemon
