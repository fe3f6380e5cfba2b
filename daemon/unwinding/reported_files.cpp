#include "daemon/unwinding/reported_files.hpp"

#include <algorithm>
#include <utility>

#include "daemon/processes/mapping_build_id.hpp"
#include "daemon/processes/process_texts.hpp"

namespace lagtrap::daemon {

std::shared_ptr<const ReportedFile> ReportedFiles::file_of(const lagtrap_mapping& mapping) {
    constexpr std::size_t files_before_sweep = 1024;
    if (files_.size() >= std::max(files_before_sweep, 2 * swept_)) {
        std::erase_if(files_, [](const auto& reported) { return reported.second.expired(); });
        swept_ = files_.size();
    }
    ReportedFile reported{mapping.device, mapping.inode, build_id_of(mapping),
                          std::string(path_of(mapping))};
    auto& known = files_[{reported.device, reported.inode, reported.build_id, reported.path}];
    auto file = known.lock();
    if (!file) known = file = std::make_shared<const ReportedFile>(std::move(reported));
    return file;
}

}  // namespace lagtrap::daemon
