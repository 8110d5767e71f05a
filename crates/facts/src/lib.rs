//! Reads the facts of one file: its scopes, definitions, imports and references, as written.
//!
//! Facts hold names and short expressions and nothing of other files, so a file's facts depend on
//! its content alone. `codeinfo-graph` joins the facts of many files.

pub mod compare;
mod extract;
mod queries;

use serde::{Deserialize, Serialize};

pub use extract::{
    DEFAULT_EXPORT, MODULE_EXPORTS, extract_facts, find_module_system, reads_language,
};

/// Names of the languages that [`extract_facts`] reads, for people.
pub const LANGUAGES: &str = "Python, JavaScript, TypeScript, Go, Java, Rust, C, C++, C#, PHP, Ruby and \
     Bash, and words before `(` in other code";

/// Index of a scope in [`SourceFacts::scopes`]. Scope 0 is the file.
pub type ScopeIndex = u32;
/// Index of a definition in [`SourceFacts::definitions`].
pub type DefinitionIndex = u32;

/// Facts of one file, at most 200,000 of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFacts {
    /// Imports and scopes of the file's language.
    pub module_system: ModuleSystem,
    /// Scopes; each follows the scope around it.
    pub scopes: Vec<NameScope>,
    /// Definitions in the order in which they were read.
    pub definitions: Vec<DefinitionFact>,
    /// Modules and names that the file imports.
    pub imports: Vec<ImportFact>,
    /// References in the order in which they were read.
    pub references: Vec<ReferenceFact>,
    /// Modules imported or re-exported whole; in C#, namespaces for all files below the folder.
    pub star_imports: Vec<String>,
    /// True for a script with exports. The names of other declaration files are global.
    pub has_exports: bool,
    /// Modules, packages and types imported whole, `use a::*`, each with the scope around it.
    pub glob_imports: Vec<(ScopeIndex, ShortExpression)>,
    /// Package or namespace that the file declares; blank if it declares none.
    pub namespace: String,
    /// Members that are added to types which may be defined in other files.
    pub extensions: Vec<TypeExtension>,
    /// First and last lines of items that only tests compile, in Rust; ascending and apart.
    pub tests: Vec<(u32, u32)>,
    /// Branches after the first one of conditions such as `#if`: the line of the branch before, its own
    /// first line, and the last line of the condition.
    pub branches: Vec<(u32, u32, u32)>,
}

/// Members added to a type outside of its definition: `impl A for B`, a method with a receiver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeExtension {
    /// The type.
    pub target: ShortExpression,
    /// Types that it extends or implements besides those of its definition.
    pub bases: Vec<ShortExpression>,
    /// Scope with the members; it may be the body of a definition of the same type.
    pub body: ScopeIndex,
}

/// Rules of imports and scopes in a language.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ModuleSystem {
    /// Packages with dotted names; the body of a class sees its own names.
    #[default]
    Python,
    /// JavaScript and TypeScript: modules by relative paths.
    Script,
    /// Go: a folder is a package.
    Go,
    /// Java: packages with dotted names; methods see members of their types.
    Java,
    /// Rust: a tree of modules for each crate.
    Rust,
    /// C#: namespaces; methods see members of their types.
    Csharp,
    /// C: names of the file and of the files that it includes.
    C,
    /// C++: as C; methods see members of their types.
    Cpp,
    /// PHP: namespaces, given by their full names.
    Php,
    /// Ruby: constants of types that any file adds to.
    Ruby,
    /// Shells: functions of the file and of the files that it sources.
    Bash,
    /// Languages read by their layout: names of the file, and those that are unique.
    Words,
}

impl ModuleSystem {
    /// Returns true for languages whose files see names of one another without imports.
    pub fn joins_files(self) -> bool {
        matches!(self, Self::Php | Self::Ruby | Self::Bash | Self::Words)
    }

    /// Returns true for languages whose files include others.
    pub fn has_includes(self) -> bool {
        matches!(self, Self::C | Self::Cpp | Self::Bash)
    }
}

/// A region in which names have one meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameScope {
    /// Scope around this one; `None` for the file.
    pub parent: Option<ScopeIndex>,
    /// Kind of the region, which decides where its names are visible.
    pub kind: ScopeKind,
    /// Definition that the scope is the body of.
    pub definition: Option<DefinitionIndex>,
    /// Names bound in this scope, in order; one name may be bound several times.
    pub bindings: Vec<NameBinding>,
}

/// Kind of a scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScopeKind {
    /// The file. Its names are what the module exports.
    #[default]
    File,
    /// Body of a class, another type or an object. Its names are found through a receiver.
    Type,
    /// Body of a namespace. Its names are found from inside, and through its name.
    Namespace,
    Function,
    /// Any other region, such as a loop or a comprehension.
    Block,
}

/// A name and what it is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameBinding {
    /// Name, at most 200 bytes. `run()` is a method where fields may have its name, and `.run` a
    /// field where functions of the type may.
    pub name: String,
    /// Definition, import or value that the name has.
    pub value: BoundValue,
}

/// Value that a name is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoundValue {
    Definition(DefinitionIndex),
    /// An entry of [`SourceFacts::imports`].
    Import(u32),
    Typed(ShortExpression),
    Assigned(ShortExpression),
    /// The definition that an expression names: an import of a name by its path.
    Alias(ShortExpression),
    /// An element of a collection: the variable of a loop.
    Element(ShortExpression),
    /// A value that the facts do not tell, such as a parameter without a type.
    Unknown,
}

/// A definition and what is written about its type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionFact {
    /// Name, at most 200 bytes.
    pub name: String,
    /// Kind of the definition.
    pub kind: DefinitionKind,
    /// Scope that the definition is in.
    pub scope: ScopeIndex,
    /// Scope of its body.
    pub body: Option<ScopeIndex>,
    /// First and last line, counted from 1.
    pub lines: (u32, u32),
    /// Line of the name, counted from 1, and its column in bytes, counted from 0.
    pub name_at: (u32, u32),
    /// Types that a type extends or implements.
    pub bases: Vec<ShortExpression>,
    /// Annotations of a function's first parameters, at most 4; unknown for those without one.
    pub parameters: Vec<ShortExpression>,
    /// Annotated result of a function, or type of a variable, field or alias.
    pub result: Option<ShortExpression>,
    /// Values that a function returns or that a variable or field is assigned, at most 8, each with
    /// the scope around it. Values of a definition with a `result` are not used.
    pub values: Vec<(ScopeIndex, ShortExpression)>,
    /// Properties that change how the definition is used.
    pub traits: DefinitionTraits,
}

/// Properties that change how a definition is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionTraits {
    /// A property: reading it gives its result.
    pub is_property: bool,
    /// An overload or declaration without a body; another definition may have one.
    pub is_declaration: bool,
    /// Other files do not see it.
    pub is_private: bool,
    /// Parameters of a function, if all calls have as many arguments.
    pub parameter_count: Option<u8>,
}

/// Kind of a definition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DefinitionKind {
    #[default]
    Function,
    /// A class, interface, enumeration or namespace.
    Type,
    /// Another name of a type, given in `result`.
    TypeAlias,
    /// A variable of a file, function or block.
    Variable,
    /// A field of the type or object that its scope is the body of.
    Field,
}

/// A module or a name of a module that is bound to a local name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportFact {
    /// Module as written: `a.b`, `..c`, `./d.js`.
    pub module: String,
    /// Name in the module; `None` for the module itself.
    pub name: Option<String>,
}

/// A use of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceFact {
    /// Kind of the use.
    pub kind: ReferenceKind,
    /// The name, or the member with its receiver.
    pub target: ShortExpression,
    /// Innermost scope around the reference.
    pub scope: ScopeIndex,
    /// Line of the name, counted from 1, and its column in bytes, counted from 0.
    pub at: (u32, u32),
    /// Arguments of a call, if the reader of the language counts them.
    pub argument_count: Option<u8>,
}

/// Kind of a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ReferenceKind {
    /// A call, the construction of an object, or an element of a component in JSX.
    Call,
    Read,
    Write,
    Type,
    /// A type that another one extends or implements.
    Base,
    /// A name in an import or re-export.
    Import,
}

/// A short expression: the parts of which resolution can tell the value, to a bounded depth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShortExpression {
    Name(String),
    /// A module, package or type by the path that imports write: the first part of a path in Rust.
    Root(String),
    Member(Box<ShortExpression>, String),
    /// A call with its first two arguments, or the construction of an object.
    Call(Box<ShortExpression>, Vec<ShortExpression>),
    /// `a[b]`, or a type with its first three arguments.
    Item(Box<ShortExpression>, Vec<ShortExpression>),
    /// The type of a function with its first parameters and its result.
    Signature(Vec<ShortExpression>, Box<ShortExpression>),
    /// Fields that the keywords of a call name, of a type that has no constructor.
    Keywords(Box<ShortExpression>),
    /// The value that a function expects as its argument at a position.
    Argument(Box<ShortExpression>, u32),
    /// An object or type without a name, whose members a scope has.
    Members(ScopeIndex),
    Typed(Box<ShortExpression>),
    /// The value that a context manager gives.
    Entered(Box<ShortExpression>),
    /// The value of a promise or coroutine.
    Awaited(Box<ShortExpression>),
    /// `self` or `this`.
    This,
    /// The enclosing type itself: `cls` in Python.
    ThisType,
    /// The next type after the enclosing one.
    Super,
    /// Several values or types in order.
    Tuple(Vec<ShortExpression>),
    /// One of several values, by its place. The first place is also that of a value alone.
    Part(Box<ShortExpression>, u8),
    Outer(Box<ShortExpression>),
    Either(Box<ShortExpression>, Box<ShortExpression>),
    /// A literal, whose members are those of the language.
    Outside,
    /// An expression of which the facts do not tell the value.
    Unknown,
}

/// Returns a number as an index or position; the maximum if it is too large.
pub fn to_index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
