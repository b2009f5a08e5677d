#include "server/base/background.h"

#include <future>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

TEST(Background, ClientsTakeTurnsHoweverMuchOneHasPosted) {
  Background background;
  std::promise<void> begin;
  std::string done;
  std::promise<void> held;
  background.Post([&held, begun = begin.get_future().share()] {
    held.set_value();
    begun.wait();
  });
  held.get_future().wait();
  for (int i = 0; i < 5; ++i) background.Post("a", [&done] { done += 'a'; });
  background.Post("b", [&done] { done += 'b'; });
  // Like a long list, this task posts its next part when it ends.
  background.Post("c", [&] {
    done += 'c';
    background.Post("c", [&done] { done += 'C'; });
  });
  EXPECT_EQ(background.waiting(), 7U);
  begin.set_value();
  WaitUntil([&] { return background.waiting() == 0; });
  background.Stop();
  EXPECT_EQ(done, "abcaCaaa");
  EXPECT_FALSE(background.Post([] {}));
}

TEST(Background, DoesWhatWasPostedBeforeItStops) {
  int done = 0;
  {
    Background background;
    for (int i = 0; i < 100; ++i) background.Post(std::to_string(i % 3), [&done] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace freshet
