# Libraries whose shared objects have another name in each release of Debian: linked statically, so that packages made on
# Debian 12 run on Debian 13 too (docs/decisions/0029-builds.md). libbpf, libcapstone and libiberty are
# linked so where they are used.
set(Boost_USE_STATIC_LIBS ON)

find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(Threads REQUIRED)
add_library(lagtrap_fmt STATIC core/libraries/fmt.cpp)
add_library(lagtrap_spdlog STATIC core/libraries/spdlog.cpp)
target_compile_definitions(lagtrap_spdlog PUBLIC SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL)
target_link_libraries(lagtrap_spdlog PUBLIC lagtrap_fmt Threads::Threads)
foreach(library lagtrap_fmt lagtrap_spdlog)
  target_link_libraries(${library} PRIVATE lagtrap_flags)
endforeach()
