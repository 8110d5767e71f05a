//! Results of methods of containers in languages with declared types.

use super::value::ExpressionValue;
use codeinfo_facts::ModuleSystem;

/// Types of Rust that give the members of their first argument.
const RUST_POINTERS: [&str; 18] = [
    "Arc", "Box", "Cell", "Cow", "LazyLock", "ManuallyDrop", "Mutex", "MutexGuard", "NonNull",
    "OnceCell", "OnceLock", "Pin", "Rc", "Ref", "RefCell", "RefMut", "RwLock", "Weak",
];

/// Types of C++ that give the members of their first argument.
const CPP_POINTERS: [&str; 6] =
    ["atomic", "optional", "reference_wrapper", "shared_ptr", "unique_ptr", "weak_ptr"];

/// Methods of Rust that give the value they are called on, if its type has none of that name.
const SAME_VALUE: [&str; 18] = [
    "as_deref", "as_mut", "as_ref", "borrow", "borrow_mut", "by_ref", "clone", "cloned", "deref",
    "deref_mut", "expect", "get_mut", "into_inner", "lock", "read", "to_owned", "unwrap", "write",
];

/// Returns true for a type from outside of the repository that gives the members of its argument.
pub(super) fn is_pointer(system: ModuleSystem, name: &str) -> bool {
    match system {
        ModuleSystem::Rust => RUST_POINTERS.contains(&name),
        ModuleSystem::Cpp => CPP_POINTERS.contains(&name),
        _ => false,
    }
}

/// Returns true for a method that gives the value it is called on.
pub(super) fn gives_receiver(system: ModuleSystem, method: &str) -> bool {
    system == ModuleSystem::Rust && SAME_VALUE.contains(&method)
}

/// Returns the values that a method of a container gives; none for other values and methods.
pub(super) fn call_collection(
    system: ModuleSystem,
    container: &ExpressionValue,
    method: &str,
) -> Vec<ExpressionValue> {
    let (ExpressionValue::Holder(held) | ExpressionValue::Mapping(held)) = container else {
        return Vec::new();
    };
    match system {
        ModuleSystem::Java => call_java(held, method.trim_end_matches("()")),
        ModuleSystem::Cpp => match method {
            "at" | "back" | "front" | "top" | "data" | "value" => held.clone(),
            _ => Vec::new(),
        },
        ModuleSystem::Csharp => call_csharp(held, method),
        ModuleSystem::Rust => call_rust(container, held, method),
        _ => Vec::new(),
    }
}

fn call_java(held: &[ExpressionValue], method: &str) -> Vec<ExpressionValue> {
    match method {
        "get" | "remove" | "next" | "poll" | "peek" | "pop" | "first" | "last" | "getFirst"
        | "getLast" | "orElse" | "orElseThrow" | "orElseGet" | "getOrDefault" | "join"
        | "element" | "take" | "put" => held.to_vec(),
        "values" | "iterator" | "stream" | "filter" | "sorted" | "findFirst" | "findAny"
        | "toList" | "subList" | "limit" | "skip" | "distinct" => {
            vec![ExpressionValue::Holder(held.to_vec())]
        }
        _ => Vec::new(),
    }
}

fn call_csharp(held: &[ExpressionValue], method: &str) -> Vec<ExpressionValue> {
    match method {
        "First" | "FirstOrDefault" | "Single" | "SingleOrDefault" | "Last" | "LastOrDefault"
        | "Pop" | "Peek" | "Dequeue" | "ElementAt" | "GetValueOrDefault" | "GetOrAdd" => {
            held.to_vec()
        }
        "Where" | "ToList" | "ToArray" | "OrderBy" | "Skip" | "Take" | "Distinct" | "Reverse"
        | "OrderByDescending" | "AsEnumerable" | "ConfigureAwait" => {
            vec![ExpressionValue::Holder(held.to_vec())]
        }
        _ => Vec::new(),
    }
}

fn call_rust(
    container: &ExpressionValue,
    held: &[ExpressionValue],
    method: &str,
) -> Vec<ExpressionValue> {
    match method {
        "unwrap" | "expect" | "unwrap_or" | "unwrap_or_default" | "unwrap_or_else"
        | "get_or_insert_with" | "or_insert_with" | "or_default" | "or_insert" | "insert_entry" => {
            held.to_vec()
        }
        "get" | "get_mut" | "first" | "last" | "first_mut" | "last_mut" | "pop" | "next"
        | "iter" | "iter_mut" | "into_iter" | "values" | "values_mut" | "into_values" | "drain"
        | "filter" | "find" | "rev" | "skip" | "take" | "peekable" | "chain" | "ok" | "ok_or"
        | "ok_or_else" | "map_err" | "remove" | "pop_front" | "pop_back" | "front" | "back"
        | "min_by_key" | "max_by_key" | "context" | "with_context" | "peek" | "or_else" | "nth"
        | "entry" | "recv" | "try_recv" | "as_slice" | "copied" | "swap_remove" | "flatten" => {
            vec![ExpressionValue::Holder(held.to_vec())]
        }
        method if SAME_VALUE.contains(&method) => vec![container.clone()],
        _ => Vec::new(),
    }
}
