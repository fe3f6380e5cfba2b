#include "cli/bundles/confined_reading.hpp"

#include <string>
#include <utility>

namespace lagtrap::cli {

Result<ConfinedReading> ConfinedReading::start() {
    const std::string program = binaries::find_reader_program("");
    if (program.empty()) return ConfinedReading(nullptr);
    auto reader =
        std::make_unique<binaries::FileReader>(binaries::FileReaderOptions{.program = program});
    TRY(reader->try_start());
    binaries::read_files_by(reader.get());
    return ConfinedReading(std::move(reader));
}

ConfinedReading::~ConfinedReading() {
    if (reader_) binaries::read_files_by(nullptr);
}

}  // namespace lagtrap::cli
