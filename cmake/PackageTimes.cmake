# Before CPack archives the installed files: gives them no later time than the sources.
execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -newermt "@${CPACK_FRESHET_EPOCH}"
    -exec touch --no-dereference "--date=@${CPACK_FRESHET_EPOCH}" {} +
  COMMAND_ERROR_IS_FATAL ANY)
