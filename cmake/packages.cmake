# What cpack makes: a .deb for Debian 12, or, of a static build, a .tar.gz whose program needs nothing but glibc.
set(CPACK_PACKAGE_NAME attnlab)
set(CPACK_PACKAGE_VENDOR "The attnlab authors")
set(CPACK_PACKAGE_CONTACT "The attnlab authors <attnlab@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime)  # the library is installed from source: cmake --install
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)

if(ATTNLAB_STATIC)
  set(CPACK_GENERATOR TGZ)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_PACKAGE_FILE_NAME attnlab-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
else()
  set(CPACK_GENERATOR DEB)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox)  # draws svg, png and pdf
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "lesson on attention and transformers that runs")
  set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Replays the lesson's listings byte for byte, measures each of its sentences
as a claim, varies one choice at a time and plots what changed. Operations
run on arrays of your own; parameters, FLOPs and cache bytes are accounted
for from the config.json of a model.")
  set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian_places.cmake)
endif()
include(CPack)
