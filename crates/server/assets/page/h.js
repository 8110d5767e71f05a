// Makes elements: the one place where the page writes into the document.

const SVG = 'http://www.w3.org/2000/svg';
const FOCUSABLE = 'a[href], button, input, select, textarea, summary, [tabindex]';
/** Links to lines that open beside the page; those to commits are views of their own. */
export const PLACES = 'a.cite:not([href^="#/commit/"]), a.place';
/** From what the content of elements was made. */
const keys = new WeakMap();
const REFUSED = new Set(['javascript:', 'data:', 'vbscript:', 'file:']);

/**
 * Makes an HTML element. Functions named `on…` become listeners, `true` an attribute without a value, and
 * `false`, `null` and `undefined` nothing. Strings become text, never markup.
 * @param {string} tag
 * @param {Object<string, unknown>} [props]
 * @param {...unknown} children nodes, strings, numbers, or lists of them
 * @returns {HTMLElement}
 */
export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

/**
 * Makes an SVG element, as `h` does.
 * @param {string} tag
 * @param {Object<string, unknown>} [props]
 * @param {...unknown} children
 * @returns {SVGElement}
 */
export function svg(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

/**
 * Replaces what stands in an element.
 * @param {Element} element
 * @param {...unknown} children
 * @returns {Element} the element
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/**
 * Replaces what stands in an element where it is something else than before: what one reads, has opened or has in
 * focus stays. The part with the focus keeps it, where it is there still.
 * @param {Element} element
 * @param {unknown} known what the new content is made from
 * @param {() => unknown} make
 */
export function renew(element, known, make) {
  const key = JSON.stringify(known);
  if (keys.get(element) === key && element.hasChildNodes()) {
    return;
  }
  keys.set(element, key);
  const focusable = () => [...element.querySelectorAll(FOCUSABLE)];
  const at = focusable().indexOf(document.activeElement);
  fill(element, make());
  if (at >= 0) {
    focusable()[at]?.focus({ preventScroll: true });
  }
}

/**
 * Whether a link may lead there. Addresses come from repositories and settings.
 * @param {string} address
 * @returns {boolean}
 */
export function mayLead(address) {
  try {
    return !REFUSED.has(new URL(address, location.href).protocol);
  } catch {
    return false;
  }
}

function filled(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) {
      continue;
    }
    if (typeof value === 'function') {
      element.addEventListener(name.slice(2), value);
    } else if (name === 'value' && 'value' in element) {
      element.value = value;
    } else if (name !== 'href' || mayLead(String(value))) {
      // Styles would be refused by the policy of the page; `style` is set by its properties alone.
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false && child !== '') {
      element.append(child instanceof Node ? child : String(child));
    }
  }
}
