//! Rules of Java.

use super::check_resolved;

const MAIN: &str = "package org.app;

import java.util.List;
import org.app.data.Link;
import org.app.data.Store.Entry;
import org.app.tools.*;
import static org.app.tools.Checks.verify;
import static org.app.data.Store.*;

public class Main<T extends Link> extends Base implements Runner {
  private final Link link;
  private int size;
  static Main make() { return new Main(null); }
  Main(Link link) { this.link = link; }
  int size() { return size; }
  void add(int a) { }
  void add(int a, String b) { }
  void run(List<Link> links, T first, String name) {
    link.send();
    this.link.send();
    stop();
    super.stop();
    add(1);
    add(size(), \"a\");
    for (Link each : links) { each.send(); }
    for (var other : links) { other.send(); }
    links.get(0).send();
    first.send();
    make().stop();
    verify(name);
    name(name);
    open(); LIMIT.send();
    new Entry().read();
    Neighbour.go();
    Checks.check();
    name.length();
    size().toString();
    Object any = link;
    if (any instanceof Link found) { found.send(); }
    var made = Main.make();
    made.stop();
    Point point = new Point(1, 2);
    point.x();
    Color.RED.paint();
    new Base() { void stop() { other(); Main.this.add(1); } }.stop();
    Runnable later = this::size;
    String.valueOf(1);
    getClass();
  }
  String name(String name) { return name; }
  record Point(int x, int y) { int sum() { return x + y(); } }
  enum Color { RED; void paint() {} }
}
";

fn list_files() -> Vec<(&'static str, &'static str)> {
    vec![
        ("src/main/java/org/app/Main.java", MAIN),
        (
            "src/main/java/org/app/Base.java",
            "package org.app;\nclass Base { void stop() {} void other() {} }\ninterface Runner { }\n",
        ),
        (
            "src/test/java/org/app/Neighbour.java",
            "package org.app;\nclass Neighbour { static void go() {} }\n",
        ),
        (
            "src/main/java/org/app/data/Link.java",
            "package org.app.data;\npublic class Link { public void send() {} }\n",
        ),
        (
            "src/main/java/org/app/data/Store.java",
            "package org.app.data;\npublic class Store {\n  public static final Link LIMIT = null;\n  public static void open() {}\n  public static class Entry { public void read() {} }\n}\n",
        ),
        (
            "src/main/java/org/app/tools/Checks.java",
            "package org.app.tools;\npublic class Checks { public static void verify(String a) {} public static void check() {} }\n",
        ),
        ("src/main/java/org/els/app/Neighbour.java", "package org.els.app;\nclass Neighbour {}\n"),
        ("src/main/java/org/els/List.java", "package org.els;\npublic class List {}\n"),
    ]
}

/// Checks references of `Main`, each given as marked text and result.
#[track_caller]
fn check_main(expected: &[(&str, &str)]) {
    let path = "src/main/java/org/app/Main.java";
    let expected: Vec<_> = expected
        .iter()
        .map(|(marked, result)| match result.strip_prefix("app/") {
            Some(rest) => (path, *marked, format!("src/main/java/org/app/{rest}")),
            None => (path, *marked, (*result).to_owned()),
        })
        .collect();
    let expected: Vec<_> =
        expected.iter().map(|(path, marked, result)| (*path, *marked, result.as_str())).collect();
    check_resolved(&list_files(), &expected);
}

#[test]
fn types_are_found_by_package_import_and_star() {
    check_main(&[
        ("extends Base", "app/Base.java:2 Base (Scope)"),
        ("(List", "External"),
        ("    Neighbour", "src/test/java/org/app/Neighbour.java:2 Neighbour (Scope)"),
        ("    Checks", "app/tools/Checks.java:2 Checks (ModuleMember)"),
        ("private final Link", "app/data/Link.java:2 Link (Import)"),
        ("new Entry", "app/data/Store.java:5 Entry (Own)"),
    ]);
}

#[test]
fn members_are_found_by_declared_types_and_without_a_receiver() {
    check_main(&[
        ("    link.send", "app/data/Link.java:2 send (Field)"),
        ("this.link.send", "app/data/Link.java:2 send (Field)"),
        ("    stop", "app/Base.java:2 stop (Own)"),
        ("super.stop", "app/Base.java:2 stop (Own)"),
        ("{ each.send", "app/data/Link.java:2 send (Receiver)"),
        ("{ other.send", "app/data/Link.java:2 send (Receiver)"),
        ("links.get(0).send", "app/data/Link.java:2 send (Receiver)"),
        ("first.send", "app/data/Link.java:2 send (Receiver)"),
        ("make().stop", "app/Base.java:2 stop (Result)"),
        ("found.send", "app/data/Link.java:2 send (Receiver)"),
        ("made.stop", "app/Base.java:2 stop (Result)"),
        ("Color.RED.paint", "app/Main.java:52 paint (Field)"),
        ("void stop() { other", "app/Base.java:2 other (Own)"),
        ("Main.this.add", "app/Main.java:16 add (Own)"),
        ("name.length", "External"),
        ("getClass", "External"),
        ("String.valueOf", "External"),
    ]);
}

#[test]
fn methods_fields_and_overloads_of_one_name_are_distinguished() {
    check_main(&[
        ("return size", "app/Main.java:12 size (Scope)"),
        ("add(size", "app/Main.java:15 size (Scope)"),
        ("    add", "app/Main.java:16 add (Scope)"),
        ("    add(1);\n    add", "app/Main.java:17 add (Scope)"),
        ("    name", "app/Main.java:50 name (Scope)"),
        ("name(name", "Local"),
        ("point.x", "app/Main.java:51 x (Receiver)"),
        ("x + y", "app/Main.java:51 y (Scope)"),
    ]);
}

#[test]
fn static_imports_lead_to_methods_and_fields() {
    check_main(&[
        ("    verify", "app/tools/Checks.java:2 verify (Own)"),
        ("    open", "app/data/Store.java:4 open (Own)"),
        ("LIMIT.send", "app/data/Link.java:2 send (Field)"),
    ]);
}
