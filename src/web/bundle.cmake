# Makes vega.bundle.js, what the figures of a page are drawn with, from the npm packages of the lock file:
#
#   cmake -D NPM=npm -D FOLDER=where-to-work -D OUTPUT=vega.bundle.js [-D OMIT=dev] -P bundle.cmake
#
# A machine without npm's registry builds all the same: then there is a warning and no bundle.
set(source ${CMAKE_CURRENT_LIST_DIR})
file(COPY ${source}/package.json ${source}/package-lock.json ${source}/bundle.js DESTINATION ${FOLDER})
set(omit)
if(OMIT)
  set(omit --omit=${OMIT})
endif()
execute_process(
  COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1 --fetch-timeout=30000 ${omit}
  WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE failed OUTPUT_VARIABLE told ERROR_VARIABLE told)
if(NOT failed)
  execute_process(
    COMMAND ${NPM} exec --offline -- esbuild bundle.js --bundle --minify --format=iife --global-name=attnlabCharts
      --legal-comments=eof --log-level=warning --outfile=${OUTPUT}
      "--banner:js=/*! Vega, Vega-Lite, vega-embed and vega-tooltip: University of Washington Interactive Data Lab and contributors, BSD-3-Clause. D3: Mike Bostock, ISC. */"
    WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE failed OUTPUT_VARIABLE told ERROR_VARIABLE told)
endif()
if(failed)
  message(WARNING "No vega.bundle.js: pages with figures cannot be written. npm said:\n${told}")
endif()
