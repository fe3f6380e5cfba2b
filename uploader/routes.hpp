// Where entries of the spool go: spans to the collector, all others to the server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "uploader/schedule.hpp"
#include "uploader/service_settings.hpp"
#include "uploader/transfer.hpp"

namespace lagtrap::uploader {

struct Route {
    Transfer transfer;
    Schedule schedule{};
};

class Routes {
  public:
    explicit Routes(const ServiceSettings& settings);

    // nullptr if nobody receives such entries, or if it is no name of an entry.
    [[nodiscard]] Route* of(const std::string& name);
    [[nodiscard]] std::vector<Route*> all();
    [[nodiscard]] bool has_collector() const { return collector_.has_value(); }

  private:
    std::optional<Route> server_, collector_;
};

}  // namespace lagtrap::uploader
