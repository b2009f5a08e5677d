// Writes the corpus for node_urls.mjs, with one text in each line.
#include <cstdio>

#include "tests/url/corpus.h"

int main() {
  for (const std::string& text : freshet::UrlCorpus()) std::printf("%s\n", text.c_str());
}
