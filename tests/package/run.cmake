# Installs what developers need of a built attnlab into a scratch folder, builds the example against it and runs it:
#   cmake -D build=BUILD_FOLDER -D compiler=COMPILER -D type=BUILD_TYPE -P run.cmake
set(scratch ${build}/package_test)
file(REMOVE_RECURSE ${scratch})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${build} --component development --prefix ${scratch}/installed)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${scratch}/build -D CMAKE_PREFIX_PATH=${scratch}/installed
    -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_BUILD_TYPE=${type})
run(${CMAKE_COMMAND} --build ${scratch}/build)
run(${scratch}/build/example)
