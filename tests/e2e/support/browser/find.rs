//! Positions of elements: by selector, or by role and name as a screen reader has them.

use serde_json::{Value, json};

use super::page::BrowserPage;

/// Script for the point where the pointer meets an element, or the reason why it does not.
const AIM: &str = "async function (element) {
    if (!element) return { fault: 'it is not there' };
    if (element.disabled) return { fault: 'it is disabled' };
    element.scrollIntoViewIfNeeded();
    const drawn = () => new Promise(requestAnimationFrame);
    const place = () => element.getClientRects()[0];
    await drawn();
    const before = place();
    await drawn();
    const now = place();
    if (!now || !now.width || !now.height) return { fault: 'it is not visible' };
    if (!before || before.x !== now.x || before.y !== now.y) return { fault: 'it moves' };
    // The middle of the part in the window.
    const middle = (from, to, most) => (Math.max(from, 0) + Math.min(to, most)) / 2;
    const x = middle(now.left, now.right, innerWidth);
    const y = middle(now.top, now.bottom, innerHeight);
    const top = document.elementFromPoint(x, y);
    const isMet = top && (element.contains(top) || top.closest('label')?.control === element);
    if (!isMet) return { fault: `under ${top ? top.cloneNode().outerHTML : 'nothing'} at ${x}, ${y}` };
    return { x, y };
}";

/// Returns where the first word of an element is that has no letters beside it, or why it is not there.
const AIM_AT_WORD: &str = r"(element, word) => {
    if (!element) return { fault: 'it is not there' };
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const found = new RegExp(`\\b${word}\\b`).exec(walker.currentNode.data);
        if (found) {
            const range = document.createRange();
            range.setStart(walker.currentNode, found.index);
            range.setEnd(walker.currentNode, found.index + word.length);
            const box = range.getBoundingClientRect();
            return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
        }
    }
    return { fault: `no word ${word}` };
}";

/// A place in the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowPoint {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl BrowserPage {
    /// Waits until the first element of a selector can be pointed at.
    pub(super) async fn wait_for_element(&self, selector: &str) -> WindowPoint {
        let script = format!("({AIM})(document.querySelector({}))", json!(selector));
        self.retry_until(selector, async || parse_point(&self.evaluate(&script).await?)).await
    }

    /// Waits until a word of the first element of a selector can be pointed at.
    pub(super) async fn wait_for_word(&self, selector: &str, word: &str) -> WindowPoint {
        self.wait_for_element(selector).await;
        let element = format!("document.querySelector({})", json!(selector));
        let script = format!("({AIM_AT_WORD})({element}, {})", json!(word));
        self.retry_until(word, async || parse_point(&self.evaluate(&script).await?)).await
    }

    /// Waits until the element of a role and an accessible name can be pointed at. The name is whole, or a
    /// part that only one has.
    pub(super) async fn wait_for_role(&self, role: &str, name: &str) -> WindowPoint {
        self.retry_until(&format!("{role} `{name}`"), async || {
            let node = self.find_accessible(role, name).await?;
            let resolved = self.call("DOM.resolveNode", json!({ "backendNodeId": node })).await?;
            let call = json!({
                "objectId": resolved["object"]["objectId"],
                "functionDeclaration": format!("function () {{ return ({AIM})(this); }}"),
                "awaitPromise": true, "returnByValue": true,
            });
            let result = self.call("Runtime.callFunctionOn", call).await?;
            parse_point(&result["result"]["value"])
        })
        .await
    }

    /// Returns the node that has a role and a name for screen readers.
    async fn find_accessible(&self, role: &str, name: &str) -> Result<Value, String> {
        let named = self.list_nodes_of_role(role).await?;
        let whole = named.iter().find(|(one, _)| one == name);
        let mut parts = named.iter().filter(|(one, _)| one.contains(name));
        let found = match (whole, parts.next(), parts.next()) {
            (Some(whole), ..) => Some(whole),
            (None, part, None) => part,
            (None, ..) => None,
        };
        let all = || named.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        found.map(|(_, node)| node.clone()).ok_or_else(|| format!("not among: {}", all()))
    }

    /// Returns the names of all that have a role, in order.
    pub(crate) async fn list_names_of_role(&self, role: &str) -> Vec<String> {
        self.list_nodes_of_role(role).await.unwrap().into_iter().map(|(name, _)| name).collect()
    }

    async fn list_nodes_of_role(&self, role: &str) -> Result<Vec<(String, Value)>, String> {
        let document = self.call("Runtime.evaluate", json!({ "expression": "document" })).await?;
        let query = json!({ "objectId": document["result"]["objectId"], "role": role });
        let found = self.call("Accessibility.queryAXTree", query).await?;
        let nodes = found["nodes"].as_array().into_iter().flatten();
        let heard = nodes.filter(|node| node["ignored"] == false);
        let name = |node: &Value| node["name"]["value"].as_str().unwrap_or_default().to_owned();
        Ok(heard.map(|node| (name(node), node["backendDOMNodeId"].clone())).collect())
    }
}

fn parse_point(found: &Value) -> Result<WindowPoint, String> {
    match (found["x"].as_f64(), found["y"].as_f64()) {
        (Some(x), Some(y)) => Ok(WindowPoint { x, y }),
        _ => Err(found["fault"].as_str().unwrap_or("nothing").to_owned()),
    }
}
