#include "lab/sim/tsv.h"

#include <sstream>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(Tsv, ParsesNumbers) {
  EXPECT_EQ(ParseNumber("-1.5e3").value(), -1500);
  EXPECT_EQ(ParseInteger("-12").value(), -12);
  EXPECT_EQ(ParseNonNegative("0").value(), 0);
  for (const char* text : {"", " 1", "1 ", "1e", "--1", "nan", "inf", "-inf", "1e999", "0x10"}) {
    EXPECT_FALSE(ParseNumber(text).ok()) << text;
    EXPECT_FALSE(ParseInteger(text).ok()) << text;
  }
  EXPECT_FALSE(ParseInteger("1.0").ok());
  EXPECT_FALSE(ParseInteger("9223372036854775808").ok());
  EXPECT_FALSE(ParseNonNegative("-1e-300").ok());
}

TEST(Tsv, ParsesLists) {
  EXPECT_EQ(ParseNonNegativeList("1,2.5,0").value(), (std::vector<double>{1, 2.5, 0}));
  EXPECT_TRUE(ParseNonNegativeList("").value().empty());
  EXPECT_FALSE(ParseNonNegativeList("1,,2").ok());
  EXPECT_FALSE(ParseNonNegativeList("1,-2").ok());
  EXPECT_EQ(Split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
}

TEST(Tsv, FindsColumnsByName) {
  std::istringstream input("x\tid\trate\r\n\nq\ta\t1.5\r\nq\tb\t\n");
  StatusOr<TsvReader> table = TsvReader::Open(input, {"rate", "id"});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->header(), "x\tid\trate");
  ASSERT_TRUE(table->Next().value());
  EXPECT_EQ(table->NonNegative(0).value(), 1.5);
  EXPECT_EQ(table->Text(1), "a");
  EXPECT_EQ(table->line(), "q\ta\t1.5");
  ASSERT_TRUE(table->Next().value());
  EXPECT_EQ(table->row(), 2u);
  EXPECT_EQ(table->Number(0).status().message(), "row 2 (line 4): rate: '' is not a number");
  EXPECT_TRUE(table->NonNegativeList(0).value().empty());
  EXPECT_FALSE(table->Next().value());
}

TEST(Tsv, ColumnsMayBeMissingIfTheyAreOptional) {
  std::istringstream input("b\ta\n2\t1\n");
  StatusOr<TsvReader> table = TsvReader::Open(input, {"a"}, {"c", "b"});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(table->Has(0));
  EXPECT_FALSE(table->Has(1));
  EXPECT_TRUE(table->Has(2));
  ASSERT_TRUE(table->Next().value());
  EXPECT_EQ(table->Text(0), "1");
  EXPECT_EQ(table->Text(2), "2");
  std::istringstream twice("b\ta\tb\n");
  EXPECT_FALSE(TsvReader::Open(twice, {"a"}, {"b"}).ok());
}

TEST(Tsv, RowsHaveTheWidthOfTheHeader) {
  for (const char* row : {"1", "1\t2\t3"}) {
    std::istringstream input(std::string("a\tb\n") + row);
    StatusOr<TsvReader> table = TsvReader::Open(input, {"a"});
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->Next().status().code(), absl::StatusCode::kInvalidArgument) << row;
  }
}

}  // namespace
}  // namespace freshet
