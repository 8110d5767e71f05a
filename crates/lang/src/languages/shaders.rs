//! Languages of graphics processors.

use crate::{Language, comment::Comments};

pub(super) const ALL: &[&Language] = &[&GLSL, &HLSL, &WGSL];

pub static GLSL: Language = Language {
    name: "glsl",
    extensions: &["glsl", "vert", "frag", "comp", "geom"],
    comments: Comments::SLASHES,
    ..Language::PLAIN
};

pub static HLSL: Language = Language {
    name: "hlsl",
    extensions: &["hlsl", "fx"],
    comments: Comments::SLASHES,
    ..Language::PLAIN
};

pub static WGSL: Language = Language {
    name: "wgsl",
    extensions: &["wgsl"],
    comments: Comments::SLASHES,
    ..Language::PLAIN
};
