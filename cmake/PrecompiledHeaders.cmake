# Headers that most sources include, compiled once for all libraries: for ./dev demo, which compiles everything once. Elsewhere it would
# hide includes that are missing, and keep ccache from finding anything.
option(LAGTRAP_PRECOMPILED_HEADERS "Compile common headers once" OFF)
if(LAGTRAP_PRECOMPILED_HEADERS)
  find_package(Boost REQUIRED COMPONENTS json)
  add_library(lagtrap_precompiled STATIC core/libraries/precompiled.cpp)
  target_link_libraries(lagtrap_precompiled PRIVATE lagtrap_flags lagtrap_fmt Boost::json)
  target_precompile_headers(lagtrap_precompiled PRIVATE
    <algorithm> <array> <chrono> <filesystem> <functional> <map> <memory> <mutex> <optional> <set> <string> <string_view> <thread>
    <unordered_map> <variant> <vector> <boost/json.hpp> <fmt/format.h>)
endif()
