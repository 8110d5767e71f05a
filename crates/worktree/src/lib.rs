//! Opens files beneath a root without following links, and reads Git repositories.

pub mod beneath;
pub mod decode;
pub mod git;
pub mod ignore_files;
pub mod ignored;
pub mod private_places;
pub mod roots;
