//! Shader languages.

use crate::{Language, comment::CommentSyntax};

pub(super) const ALL: &[&Language] = &[&GLSL, &HLSL, &WGSL];

pub static GLSL: Language = Language {
    name: "glsl",
    extensions: &["glsl", "vert", "frag", "comp", "geom"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static HLSL: Language = Language {
    name: "hlsl",
    extensions: &["hlsl", "fx"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};

pub static WGSL: Language = Language {
    name: "wgsl",
    extensions: &["wgsl"],
    comments: CommentSyntax::SLASHES,
    ..Language::PLAIN
};
