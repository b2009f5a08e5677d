"""Tests of house.py: `python3 -m unittest house_test` in this folder. Each rule finds an offender."""

import unittest

import house


def of(text: str, file: str = "core/a.h") -> house.Reader:
    return house.Reader(file, text)


def many(line: str, count: int) -> str:
    return "".join(line.format(i) + "\n" for i in range(count))


def told(files: dict[str, str], known: dict[tuple[str, str], int] | None = None) -> list[str]:
    return house.failures(house.figures(files), known or {})


class ReaderTest(unittest.TestCase):
    def test_counts_what_is_public(self):
        found = of(
            """
            // class A { void F(); };
            class FRESHET_CAPABILITY("a") A final : public B {
             public:
              explicit A(int a, std::function<void(int)> b = {}) : a_{a}, b_(std::move(b)) { Go(); }
              ~A() override;
              [[nodiscard]] std::vector<int> All() const FRESHET_EXCLUDES(mutex_);
              template <typename T> void Take(T t);
              bool operator<(const A& other) const = default;
              enum class Kind { kOne, kTwo };
              struct Part { int x = 0, y = 0; std::string name{"}"}; };
              using Made = std::function<A()>;
              friend void Swap(A& a, A& b);
             protected:
              void Hidden();
             private:
              static constexpr int kMost = 3;
              int a_;
              std::function<void(int)> b_ FRESHET_GUARDED_BY(mutex_);
              Mutex mutex_;
              const char brace_ = '{';
            };
            """
        ).classes
        self.assertEqual([(one.name, one.methods, one.fields) for one in found], [("A", 4, 4), ("A::Part", 0, 3)])

    def test_a_sentence_of_a_comment_names_its_subject(self):
        text = """// Of all pages, the newest.
// The page. What is
// left is
// removed.
int a = 0;  // Those that wait
// What is the price? It
// is what the page costs. That is all.
const char* b = "http://Of. That";
"""
        self.assertEqual(told({"core/a.cc": text}), ["core/a.cc: 4 " + house.WHAT["begins"] + ", at most 0"])

    def test_a_struct_is_public(self):
        self.assertEqual(of("struct A {\n  void F() { G(); }\n};\n").classes[0].methods, 1)

    def test_functions_have_lines_and_a_class(self):
        found = of(
            """namespace freshet {
Status A::B::Do(int x,
                int y) {
  const auto f = [&](int z) { return x + z; };
  if (x > 1'000) return R"(}})";
}
constexpr auto kTwice = [](int x) {
  return 2 * x;
};
int values[] = {1, 2};
A::A()
    : b_{1}, c_(2) {
  CHECK(b_ > 0);
}
void Free() {}
}  // namespace freshet
"""
        ).functions
        self.assertEqual([(one.scope, one.lines) for one in found], [("A::B", 5), ("A", 4), ("", 1)])

    def test_lines_of_a_class_are_those_of_all_files(self):
        body = "void A::F() {\n" + "  G();\n" * 8 + "}\n"
        found = house.figures({"core/x/a.h": "class A {\n  int G() { return 1; }\n};\n", "core/x/a.cc": body, "core/y/b.cc": body})
        self.assertEqual(found["lines", "core/x/a.h A"], 21)

    def test_classes_of_sources_are_not_those_of_headers(self):
        own = "namespace {\nclass A {\n  void F() {}\n};\n}\n"
        found = house.figures({"core/a.h": "class A {\n  int F();\n};\n", "core/b.cc": own})
        self.assertEqual((found["lines", "core/b.cc A"], found.get(("lines", "core/a.h A"))), (1, None))


class OffendersTest(unittest.TestCase):
    def test_too_many_methods(self):
        header = "class A {\n public:\n" + many("  void F{}();", 26) + "};\n"
        self.assertIn("core/a.h A: 26 public methods, at most 25", told({"core/a.h": "// A.\n" * 99 + header}))
        self.assertEqual(told({"lab/a.h": "// A.\n" * 99 + header.replace("  void F25();\n", "")}), [])

    def test_too_many_fields(self):
        header = "// A.\n" * 99 + "struct A {\n" + many("  int f{};", 41) + "};\n"
        self.assertEqual(told({"lab/a.h": header}), ["lab/a.h A: 41 fields, at most 40"])

    def test_a_class_that_is_too_long(self):
        files = {"lab/a.h": "// A.\n" * 2 + "class A {\n  int F();\n};\n"}
        for name in "bc":
            files[f"lab/{name}.cc"] = "int A::F() {\n" + "  G();\n" * 199 + "}\n"
        self.assertEqual(told(files), ["lab/a.h A: 402 lines of member functions, at most 400"])

    def test_includes_that_are_too_deep(self):
        files = {f"lab/{i}.h": f'// A.\n#include "lab/{i + 1}.h"\n' for i in range(13)} | {"lab/13.h": ""}
        self.assertEqual(told(files), ["lab: 13 headers deep, at most 12"])
        del files["lab/0.h"]
        self.assertEqual(told(files), [])

    def test_a_clock_by_any_name(self):
        source = "using Steady = std::chrono::steady_clock;\nvoid F() { G(Steady::now()); }  // Steady::now()\n"
        self.assertEqual(told({"storage/a.cc": source}), ["storage/a.cc: 1 reads of a clock, at most 0"])
        self.assertEqual(told({"lab/a.cc": source}), [])

    def test_too_few_asserts(self):
        function = "void F() {\n" + "  G();\n" * 9 + "}\n"
        asserts = "void F() {\n  CHECK(a);  // CHECK(b)\n" + "  G();\n" * 9 + "}\n"
        self.assertEqual(
            told({"core/a.cc": function + asserts}),
            ["core: 50 asserts in 100 functions of ten lines or more, at least 70"],
        )
        self.assertEqual(told({"core/a.cc": function + asserts * 3}), [])

    def test_too_little_comment(self):
        self.assertEqual(
            told({"server/a.h": "// A.\nint a;\nint b;\n\n"}), ["server: 33 lines of comment in 100 of the headers, at least 35"]
        )


class RatchetTest(unittest.TestCase):
    known = {("fields", "a.h A"): 50, ("asserts", "core"): 60}

    def test_numbers_only_improve(self):
        self.assertEqual(house.failures({("fields", "a.h A"): 50, ("asserts", "core"): 61}, self.known), [])
        self.assertEqual(
            house.failures({("fields", "a.h A"): 51, ("asserts", "core"): 59}, self.known),
            [
                "core: 59 asserts in 100 functions of ten lines or more, at least 70, 60 before",
                "a.h A: 51 fields, at most 40, 50 before",
            ],
        )

    def test_tightens(self):
        better = {("fields", "a.h A"): 45, ("asserts", "core"): 61}
        self.assertEqual(house.tightened(self.known, better), better)
        worse = {("fields", "a.h A"): 55, ("asserts", "core"): 51}
        self.assertEqual(house.tightened(self.known, worse), self.known)

    def test_what_keeps_its_limit_is_taken_out(self):
        kept = {("fields", "a.h A"): 40, ("asserts", "core"): 70}
        self.assertEqual(len(house.failures(kept, self.known)), 2)
        self.assertEqual(house.tightened(self.known, kept), {})

    def test_reads_what_it_writes(self):
        self.assertEqual(house.read_limits(house.written(self.known)), self.known)


if __name__ == "__main__":
    unittest.main()
