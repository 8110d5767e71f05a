//! Suggests English for questions in another language than the code that found hardly anything.

use std::collections::HashSet;

use codeinfo_lang::words::{STOP_WORDS, is_unspaced};

use super::{candidate::SearchCandidate, intent::QueryName};

const HINT: &str = "nothing in the code has the words of this question: ask in English, or in the language of its comments";
/// Minimum function words that identify another language.
const MIN_WORDS: usize = 2;
/// Characters at the end of a word that may differ between its forms.
const ENDING: usize = 2;
/// Function words of other languages in Latin letters; those that are also English do not count.
const FUNCTION_WORDS: &str = "\
    aber auf aus bei beim dem den der des durch ein eine einem einen einer es funktioniert für gibt hat ich ist kann können \
    mit nach nicht oder sich sind über und vom von wann warum was welche welcher wenn wer werden wie wird wo wozu zu zum zur \
    au aux avec ce cette comment dans des du elle est et il la le les ne où ou par pas pour pourquoi qu quand que quel quelle \
    qui sa se ses son sont sur un une \
    al como cómo con cuando cuándo cuál del donde dónde el ella en es esta está hay la las lo los no para pero por porque \
    que qué se si sin son su sus una uno y \
    ao como da das dos e em foi isso mais na não nas no nos o onde os ou pela pelo por qual quando que são se sem seu sua um \
    uma \
    che chi ci come con cosa da dal dalla del della delle di dove e è gli i il in la le lo ma nel nella non per perché più \
    quale quando sono su un una \
    aan bij dan dat de die een en er het hoe is kan maar met naar niet of om ook op te uit van voor waar waarom wanneer wat \
    welke wie wordt worden zijn zij \
    att av den det där en ett för från hur inte med när och på som till var varför vilken är af at der er et hvor hvordan \
    hvorfor ikke og på som til \
    co czy dla do gdzie go i jak jaki jest kiedy na nie od po przez są się to w z za że \
    co jak je jsou kde kdy když na nebo pro proč s se v ve z že \
    bir bu da de gibi hangi için ile kadar mi mı nasıl ne neden nerede ve veya";

/// Returns a hint if the question is in another language than its results, which hardly match.
pub(super) fn find_hint(
    text: &str,
    names: &[QueryName],
    ranked: &[SearchCandidate],
    absent_words: &[String],
) -> Option<String> {
    let texts: Vec<String> =
        ranked.iter().map(|candidate| candidate.record.text.to_lowercase()).collect();
    let has = |word: &str| texts.iter().any(|text| text.contains(word));
    if names.iter().any(|name| has(&name.spelled.to_lowercase())) {
        return None;
    }
    let words = list_words(text);
    let foreign_script_words: Vec<&String> =
        words.iter().filter(|word| is_other_script(word)).collect();
    let is_foreign = if foreign_script_words.is_empty() {
        is_other_latin(&words) && is_weak(&words, absent_words, has)
    } else {
        !foreign_script_words.into_iter().any(|word| list_stems(word).iter().any(|stem| has(stem)))
    };
    is_foreign.then(|| HINT.to_owned())
}

fn list_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Returns true if a word is in a script other than Latin. A single Greek letter is a symbol.
fn is_other_script(word: &str) -> bool {
    let is_other =
        |c: char| c.is_alphabetic() && !matches!(c, '\0'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}');
    word.chars().filter(|c| is_other(*c)).count() >= MIN_WORDS
}

/// Returns the stem of a word, or its pairs of neighbouring characters in scripts without spaces.
fn list_stems(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    if letters.iter().any(|c| is_unspaced(*c)) {
        return letters.windows(2).map(|pair| pair.iter().collect()).collect();
    }
    let length = letters.len().saturating_sub(ENDING).max(MIN_WORDS + ENDING);
    vec![letters.into_iter().take(length).collect()]
}

/// Returns true if the words form a sentence in Latin letters that is not English.
fn is_other_latin(words: &[String]) -> bool {
    let known: HashSet<&str> = FUNCTION_WORDS.split_whitespace().collect();
    let is_english = |word: &&String| STOP_WORDS.contains(&word.as_str());
    let is_other = |word: &&String| known.contains(word.as_str()) && !is_english(word);
    let others = words.iter().filter(is_other).count();
    MIN_WORDS <= others
        && words.iter().filter(is_english).count() < others
        && words.len() <= 5 * others
}

/// Returns true if half of the content words are absent, or the results lack half of them.
fn is_weak(words: &[String], absent_words: &[String], has: impl Fn(&str) -> bool) -> bool {
    let known: HashSet<&str> = FUNCTION_WORDS.split_whitespace().collect();
    let is_telling = |word: &&String| 3 < word.len() && !known.contains(word.as_str());
    let telling: Vec<&String> = words.iter().filter(is_telling).collect();
    let missing = telling.iter().filter(|word| !has(word)).count();
    telling.len() <= 2 * missing || telling.len() <= 2 * absent_words.len()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            fixture::{candidate, record},
            intent::QueryIntent,
        },
        *,
    };
    fn hints(question: &str, text: &str) -> bool {
        let found = candidate(0, record("a.py", None, text), 0.5);
        find_hint(question, &QueryIntent::parse(question).names, &[found], &[]).is_some()
    }

    #[test]
    fn a_foreign_question_without_matching_words_gets_the_hint() {
        let code = "def retry_login(user):\n    # Tries again.\n";
        for question in [
            "где повторяется вход пользователя",
            "ユーザーのログインはどこで再試行されますか",
            "用户登录在哪里重试",
            "로그인은 어디에서 다시 시도됩니까",
            "πού επαναλαμβάνεται η σύνδεση",
            "أين تتم إعادة تسجيل الدخول",
            "wo wird die Anmeldung des Benutzers wiederholt",
            "où est répétée la connexion de l'utilisateur",
            "dónde se repite el inicio de sesión del usuario",
            "onde o acesso do usuário é repetido por causa de um erro",
            "dove viene ripetuto il collegamento di un utente",
            "gdzie jest powtarzane logowanie się użytkownika",
        ] {
            assert!(hints(question, code), "{question}");
        }
    }

    #[test]
    fn a_matching_or_english_question_gets_no_hint() {
        for (question, text) in [
            ("где повторяется вход пользователя", "# повтор входа\n"),
            ("购物车总价在哪里计算", "// 计算购物车总价\n"),
            ("где вызывается retry_login", "retry_login()"),
            ("wo wird die Anmeldung wiederholt", "# die Anmeldung wird hier wiederholt"),
            ("where is the login of a user retried", "x"),
            ("what is the role of die in dice", "x"),
            ("retry login", "x"),
            ("μ", "x"),
            ("Größe", "x"),
        ] {
            assert!(!hints(question, text), "{question}");
        }
    }
}
