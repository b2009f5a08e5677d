# Installs files, and makes Debian packages with CPack: freshet-server has the daemon, its unit and its configuration,
# freshet-client what people and scripts use. `./dev packages` builds both.
include(GNUInstallDirs)
set(FRESHET_PACKAGER "Freshet maintainers <freshet@packages.example>" CACHE STRING "Name and address in packages")

install(TARGETS freshetd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
install(TARGETS freshet RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT client)
install(FILES deploy/freshet.service DESTINATION lib/systemd/system COMPONENT server)
# The place where administrators look, whatever the prefix.
install(FILES deploy/debian/freshet.yaml DESTINATION /etc/freshet COMPONENT server)
install(FILES deploy/freshet.example.yaml DESTINATION share/doc/freshet-server/examples COMPONENT server)
install(FILES deploy/freshet-sitemap.service deploy/freshet-sitemap.env
  DESTINATION share/doc/freshet-client/examples COMPONENT client)

# service: only the service (./dev build service). freshet_shipped: everything in packages, for which it must be built;
# includes the simulator, with which people plan.
add_custom_target(service DEPENDS freshetd freshet)
add_custom_target(freshet_shipped DEPENDS service)
if(TARGET freshet_completions)
  add_dependencies(service freshet_completions freshet_man_page freshetd_man_page)
endif()
if(FRESHET_LAB)
  install(TARGETS freshet-sim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT client)
  add_dependencies(freshet_shipped freshet-sim)
  if(TARGET freshet-sim_man_page)
    add_dependencies(freshet_shipped freshet-sim_man_page)
  endif()
endif()

# The time of generated files, so that the same sources make the same packages.
set(epoch $ENV{SOURCE_DATE_EPOCH})
if(NOT epoch)
  execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} log -1 --format=%ct
    OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT epoch)
  string(TIMESTAMP epoch %s UTC)
endif()
set(documents ${PROJECT_BINARY_DIR}/packages)
file(MAKE_DIRECTORY ${documents})
execute_process(COMMAND date --utc --rfc-email "--date=@${epoch}" OUTPUT_VARIABLE date
  OUTPUT_STRIP_TRAILING_WHITESPACE)
configure_file(deploy/debian/changelog.in ${documents}/changelog @ONLY)
configure_file(CHANGELOG.md ${documents}/CHANGELOG.md COPYONLY)
execute_process(COMMAND gzip -9nkf ${documents}/changelog ${documents}/CHANGELOG.md COMMAND_ERROR_IS_FATAL ANY)
foreach(component server client)
  install(FILES deploy/debian/copyright ${documents}/changelog.gz ${documents}/CHANGELOG.md.gz
    DESTINATION share/doc/freshet-${component} COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME freshet)
set(CPACK_PACKAGE_CONTACT "${FRESHET_PACKAGER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL server client)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/PackageTimes.cmake)
set(CPACK_FRESHET_EPOCH ${epoch})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# Packages depend on the libraries that their programs link.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SECTION net)

set(CPACK_DEBIAN_SERVER_PACKAGE_NAME freshet-server)
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS freshet-client)
set(CPACK_COMPONENT_SERVER_DESCRIPTION "recrawl scheduler: which page to fetch next
Freshet decides which known URL a crawler should fetch again next. It learns
how often each page changes and how far each source of change signals can be
trusted, and hands out the page whose crawl is worth most, at a constant rate,
to any number of fetch workers over gRPC.

This package has the server. It listens on the loopback address alone until it
is configured otherwise.")
foreach(script postinst prerm postrm conffiles)
  configure_file(deploy/debian/server.${script} ${documents}/server/${script} COPYONLY)
  list(APPEND CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA ${documents}/server/${script})
endforeach()

set(CPACK_DEBIAN_CLIENT_PACKAGE_NAME freshet-client)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SUGGESTS freshet-server)
set(CPACK_COMPONENT_CLIENT_DESCRIPTION "command line and simulator of the Freshet recrawl scheduler
Freshet decides which known URL a crawler should fetch again next.

This package has freshet, which adds and explains pages, takes assignments,
reports results and operates a server, with completion for bash and zsh; and
freshet-sim, which says what a crawl rate would buy on one's own pages.")
include(CPack)
