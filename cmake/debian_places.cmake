# Run by cpack on the files that it is about to pack: Debian compresses manual pages, and its zsh looks elsewhere.
file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man1/*.1)
execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB zsh ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/zsh)
file(RENAME ${zsh}/site-functions ${zsh}/vendor-completions)
