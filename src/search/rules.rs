//! The rules of ranking by name, so that a benchmark can leave each out and show what it is worth.

/// One thing that ranking looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Neighbours by meaning.
    Dense,
    /// Neighbours by shared words.
    Lexical,
    /// Chunks that define a name in the query.
    Definition,
    /// Words that sentences are made of, which count less than those that tell what is asked for.
    StopWords,
    /// Chunks that hold most of the query's words.
    Coverage,
    /// Chunks whose symbol is made of the query's words.
    Symbol,
    /// Chunks that hold a string of the query letter by letter.
    Literal,
    /// Files and folders named with the query's words.
    Names,
    /// Files of which several chunks were found.
    Coherence,
    /// Tests, examples, generated code and other files of a lesser role.
    Roles,
    /// Folders of older versions beside newer ones.
    Versions,
    /// Other files between the chunks of one, unless the query is long.
    Spread,
    /// How rare a word is in the repository asked about, not in all of them.
    Scope,
    /// Words that name the repository asked about, which tell none of its files from another.
    OwnName,
    /// Repositories that the query names, where all are searched.
    RootNames,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Dense,
        Self::Lexical,
        Self::Definition,
        Self::StopWords,
        Self::Coverage,
        Self::Symbol,
        Self::Literal,
        Self::Names,
        Self::Coherence,
        Self::Roles,
        Self::Versions,
        Self::Spread,
        Self::Scope,
        Self::OwnName,
        Self::RootNames,
    ];
}

/// The rules in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules(u16);

impl Rules {
    /// Every rule, as the product ranks.
    pub const ALL: Self = Self(u16::MAX);

    /// Only these rules.
    pub fn only(rules: &[Rule]) -> Self {
        Self(rules.iter().fold(0, |bits, rule| bits | bit(*rule)))
    }

    /// All of these but one.
    #[must_use]
    pub fn without(self, rule: Rule) -> Self {
        Self(self.0 & !bit(rule))
    }

    /// Whether a rule is in force.
    pub fn has(self, rule: Rule) -> bool {
        self.0 & bit(rule) != 0
    }

    /// Returns `value` where a rule is in force, and nothing where it is not.
    pub(super) fn weigh(self, rule: Rule, value: f32) -> f32 {
        if self.has(rule) { value } else { 0.0 }
    }
}

fn bit(rule: Rule) -> u16 {
    1 << rule as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_is_left_out_by_itself() {
        for rule in Rule::ALL {
            let rules = Rules::ALL.without(rule);
            let left: Vec<Rule> =
                Rule::ALL.into_iter().filter(|other| !rules.has(*other)).collect();
            assert_eq!(left, [rule]);
            assert_eq!(Rule::ALL.into_iter().filter(|r| Rules::only(&[rule]).has(*r)).count(), 1);
        }
    }
}
