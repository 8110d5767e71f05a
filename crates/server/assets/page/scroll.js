// How far the page is scrolled: its main part, or all of it where it is narrow.

const main = document.getElementById('main');

/** @returns {number} how many pixels are above what is seen */
export function scrolled() {
  return main.scrollTop + document.documentElement.scrollTop;
}

/** @param {number} top how many pixels are to be above what is seen */
export function scroll(top) {
  main.scrollTop = top;
  document.documentElement.scrollTop = top;
}
