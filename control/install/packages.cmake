# Debian packages, by `cmake --workflow --preset package`: causeway, libcauseway0, causeway-dev,
# causeway-doc. CW_REVISION tells apart packages of one version; those of the distribution's own
# begin with 1, so that ours give way to them. The program of the emulated DPA is in none: it is
# another processor's, and for those who have this tree.
set(CW_REVISION 0causeway1 CACHE STRING "revision of Debian packages")

# cw_papers(COMPONENT PACKAGE): what Debian wants of each package.
function(cw_papers component package)
  set(here ${CMAKE_CURRENT_SOURCE_DIR}/debian)
  set(folder ${CMAKE_INSTALL_DATADIR}/doc/${package})
  set(changelog ${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian)
  configure_file(${here}/changelog ${changelog} COPYONLY)
  execute_process(COMMAND gzip -9nkf ${changelog} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${here}/copyright ${changelog}.gz DESTINATION ${folder}
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(EXISTS ${here}/${package}.lintian-overrides)
    install(FILES ${here}/${package}.lintian-overrides RENAME ${package}
      DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
      COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
endfunction()
cw_papers(programs causeway)
cw_papers(library libcauseway0)
cw_papers(dev causeway-dev)
cw_papers(doc causeway-doc)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME causeway)
set(CPACK_PACKAGE_CONTACT "Causeway developers <developers@causeway.example.org>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL programs library sdk_headers dev doc)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${CW_REVISION})
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(version "(= ${PROJECT_VERSION}-${CW_REVISION})")

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME causeway)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS
  "systemd | systemd-standalone-sysusers, systemd | systemd-standalone-tmpfiles")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "iproute2, librte-mempool-ring23")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "causeway-doc, librte-meta-net, wireshark")
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION "gateway for RDMA between datacenters
A gateway at each site carries RoCEv2, and any other IP traffic, across a link
that is long, shared and lossy. What the link loses is repaired by a policy,
chosen for each class of packets and replaceable while traffic flows; what
crosses is sealed.
.
With it come the programs that ask and change a gateway, write the files of all
sites from one, make keys, measure, simulate, and make a link as bad as you
like.")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_SOURCE_DIR}/debian/postinst ${CMAKE_CURRENT_SOURCE_DIR}/debian/prerm
  ${CMAKE_CURRENT_SOURCE_DIR}/debian/postrm ${CMAKE_CURRENT_SOURCE_DIR}/debian/conffiles)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libcauseway0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_SOURCE_DIR}/debian/shlibs ${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "RDMA between datacenters - shared library
Programs that link it write to another site's memory over a lossy link and see
what has arrived as bits, or work in groups: broadcast, allgather, messages
between any two members.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME causeway-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libcauseway0 ${version}")
set(CPACK_DEBIAN_DEV_DESCRIPTION "RDMA between datacenters - development files
Headers of libcauseway, and those that a reliability policy or an erasure code
of one's own is built against, which is loaded by the gateway as a file.")

set(CPACK_DEBIAN_DOC_PACKAGE_NAME causeway-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOC_DESCRIPTION "gateway for RDMA between datacenters - documents
How it works and why it is as it is, what two gateways say to each other bit by
bit, how to use each program, and what was measured.")

include(CPack)
cpack_add_component_group(programs)
cpack_add_component_group(library)
cpack_add_component_group(dev)
cpack_add_component_group(doc)
cpack_add_component(programs GROUP programs)
cpack_add_component(library GROUP library)
cpack_add_component(sdk_headers GROUP dev)
cpack_add_component(dev GROUP dev)
cpack_add_component(doc GROUP doc)
