# The build type Coverage counts which of our lines run. Counting the headers of others as well, or atomically, takes
# many times as long; a count lost between two threads changes no zero.
set(CMAKE_CXX_FLAGS_COVERAGE
    "-O1 -DNDEBUG --coverage '-fprofile-filter-files=^${PROJECT_SOURCE_DIR}/(src|experiments)/'")
target_sources(attnlab PRIVATE tests/coverage/exit.cpp)
target_link_options(attnlab PRIVATE -Wl,--wrap=_exit)
