//! Validated question text.

/// Maximum bytes of a question.
pub const MAX_QUESTION_BYTES: usize = 64 * 1024;

/// A trimmed question, not empty and at most 64 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question(String);

/// Errors that make a text an invalid question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuestion {
    /// The text contains only white space.
    #[error("`question` is blank")]
    Blank,
    /// The text exceeds [`MAX_QUESTION_BYTES`].
    #[error("`question` has {0} bytes; at most {MAX_QUESTION_BYTES} are allowed")]
    TooLong(usize),
    /// The text contains a NUL character, which terminals and file names cannot carry.
    #[error("`question` holds a NUL character")]
    Nul,
}

impl Question {
    /// Returns the text of the question.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Question {
    type Err = InvalidQuestion;

    fn from_str(text: &str) -> Result<Self, InvalidQuestion> {
        match text.trim() {
            "" => Err(InvalidQuestion::Blank),
            text if text.len() > MAX_QUESTION_BYTES => Err(InvalidQuestion::TooLong(text.len())),
            text if text.contains('\0') => Err(InvalidQuestion::Nul),
            text => Ok(Self(text.to_owned())),
        }
    }
}
