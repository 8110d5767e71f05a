//! Rules by which the syntax of a language is read: its functions, and roles of its nodes.

use tree_sitter::Node;

use super::{super::syntax::ExpressionReader, FactBuilder};
use crate::{ModuleSystem, ReferenceKind, ShortExpression};

/// Functions that read a language, and its names for nodes that all languages have.
pub(in crate::extract) struct SyntaxRules {
    pub(in crate::extract) module_system: ModuleSystem,
    /// Returns the role of nodes of a kind, for the reader of languages with declared types.
    pub(in crate::extract) classify: fn(&str) -> NodeRole,
    pub(in crate::extract) visit_node: fn(&mut FactBuilder<'_>, Node<'_>),
    /// Reads a node as an expression, given the number of nodes around it that are being read.
    pub(in crate::extract) read_node: fn(&FactBuilder<'_>, Node<'_>, usize) -> ShortExpression,
    /// Kind of the node of `receiver.member`.
    pub(in crate::extract) member_kind: &'static str,
    /// Field of that node which has the member's name; `object` has the receiver.
    pub(in crate::extract) member_field: &'static str,
}

type ReadFunction = fn(&ExpressionReader<'_, '_>, Node<'_>) -> ShortExpression;

/// Role of the nodes of a kind. Strings are names of fields; a blank one is the first named child.
#[derive(Clone, Copy)]
pub(in crate::extract) enum NodeRole {
    Children,
    /// Neither the node nor its children are read.
    Skipped,
    /// A value of a type from outside of the repository.
    Literal,
    Name(ReferenceKind),
    /// A name or path that a function of the language reads, and how it is used.
    Path(ReferenceKind, ReadFunction),
    This,
    Super,
    /// A member of a receiver: `object.name`.
    Member(&'static str, &'static str, ReferenceKind),
    /// A member of a receiver that is no function: object and name.
    Field(&'static str, &'static str),
    Call(&'static str),
    /// A call of a method of a receiver, or of the enclosing type without one: receiver and name.
    Invocation(&'static str, &'static str),
    /// The construction of an object of a type.
    Construct(&'static str),
    /// A type with arguments: the type.
    Generic(&'static str),
    /// A type that holds others: a name for it, and fields of the others.
    Container(&'static str, &'static [&'static str]),
    /// A value with another type: the type.
    Conversion(&'static str),
    Same(&'static str),
    /// The value that a part holds.
    Held(&'static str),
    Index(&'static str),
    Either(&'static str, &'static str),
    Assignment(&'static str, &'static str),
    /// A function with a name: field of its result.
    Function(&'static str),
    /// A method of which the name may also be that of a field: field of its result.
    Method(&'static str),
    /// A function without a name.
    Closure,
    /// A type: kinds of the nodes with its bases.
    Type(&'static [&'static str]),
    /// Another name of a type: field of the type.
    Alias(&'static str),
    /// Parameters, fields or variables of one type: fields of names, type and value.
    Variables(&'static str, &'static str, &'static str),
    /// A value of the enclosing type: a member of an enumeration.
    Constant,
    TypeParameter,
    /// A region with names of its own.
    Block,
    Return,
    /// A loop over a collection: fields of its variable and of the collection.
    Loop(&'static str, &'static str),
    /// A statement after its label.
    Labeled,
    /// Visited by a function of the language.
    Custom(fn(&mut FactBuilder<'_>, Node<'_>)),
    /// Visited as its children, and read by a function of the language.
    Value(ReadFunction),
    Special(fn(&mut FactBuilder<'_>, Node<'_>), ReadFunction),
}
