// Writes numbers, sizes and times for people.

import { h } from './h.js';

const UNITS = [['year', 31536000], ['month', 2592000], ['day', 86400], ['hour', 3600], ['minute', 60]];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeStyle: 'long' });
const whole = new Intl.NumberFormat('en');

setInterval(() => {
  for (const element of document.querySelectorAll('time[data-relative]')) {
    element.textContent = ago(new Date(element.dateTime));
  }
}, 20000);

/**
 * @param {number | null | undefined} number
 * @returns {string} the number with its thousands apart
 */
export function count(number) {
  return number === null || number === undefined ? 'unknown' : whole.format(number);
}

/**
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 * @returns {string} such as `1 file` or `12 files`
 */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/**
 * @param {number | null | undefined} size in bytes
 * @returns {string}
 */
export function bytes(size) {
  if (size === null || size === undefined) {
    return 'unknown';
  }
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const unit = size < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(size) / 3));
  const scaled = size / 1000 ** unit;
  return `${unit > 0 && scaled < 10 ? scaled.toFixed(1) : count(Math.round(scaled))} ${units[unit]}`;
}

/**
 * @param {number} ms
 * @returns {string} such as `0.4 s`, `12 s` or `3 min 20 s`
 */
export function duration(ms) {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 10) {
    return `${seconds.toFixed(1)} s`;
  }
  const rounded = Math.round(seconds);
  if (rounded < 60) {
    return `${rounded} s`;
  }
  const [hours, minutes] = [Math.floor(rounded / 3600), Math.floor((rounded % 3600) / 60)];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${rounded % 60} s`;
}

/**
 * @param {string | null | undefined} at a time as the server writes it
 * @returns {HTMLElement | string} how long ago that is, with the exact time on hover
 */
export function time(at) {
  const date = new Date(at ?? NaN);
  if (Number.isNaN(date.getTime())) {
    return 'never';
  }
  const props = { datetime: date.toISOString(), title: exact.format(date), 'data-relative': true };
  return h('time', props, ago(date));
}

function ago(date) {
  const seconds = (date.getTime() - Date.now()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) {
      return relative.format(Math.round(seconds / size), unit);
    }
  }
  return 'just now';
}
