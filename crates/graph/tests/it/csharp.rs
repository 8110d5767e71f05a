//! Rules of C#.

use super::{check_file, check_resolved};

const MAIN: &str = "using System;
using App.Data;
using Tool = App.Tools.Wrench;
namespace App.Main;

public partial class Service<T> : Base where T : Link
{
    private readonly Link _link = new();
    public List<Link> Links { get; set; }
    T item;
    public Service(Link link) { _link = link; }
    void Add(int one) { }
    void Add(int one, string two) { }
    void Run(Link first, object any)
    {
        _link.Send();
        this._link.Send();
        Stop();
        base.Stop();
        Add(1);
        Add(1, \"a\");
        foreach (var each in Links) { each.Send(); }
        Links[0].Send();
        Links.First().Send();
        item.Send();
        first?.Send();
        first?.Next.Send();
        if (any is Link found) { found.Send(); }
        Tool.Turn();
        Helper();
        Fetch().Result.Foo();
        var made = new Link { Next = first };
        made.Next.Send();
        Get<Link>().Send();
        Neighbour.Go();
        Global.Go();
        Console.WriteLine(Color.Red);
        Other.Hide();
        ((Link)any).Send();
        Lookup.TryGet(1, out Link got);
        got.Send();
    }
    TValue Get<TValue>() { return default; }
}
enum Color { Red }
";

#[test]
fn members_and_types_are_found_by_declared_types_and_namespaces() {
    let files = [
        ("src/Main.cs", MAIN),
        (
            "src/More.cs",
            "namespace App.Main { public partial class Service<T> { void Helper() { Run(null, null); } } class Base { protected void Stop() {} } }\n",
        ),
        (
            "src/Data/Link.cs",
            "namespace App.Data { public class Link { public Link Next { get; } public void Send() {} } }\n",
        ),
        (
            "src/Tools.cs",
            "namespace App.Tools { public static class Wrench { public static void Turn() {} } }\n",
        ),
        (
            "src/Neighbour.cs",
            "namespace App { static class Neighbour { public static void Go() {} } }\n",
        ),
        ("src/Usings.cs", "global using App.Everywhere;\n"),
        (
            "src/Everywhere.cs",
            "namespace App.Everywhere { static class Global { public static void Go() {} } }\n",
        ),
        ("src/Other.cs", "namespace App.Other { class Other { public static void Hide() {} } }\n"),
    ];
    check_resolved(
        &files,
        &[
            ("src/Main.cs", "        _link.Send", "src/Data/Link.cs:1 Send (Field)"),
            ("src/Main.cs", "this._link.Send", "src/Data/Link.cs:1 Send (Field)"),
            ("src/Main.cs", "        Stop", "src/More.cs:1 Stop (Own)"),
            ("src/Main.cs", "base.Stop", "src/More.cs:1 Stop (Own)"),
            ("src/Main.cs", "        Add", "src/Main.cs:12 Add (Scope)"),
            ("src/Main.cs", "Add(1);\n        Add", "src/Main.cs:13 Add (Scope)"),
            ("src/Main.cs", "each.Send", "src/Data/Link.cs:1 Send (Field)"),
            ("src/Main.cs", "Links[0].Send", "src/Data/Link.cs:1 Send (Field)"),
            ("src/Main.cs", "Links.First().Send", "src/Data/Link.cs:1 Send (Field)"),
            ("src/Main.cs", "item.Send", "src/Data/Link.cs:1 Send (Field)"),
            ("src/Main.cs", "first?.Send", "src/Data/Link.cs:1 Send (Receiver)"),
            ("src/Main.cs", "first?.Next.Send", "src/Data/Link.cs:1 Send (Field)"),
            ("src/Main.cs", "found.Send", "src/Data/Link.cs:1 Send (Receiver)"),
            ("src/Main.cs", "Tool.Turn", "src/Tools.cs:1 Turn (Own)"),
            ("src/Main.cs", "        Helper", "src/More.cs:1 Helper (Own)"),
            ("src/More.cs", "{ Run", "src/Main.cs:14 Run (Own)"),
            ("src/Main.cs", "new Link { Next", "src/Data/Link.cs:1 Next (Own)"),
            ("src/Main.cs", "made.Next.Send", "src/Data/Link.cs:1 Send (Field)"),
            ("src/Main.cs", "        Neighbour", "src/Neighbour.cs:1 Neighbour (Scope)"),
            ("src/Main.cs", "        Global", "src/Everywhere.cs:1 Global (Scope)"),
            ("src/Main.cs", "Color.Red", "src/Main.cs:45 Red (Own)"),
            ("src/Main.cs", "        Other", "External"),
            ("src/Main.cs", "(Link)any).Send", "src/Data/Link.cs:1 Send (Own)"),
            ("src/Main.cs", "got.Send", "src/Data/Link.cs:1 Send (Receiver)"),
            ("src/Main.cs", "Console.WriteLine", "External"),
        ],
    );
}

#[test]
fn a_value_that_is_not_null_has_its_type() {
    let text = "class A {\n  void Go(A? a) { a!.Go(null); }\n}\n";
    check_file("A.cs", text, &[("a!.Go", "A.cs:2 Go (Receiver)")]);
}
