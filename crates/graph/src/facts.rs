//! Facts of one file: its scopes, definitions, imports and references, as written.
//!
//! Facts hold names and short expressions and nothing of other files, so a file's facts depend on
//! its content alone. [`crate::resolve`] joins the facts of many files.

use serde::{Deserialize, Serialize};

/// Index of a scope in [`FileFacts::scopes`]. Scope 0 is the file.
pub type ScopeIndex = u32;
/// Index of a definition in [`FileFacts::definitions`].
pub type DefinitionIndex = u32;

/// Facts of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// Scopes; each follows the scope around it.
    pub scopes: Vec<Scope>,
    /// Definitions in the order of their lines.
    pub definitions: Vec<DefinitionFact>,
    /// Modules and names that the file imports.
    pub imports: Vec<ImportFact>,
    /// References in the order of their lines.
    pub references: Vec<ReferenceFact>,
    /// Modules of which all names are re-exported or imported: `from a import *`.
    pub star_imports: Vec<String>,
}

/// A region in which names have one meaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Scope around this one; `None` for the file.
    pub parent: Option<ScopeIndex>,
    pub kind: ScopeKind,
    /// Definition that the scope is the body of.
    pub definition: Option<DefinitionIndex>,
    /// Names bound in this scope, in order; one name may be bound several times.
    pub bindings: Vec<Binding>,
}

/// Kind of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScopeKind {
    File,
    /// Body of a class or another type. Its names are found through a receiver.
    Type,
    /// Body of a namespace. Its names are found from inside, and through its name.
    Namespace,
    Function,
    Block,
}

/// A name and what it is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    pub name: String,
    pub value: BoundValue,
}

/// What a name is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoundValue {
    /// A definition of the same file.
    Definition(DefinitionIndex),
    /// An entry of [`FileFacts::imports`].
    Import(u32),
    /// A value of an annotated type.
    Typed(Expression),
    /// The value of an expression.
    Assigned(Expression),
    /// An element of a collection: the variable of a loop.
    Element(Expression),
    /// A value that the facts do not tell, such as a parameter without a type.
    Unknown,
}

/// A definition and what is written about its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionFact {
    pub name: String,
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
    pub bases: Vec<Expression>,
    /// Annotated result of a function, or type of a variable or field.
    pub result: Option<Expression>,
    /// Values that a function without an annotated result returns, or that a field is assigned,
    /// each with the scope that it stands in.
    pub values: Vec<(ScopeIndex, Expression)>,
    pub traits: DefinitionTraits,
}

/// Properties that change how a definition is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionTraits {
    /// A property: reading it gives its result.
    pub is_property: bool,
    /// A function whose result is what it yields once, such as a context manager.
    pub is_context: bool,
    /// An overload or declaration without a body; another definition may have one.
    pub is_declaration: bool,
}

/// Kind of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DefinitionKind {
    Function,
    Type,
    /// Another name of a type, given in `result`.
    TypeAlias,
    Variable,
    /// Field of the type that its scope is the body of.
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
    pub kind: ReferenceKind,
    /// The name, or the member with its receiver.
    pub target: Expression,
    /// Innermost scope around the reference.
    pub scope: ScopeIndex,
    /// Line of the name, counted from 1, and its column in bytes, counted from 0.
    pub at: (u32, u32),
}

/// Kind of a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ReferenceKind {
    Call,
    /// A value that is read or handed on.
    Read,
    Write,
    Type,
    Base,
    Import,
}

/// A short expression, as far as resolution can use it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expression {
    Name(String),
    Member(Box<Expression>, String),
    Call(Box<Expression>, Vec<Expression>),
    /// `a[b]`, or a type with arguments.
    Item(Box<Expression>, Vec<Expression>),
    /// The value that a context manager gives.
    Entered(Box<Expression>),
    Awaited(Box<Expression>),
    /// `self` or `this`.
    This,
    /// The enclosing type itself: `cls` in Python.
    ThisType,
    /// The next type after the enclosing one.
    Super,
    /// Either of two.
    Either(Box<Expression>, Box<Expression>),
    /// A literal, whose members are those of the language.
    Outside,
    Unknown,
}
