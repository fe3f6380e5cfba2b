// CMake compiles headers once for all with a library that has a source (cmake/PrecompiledHeaders.cmake).
