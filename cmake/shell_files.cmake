# Writes what shells and man read about attnlab, as the program itself prints it:
#   cmake -D attnlab=PROGRAM -D folder=FOLDER -P shell_files.cmake
function(print file)
  execute_process(COMMAND ${attnlab} ${ARGN} OUTPUT_FILE ${folder}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${folder})
foreach(subfolder man/man1 bash-completion/completions zsh/site-functions fish/vendor_completions.d)
  file(MAKE_DIRECTORY ${folder}/${subfolder})
endforeach()
print(bash-completion/completions/attnlab completion bash)
print(zsh/site-functions/_attnlab completion zsh)
print(fish/vendor_completions.d/attnlab.fish completion fish)
print(man/man1/attnlab.1 man)
execute_process(COMMAND ${attnlab} list --format tsv OUTPUT_VARIABLE table COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[^\t\n]*\t[a-z-]+\t" rows "${table}")  # all but the line of headings
foreach(row IN LISTS rows)
  string(REGEX REPLACE ".*\t([a-z-]+)\t" "\\1" command "${row}")
  print(man/man1/attnlab-${command}.1 man ${command})
endforeach()
