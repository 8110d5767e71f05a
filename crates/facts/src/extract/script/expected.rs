//! Builds expressions of the values that the code around a value expects.

use super::super::syntax::MAX_EXPRESSION_DEPTH;
use crate::{ShortExpression, to_index};

/// Maximum parameters whose types are read.
pub(super) const MAX_PARAMETERS: usize = 4;

/// Returns a value of an annotated type.
pub(super) fn expect_instance(annotation: ShortExpression) -> ShortExpression {
    ShortExpression::Typed(Box::new(annotation))
}

pub(super) fn expect_argument(function: &ShortExpression, place: usize) -> Option<ShortExpression> {
    wrap_expected(function, |function| ShortExpression::Argument(function, to_index(place)))
}

/// Returns a function's result: the annotated or expected one, or a promise of it.
pub(super) fn expect_result(
    annotation: Option<&ShortExpression>,
    expected: Option<&ShortExpression>,
) -> Option<ShortExpression> {
    let result = match annotation {
        Some(annotation) => Some(expect_instance(annotation.clone())),
        None => wrap_expected(expected?, |function| ShortExpression::Call(function, Vec::new())),
    };
    result.map(|result| ShortExpression::Awaited(Box::new(result)))
}

/// Wraps an expression, unless it is too deep or unknown.
pub(super) fn wrap_expected(
    inner: &ShortExpression,
    wrap: impl FnOnce(Box<ShortExpression>) -> ShortExpression,
) -> Option<ShortExpression> {
    let mut innermost = inner;
    for _ in 0..MAX_EXPRESSION_DEPTH {
        innermost = match innermost {
            ShortExpression::Member(inner, _)
            | ShortExpression::Call(inner, _)
            | ShortExpression::Item(inner, _)
            | ShortExpression::Awaited(inner)
            | ShortExpression::Typed(inner)
            | ShortExpression::Argument(inner, _) => inner,
            ShortExpression::Unknown | ShortExpression::Outside => return None,
            _ => return Some(wrap(Box::new(inner.clone()))),
        };
    }
    None
}
