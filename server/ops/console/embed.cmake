# cmake -DDIR=server/ops/console -DCHART=/usr/share/javascript/chart.js/chart.min.js -DOUT=console_files.cc -P embed.cmake:
# makes a source of the files of the console.
cmake_minimum_required(VERSION 3.20)
# embed(NAME FILE TYPE): one more entry.
function(embed name file type)
  file(READ ${file} text)
  string(FIND "${text}" ")console\"" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${file} holds what ends the literal: )console\"")
  endif()
  set(entries "${entries}    {\"${name}\", \"${type}\", R\"console(${text})console\"},\n" PARENT_SCOPE)
endfunction()
set(entries "")
embed("" ${DIR}/index.html "text/html; charset=utf-8")
file(GLOB files RELATIVE ${DIR} ${DIR}/*.css ${DIR}/*.js ${DIR}/*.svg)
foreach(file IN LISTS files)
  get_filename_component(kind ${file} LAST_EXT)
  set(type_.css "text/css; charset=utf-8")
  set(type_.js "text/javascript; charset=utf-8")
  set(type_.svg "image/svg+xml")
  embed(${file} ${DIR}/${file} ${type_${kind}})
endforeach()
embed(chart.min.js ${CHART} ${type_.js})
file(WRITE ${OUT} "// Made of server/ops/console by embed.cmake.
#include \"server/ops/console_files.h\"

namespace freshet {

std::span<const ConsoleFile> ConsoleFiles() {
  static constexpr ConsoleFile kFiles[] = {
${entries}  };
  return kFiles;
}

}  // namespace freshet
")
