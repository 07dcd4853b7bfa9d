# What is installed, in two parts: `runtime` for those who run attnlab, `development` for those who link attnlab::core.
include(CMakePackageConfigHelpers)

install(TARGETS attnlab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(DIRECTORY ${shell_files}/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT runtime)
if(ATTNLAB_STATIC)
  install(FILES README.md LICENSE DESTINATION . COMPONENT runtime)
else()
  install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT runtime)
endif()
# What is linked in asks for its notices to travel with it.
foreach(package libopenblas-dev gcc-12-base libfmt-dev libxtensor-dev libxtensor-blas-dev nlohmann-json3-dev libcli11-dev)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME ${package}
          COMPONENT runtime OPTIONAL)
endforeach()

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/attnlab)
set_target_properties(attnlab_core PROPERTIES EXPORT_NAME core)
add_library(attnlab::core ALIAS attnlab_core)
target_include_directories(attnlab_core INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/attnlab>)
target_compile_features(attnlab_core PUBLIC cxx_std_20)
install(TARGETS attnlab_core EXPORT attnlabTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY src/core DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attnlab COMPONENT development
        FILES_MATCHING PATTERN *.hpp)
install(EXPORT attnlabTargets NAMESPACE attnlab:: DESTINATION ${config_folder} COMPONENT development)
configure_package_config_file(cmake/attnlabConfig.cmake.in attnlabConfig.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(attnlabConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attnlabConfig.cmake ${PROJECT_BINARY_DIR}/attnlabConfigVersion.cmake
        DESTINATION ${config_folder} COMPONENT development)
