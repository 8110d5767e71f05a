//! Rules of C++.

use super::check_resolved;

const MAIN: &str = "#include \"store.h\"
#include <vector>

namespace app {
using tools::turn;
struct Own { int value; };

Store::Store(int size) : size_(size) {}
int Store::Count() const { Reset(); return size_ + base_; }

void Run(std::vector<Store> list, std::shared_ptr<Store> shared, Store* raw) {
  Store one(1);
  one.Count();
  raw->Count();
  shared->Count();
  list[0].Count();
  for (const auto& each : list) { each.Count(); }
  auto made = std::make_unique<Store>(2);
  made->Count();
  auto* fresh = new Store(3);
  fresh->Reset();
  app::Helper(1);
  Helper(1, 2);
  tools::turn();
  turn();
  Store::Make().Count();
  static_cast<Own*>(raw)->value;
  std::move(one);
  Color c = Color::kRed;
  use(kLow);
  auto call = [](Store& inner) { inner.Count(); };
}
}
";

#[test]
fn members_are_found_in_classes_bases_and_definitions_outside_of_them() {
    let files = [
        ("src/main.cc", MAIN),
        (
            "src/store.h",
            "#include \"tools.h\"\nnamespace app {\nclass Base { protected: int base_; public: void Reset() {} };\nclass Store : public Base {\n public:\n  Store(int size);\n  int Count() const;\n  static Store Make();\n private:\n  int size_;\n};\nvoid Helper(int a);\nvoid Helper(int a, int b);\nenum class Color { kRed };\nenum Level { kLow };\n}\n",
        ),
        (
            "src/store.cc",
            "#include \"store.h\"\nnamespace app {\nStore Store::Make() { return Store(1); }\n}\n",
        ),
        ("src/tools.h", "namespace tools { void turn(); }\n#include \"store.h\"\n"),
        ("src/tools.cc", "#include \"tools.h\"\nnamespace tools { void turn() {} }\n"),
    ];
    let count = |rule: &str| format!("src/main.cc:9 Count ({rule})");
    check_resolved(
        &files,
        &[
            ("src/main.cc", "one.Count", &count("Receiver")),
            ("src/main.cc", "raw->Count", &count("Receiver")),
            ("src/main.cc", "shared->Count", &count("Receiver")),
            ("src/main.cc", "list[0].Count", &count("Receiver")),
            ("src/main.cc", "{ each.Count", &count("Receiver")),
            ("src/main.cc", "made->Count", &count("Receiver")),
            ("src/main.cc", "inner.Count", &count("Receiver")),
            ("src/main.cc", "fresh->Reset", "src/store.h:3 Reset (Receiver)"),
            ("src/main.cc", "{ Reset", "src/store.h:3 Reset (Own)"),
            ("src/main.cc", "return size_", "src/store.h:10 size_ (Own)"),
            ("src/main.cc", "+ base_", "src/store.h:3 base_ (Own)"),
            ("src/main.cc", "app::Helper", "src/store.h:12 Helper (ModuleMember)"),
            ("src/main.cc", "tools::turn();\n  turn", "src/tools.cc:2 turn (ModuleMember)"),
            ("src/main.cc", "Make().Count", &count("Result")),
            ("src/main.cc", "(raw)->value", "src/main.cc:6 value (Own)"),
            ("src/main.cc", "std::move", "External"),
            ("src/main.cc", "Color::kRed", "src/store.h:14 kRed (Own)"),
            ("src/main.cc", "use(kLow", "src/store.h:15 kLow (Import)"),
        ],
    );
}
