#include "uploader/routes.hpp"

namespace lagtrap::uploader {

Routes::Routes(const ServiceSettings& settings) {
    if (settings.target) server_ = Route{Transfer(*settings.target)};
    if (settings.collector) collector_ = Route{Transfer(*settings.collector)};
}

Route* Routes::of(const std::string& name) {
    const auto parsed = spool::parse_entry_name(name);
    if (!parsed) return nullptr;
    auto& route = parsed->kind == spool::EntryKind::Spans ? collector_ : server_;
    return route ? &*route : nullptr;
}

std::vector<Route*> Routes::all() {
    std::vector<Route*> all;
    for (auto* const route : {&server_, &collector_})
        if (*route) all.push_back(&**route);
    return all;
}

}  // namespace lagtrap::uploader
