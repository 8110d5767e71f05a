//! Input of a reader: pointing, clicking, typing, pressing keys. The page gets real events.

use serde_json::{Value, json};

use super::{find::WindowPoint, page::BrowserPage};

impl BrowserPage {
    /// Clicks the first element of a selector, once it is visible and nothing covers it.
    pub(crate) async fn click(&self, selector: &str) {
        let point = self.wait_for_element(selector).await;
        self.click_at(point).await;
    }

    /// Clicks what screen readers call by this role and name.
    pub(crate) async fn click_text(&self, role: &str, name: &str) {
        let point = self.wait_for_role(role, name).await;
        self.click_at(point).await;
    }

    /// Moves the pointer to the first element of a selector.
    pub(crate) async fn hover(&self, selector: &str) {
        let point = self.wait_for_element(selector).await;
        self.send_mouse("mouseMoved", point, "none").await;
    }

    /// Clicks a word of the text in the first element of a selector, with a button: `left`, `middle`, or
    /// `Control+left`.
    pub(crate) async fn click_word(&self, selector: &str, word: &str, button: &str) {
        let point = self.wait_for_word(selector, word).await;
        self.send_mouse("mouseMoved", point, "none").await;
        self.send_mouse("mousePressed", point, button).await;
        self.send_mouse("mouseReleased", point, button).await;
    }

    async fn click_at(&self, point: WindowPoint) {
        self.send_mouse("mouseMoved", point, "none").await;
        self.send_mouse("mousePressed", point, "left").await;
        self.send_mouse("mouseReleased", point, "left").await;
    }

    async fn send_mouse(&self, kind: &str, at: WindowPoint, button: &str) {
        let count = u8::from(button != "none");
        let (modifiers, button) = match button.strip_prefix("Control+") {
            Some(button) => (2, button),
            None => (0, button),
        };
        let params = json!({ "type": kind, "x": at.x, "y": at.y, "button": button, "clickCount": count,
                             "modifiers": modifiers });
        self.call("Input.dispatchMouseEvent", params).await.unwrap();
    }

    /// Replaces the content of a field.
    pub(crate) async fn fill_field(&self, selector: &str, text: &str) {
        self.click(selector).await;
        self.press_key("Control+a").await;
        self.press_key("Delete").await;
        self.type_text(text).await;
    }

    /// Types a text, key by key, to where the focus is.
    pub(crate) async fn type_text(&self, text: &str) {
        for c in text.chars() {
            if c.is_ascii() {
                self.press_key(&c.to_string()).await;
            } else {
                // As a method of input does.
                let params = json!({ "text": c.to_string() });
                self.call("Input.insertText", params).await.unwrap();
            }
        }
    }

    /// Presses a key by the name that events have for it, such as `Escape`, `ArrowDown`, `j`, `?`,
    /// `Shift+Tab` or `Control+Enter`.
    pub(crate) async fn press_key(&self, key: &str) {
        let (held, key) = match key.rsplit_once('+') {
            Some((held, key)) if !key.is_empty() && !held.is_empty() => (held, key),
            _ => ("", key),
        };
        let modifiers = held.split('+').filter(|name| !name.is_empty()).fold(0, |all, name| {
            all | match name {
                "Alt" => 1,
                "Control" => 2,
                "Meta" => 4,
                "Shift" => 8,
                other => panic!("no key to hold: {other}"),
            }
        });
        let key = KeyPress::from_name(key);
        let modifiers = modifiers | if key.is_shifted { 8 } else { 0 };
        let mut params = json!({
            "key": key.name, "code": key.code, "windowsVirtualKeyCode": key.number,
            "modifiers": modifiers, "type": "rawKeyDown",
        });
        let is_command = modifiers & 7 != 0;
        if let (false, Some(text)) = (is_command, &key.text) {
            params["type"] = "keyDown".into();
            params["text"] = text.as_str().into();
            params["unmodifiedText"] = text.as_str().into();
        }
        if (modifiers, key.name.as_str()) == (2, "a") {
            params["commands"] = json!(["selectAll"]);
        }
        self.call("Input.dispatchKeyEvent", params.clone()).await.unwrap();
        params["type"] = "keyUp".into();
        for gone in ["text", "unmodifiedText", "commands"] {
            params[gone] = Value::Null;
            params.as_object_mut().unwrap().remove(gone);
        }
        self.call("Input.dispatchKeyEvent", params).await.unwrap();
    }
}

/// A key of a keyboard of the United States.
struct KeyPress {
    name: String,
    code: String,
    number: u32,
    text: Option<String>,
    is_shifted: bool,
}

impl KeyPress {
    fn from_name(name: &str) -> Self {
        let mut characters = name.chars();
        if let (Some(c), None) = (characters.next(), characters.next()) {
            return Self::from_character(c);
        }
        let (number, text) = match name {
            "Backspace" => (8, None),
            "Tab" => (9, None),
            "Enter" => (13, Some("\r")),
            "Escape" => (27, None),
            "PageUp" => (33, None),
            "PageDown" => (34, None),
            "End" => (35, None),
            "Home" => (36, None),
            "ArrowLeft" => (37, None),
            "ArrowUp" => (38, None),
            "ArrowRight" => (39, None),
            "ArrowDown" => (40, None),
            "Delete" => (46, None),
            other => panic!("no key {other}"),
        };
        let (name, text) = (name.to_owned(), text.map(str::to_owned));
        Self { code: name.clone(), name, number, text, is_shifted: false }
    }

    fn from_character(c: char) -> Self {
        const SIGNS: [(&str, &str, u32); 12] = [
            ("`~", "Backquote", 192),
            ("-_", "Minus", 189),
            ("=+", "Equal", 187),
            ("[{", "BracketLeft", 219),
            ("]}", "BracketRight", 221),
            ("\\|", "Backslash", 220),
            (";:", "Semicolon", 186),
            ("'\"", "Quote", 222),
            (",<", "Comma", 188),
            (".>", "Period", 190),
            ("/?", "Slash", 191),
            ("  ", "Space", 32),
        ];
        const DIGITS: &str = ")!@#$%^&*(";
        let upper = c.to_ascii_uppercase();
        let (code, number, is_shifted) = if c.is_ascii_alphabetic() {
            (format!("Key{upper}"), u32::from(upper), c.is_ascii_uppercase())
        } else if let Some(digit) = c.to_digit(10) {
            (format!("Digit{c}"), 48 + digit, false)
        } else if let Some(digit) = DIGITS.find(c) {
            (format!("Digit{digit}"), 48 + u32::try_from(digit).unwrap(), true)
        } else {
            let sign = SIGNS.iter().find(|(signs, ..)| signs.contains(c));
            let (signs, code, number) = sign.unwrap_or_else(|| panic!("no key for {c:?}"));
            ((*code).to_owned(), *number, !signs.starts_with(c))
        };
        let text = Some(c.to_string());
        Self { name: c.to_string(), code, number, text, is_shifted }
    }
}
