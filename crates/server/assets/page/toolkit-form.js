// Stores toolkits: a form for one, written as JSON, and a question before one is removed.

import { get, post } from './api.js';
import { confirmed, dialog } from './dialog.js';
import { fill, h } from './h.js';
import { problem, sentenced } from './notice.js';

const EXAMPLE = { command: '', args: [], env: {} };

/**
 * Has one write the settings of a toolkit, and stores them.
 * @param {string} [name] which of the stored ones; without it, another one
 * @returns {Promise<{name: string} | null>} `null` where it was dismissed
 */
export async function editToolkit(name) {
  // First of all a token is asked for, where one is needed.
  const { mcpServers } = await loadStored();
  const settings = name === undefined ? EXAMPLE : mcpServers[name] ?? EXAMPLE;
  const title = name === undefined ? 'Add a toolkit' : `Edit ${name}`;
  return dialog(title, (close) => form(name, settings, close), { wide: true });
}

/**
 * Removes a stored toolkit, if one agrees.
 * @param {string} name
 * @returns {Promise<{name: string, isRemoved: boolean} | null>}
 */
export async function removeToolkit(name) {
  const text = 'Its settings are deleted, including secrets. Running calls may end first.';
  if (!(await confirmed(`Remove ${name}?`, text, 'Remove'))) {
    return null;
  }
  const config = await loadStored();
  delete config.mcpServers[name];
  await post('/mcp/config', config);
  return { name, isRemoved: true };
}

/** Values of variables and headers are not sent to the page; it sends their placeholders back unchanged. */
function loadStored() {
  return get('/mcp/config?secrets=hidden');
}

function form(known, settings, close) {
  const name = h('input', {
    id: 'toolkit-name', required: true, autocomplete: 'off', spellcheck: 'false', pattern: '[a-z0-9_\\-]{1,48}',
    title: '1 to 48 of a-z, 0-9, _ and -', value: known ?? '', readonly: known !== undefined,
    autofocus: known === undefined, 'aria-describedby': 'toolkit-name-failed',
  });
  const text = h('textarea', {
    id: 'toolkit-settings', rows: 12, spellcheck: 'false', class: 'code', autofocus: known !== undefined,
    'aria-describedby': 'toolkit-settings-about toolkit-settings-failed', value: JSON.stringify(settings, null, 2),
  });
  const failed = h('div');
  const button = h('button', { type: 'submit', class: 'primary' }, 'Store and test');
  const submit = async (event) => {
    event.preventDefault();
    [name, text].forEach((field) => refuse(field, []));
    fill(failed);
    const parsed = parse(text.value);
    if (parsed.fault !== undefined) {
      refuse(text, [parsed.fault]);
      return;
    }
    button.disabled = true;
    try {
      const config = await loadStored();
      if (known === undefined && Object.hasOwn(config.mcpServers, name.value)) {
        refuse(name, ['a toolkit of this name is stored; edit that one']);
        return;
      }
      config.mcpServers[name.value] = parsed.value;
      await post('/mcp/config', config);
      close({ name: name.value });
    } catch (error) {
      if (error.code === 'VALIDATION_FAILED') {
        refuse(text, error.details.length > 0 ? error.details : [error.message]);
      } else {
        fill(failed, problem(error));
      }
    } finally {
      button.disabled = false;
    }
  };
  return h('form', { onsubmit: submit },
    h('p', { class: 'field' }, h('label', { for: name.id }, 'Name'), name),
    h('div', { id: 'toolkit-name-failed' }),
    h('p', { class: 'field' }, h('label', { for: text.id }, 'Settings, as JSON'), text),
    h('p', { id: 'toolkit-settings-about', class: 'about' },
      'Either ', code('command'), ', ', code('args'), ' and ', code('env'), ', or ', code('url'), ' and ', code('headers'),
      '. Values of ', code('env'), ' and ', code('headers'), ' are stored encrypted and not shown again: ',
      code('{"set": true}'), ' is a stored one and stays as it is; write a text to replace it.'),
    h('div', { id: 'toolkit-settings-failed' }),
    failed,
    h('p', { class: 'row end' },
      h('button', { type: 'button', onclick: () => close(null) }, 'Cancel'), button));
}

function code(word) {
  return h('code', null, word);
}

function parse(text) {
  try {
    const value = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { value } : { fault: 'the settings must be a JSON object in braces' };
  } catch (error) {
    return { fault: `this is not JSON: ${error.message}` };
  }
}

/** Shows next to a field what is wrong with it, and goes there. */
function refuse(field, faults) {
  fill(document.getElementById(`${field.id}-failed`), faults.length > 0 && h('div', { class: 'problem', role: 'alert' },
    faults.map((fault) => h('p', null, sentenced(fault)))));
  field.toggleAttribute('aria-invalid', false);
  if (faults.length > 0) {
    field.setAttribute('aria-invalid', 'true');
    field.focus();
  }
}
