// Writes the corpus, one text a line, for node_urls.mjs.
#include <cstdio>

#include "tests/url/corpus.h"

int main() {
  for (const std::string& text : freshet::UrlCorpus()) std::printf("%s\n", text.c_str());
}
