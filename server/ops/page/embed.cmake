# cmake -DDIR=server/ops/page -DOUT=ops_page.cc -P embed.cmake: makes a source of the operator page, one document with
# its style and its script in it.
cmake_minimum_required(VERSION 3.20)
file(READ ${DIR}/page.html page)
foreach(part css js)
  file(READ ${DIR}/page.${part} text)
  string(TOUPPER "@PAGE_${part}@" mark)
  string(FIND "${page}" "${mark}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "page.html has no ${mark}")
  endif()
  string(REPLACE "${mark}" "${text}" page "${page}")
endforeach()
string(FIND "${page}" ")page\"" at)
if(NOT at EQUAL -1)
  message(FATAL_ERROR "the page holds what ends the literal: )page\"")
endif()
file(WRITE ${OUT} "// Made of server/ops/page by embed.cmake.
#include \"server/ops/ops_page.h\"

namespace freshet {

std::string_view OpsPage() {
  static constexpr std::string_view kPage = R\"page(${page})page\";
  return kPage;
}

}  // namespace freshet
")
