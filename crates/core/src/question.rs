//! A question that is neither blank nor too long.

/// The most bytes a question may have.
pub const MAX_QUESTION_BYTES: usize = 64 * 1024;

/// A question, trimmed, never empty and at most 64 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question(String);

/// Why a text is not a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuestion {
    /// Nothing but white space.
    #[error("`question` is blank")]
    Blank,
    /// Over the limit.
    #[error("`question` has {0} bytes; at most {MAX_QUESTION_BYTES} are allowed")]
    TooLong(usize),
    /// Holds a NUL character, which no terminal or file name can carry on.
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
