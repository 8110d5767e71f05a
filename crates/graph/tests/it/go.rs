//! Rules of Go.

use super::{check_file, check_resolved};

const SERVER: &str = "package server

import (
\t\"fmt\"
\tother \"example.org/app/internal/links\"
\t. \"example.org/app/tools\"
\t\"github.com/else/app/server\"
)

type Handler func(name string) *Server
type Pool []*Server
type Base struct{ link *other.Link }
type Server struct {
\tBase
\tpeers map[string]*Server
\tnext  Closer
}
type Closer interface{ Close() error }

func (b *Base) Stop() {}
func (s *Server) Close() error { s.Stop(); s.link.Send(); return nil }
func (s Base) Close() error     { return nil }
func open(name string) (*Server, error) { return nil, nil }

func run(s *Server, pool Pool) {
\ts.Close()
\ts.next.Close()
\tBase{}.Close()
\tmade, err := open(\"a\")
\tmade.Stop()
\terr.Error()
\tfor _, each := range pool { each.Stop() }
\tpool[0].Close()
\ts.peers[\"b\"].Close()
\tswitch kind := s.next.(type) {
\tcase *Base:
\t\tkind.Stop()
\tcase *Server:
\t\tkind.Close()
\t}
\ttests := []struct{ name string }{{name: \"c\"}}
\tfmt.Println(tests[0].name)
\tfor open := range pool { print(open) }
\tserver.Run()
\tUseful()
\tshared()
\tother.New().Send()
\tnew(Server).Stop()
}
";

fn list_files() -> Vec<(&'static str, &'static str)> {
    vec![
        ("go.mod", "module example.org/app\n\ngo 1.22\n"),
        ("server/server.go", SERVER),
        ("server/more.go", "package server\nfunc shared() {}\nfunc helper() {}\n"),
        ("server/more_test.go", "package server_test\nfunc shared() { helper() }\n"),
        ("server/links/a.go", "package links\nfunc New() {}\n"),
        (
            "internal/links/a.go",
            "package links\ntype Link struct{}\nfunc (l *Link) Send() {}\nfunc New() *Link { return &Link{} }\n",
        ),
        ("tools/a.go", "package tools\nfunc Useful() {}\n"),
    ]
}

#[test]
fn methods_are_found_by_receiver_field_result_and_embedded_type() {
    check_resolved(
        &list_files(),
        &[
            ("server/server.go", "{ s.Stop", "server/server.go:20 Stop (Receiver)"),
            ("server/server.go", "s.link.Send", "internal/links/a.go:3 Send (Field)"),
            ("server/server.go", "\ts.Close", "server/server.go:21 Close (Receiver)"),
            ("server/server.go", "s.next.Close", "server/server.go:18 Close (Field)"),
            ("server/server.go", "Base{}.Close", "server/server.go:22 Close (Own)"),
            ("server/server.go", "made.Stop", "server/server.go:20 Stop (Result)"),
            ("server/server.go", "err.Error", "External"),
            ("server/server.go", "{ each.Stop", "server/server.go:20 Stop (Receiver)"),
            ("server/server.go", "pool[0].Close", "server/server.go:21 Close (Receiver)"),
            ("server/server.go", "s.peers[\"b\"].Close", "server/server.go:21 Close (Field)"),
            ("server/server.go", "kind.Stop", "server/server.go:20 Stop (Receiver)"),
            ("server/server.go", "kind.Close", "server/server.go:21 Close (Receiver)"),
            ("server/server.go", "tests[0].name", "server/server.go:41 name (Receiver)"),
            ("server/server.go", "new(Server).Stop", "server/server.go:20 Stop (Own)"),
        ],
    );
}

#[test]
fn packages_are_folders_below_the_module() {
    check_resolved(
        &list_files(),
        &[
            ("server/server.go", "print(open", "Local"),
            ("server/server.go", "server.Run", "External"),
            ("server/server.go", "\tUseful", "tools/a.go:2 Useful (ModuleMember)"),
            ("server/server.go", "\tshared", "server/more.go:2 shared (Scope)"),
            ("server/server.go", "other.New", "internal/links/a.go:4 New (ModuleMember)"),
            ("server/server.go", "other.New().Send", "internal/links/a.go:3 Send (Result)"),
            ("server/server.go", "*other.Link", "internal/links/a.go:2 Link (ModuleMember)"),
            ("server/more_test.go", "{ helper", "External"),
        ],
    );
}

#[test]
fn the_folder_of_a_package_is_guessed_without_a_manifest() {
    let main = "package main\nimport (\n\t\"github.com/a/b/links/deep\"\n\t\"encoding/json\"\n)\nfunc main() { deep.Run(); json.Run() }\n";
    check_resolved(
        &[
            ("main.go", main),
            ("links/deep/a.go", "package deep\nfunc Run() {}\n"),
            ("json/a.go", "package json\nfunc Run() {}\n"),
        ],
        &[
            ("main.go", "deep.Run", "links/deep/a.go:2 Run (ModuleMember)"),
            ("main.go", "json.Run", "External"),
        ],
    );
}

#[test]
fn type_parameters_hide_types_of_the_same_name() {
    let text = "package a\ntype T struct{}\ntype List[T any] struct { item T }\nfunc first[K Closer](k K) K { k.Close(); return k }\ntype Closer interface { Close() }\n";
    check_file(
        "a.go",
        text,
        &[("item T", "Local"), ("k.Close", "a.go:5 Close (Receiver)"), ("(k K", "Local")],
    );
}

#[test]
fn a_type_with_all_methods_of_an_interface_implements_it() {
    let files = [
        (
            "a/a.go",
            "package a\ntype Reader interface { Read(to []byte) int }\ntype ReadCloser interface {\n\tReader\n\tClose()\n}\n",
        ),
        (
            "a/b.go",
            "package a\ntype Base struct{}\nfunc (b *Base) Read(to []byte) int { return 0 }\ntype File struct{ Base }\nfunc (f *File) Close() {}\ntype Other struct{}\nfunc (o Other) Read() int { return 0 }\nfunc (o Other) Close() {}\n",
        ),
    ];
    let graph = super::ResolvedFiles::new(&files).graph;
    let (declaring, file) =
        (graph.find_file("a/a.go").unwrap(), graph.find_file("a/b.go").unwrap());
    let list = |interface: &str| {
        let interface = graph.find_definitions(declaring, interface)[0];
        let types = graph.list_implementing_types(file, interface);
        types.iter().map(|id| graph.definition(*id).unwrap().name.clone()).collect::<Vec<_>>()
    };
    // `Read` of `Other` has no parameter.
    assert_eq!(list("Reader"), ["Base", "File"]);
    assert_eq!(list("ReadCloser"), ["File"]);
    let concrete = graph.find_definitions(file, "Base")[0];
    assert!(graph.list_implementing_types(file, concrete).is_empty());
}
