//! Languages of graphics processors.

use crate::{Language, comment::Comments, language::Definitions};

pub(super) const ALL: &[&Language] = &[&GLSL, &HLSL, &WGSL];

pub static GLSL: Language = Language {
    name: "glsl",
    extensions: &["glsl", "vert", "frag", "comp", "geom"],
    comments: Comments::SLASHES,
    definitions: Definitions::of(&["const", "define", "struct"]),
    ..Language::PLAIN
};

pub static HLSL: Language = Language {
    name: "hlsl",
    extensions: &["hlsl", "fx"],
    comments: Comments::SLASHES,
    definitions: Definitions::of(&["const", "define", "struct"]),
    ..Language::PLAIN
};

pub static WGSL: Language = Language {
    name: "wgsl",
    extensions: &["wgsl"],
    comments: Comments::SLASHES,
    definitions: Definitions::of(&["const", "fn", "struct"]),
    ..Language::PLAIN
};
