// format.js: numbers as people read them, and elements of the page.
'use strict';

const report = JSON.parse(document.getElementById('data').textContent);

// Numbers as JSON has them: null is NaN, infinities are texts.
function toNumber(value) {
  if (typeof value === 'number') return value;
  if (value === 'inf') return Infinity;
  if (value === '-inf') return -Infinity;
  return NaN;
}

const superscripts = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };
const superscript = (n) => String(n).replace(/./g, (c) => superscripts[c] ?? '');
const minus = (text) => text.replace('-', '−');

function formatNumber(value, digits = 4) {
  if (Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return minus(String(value));
  if (size >= 1e-3 && size < 1e5) return minus(String(Number(value.toPrecision(digits))));
  const [mantissa, exponent] = value.toExponential(digits - 1).split('e');
  return `${minus(String(Number(mantissa)))}·10${superscript(Number(exponent))}`;
}

// A value of a table: a number, or any other word.
function formatCell(value) {
  if (typeof value === 'number' || value === null || value === 'inf' || value === '-inf') {
    return formatNumber(toNumber(value));
  }
  if (value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

// element('button', { class: 'chip', onclick: f }, 'text', child)
function element(tag, attributes = {}, ...children) {
  const svg = ['svg', 'g', 'rect', 'line', 'path', 'text', 'title', 'circle', 'polyline', 'polygon', 'defs', 'clipPath'];
  const node = svg.includes(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

const slug = (text) => String(text).toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');

function copyButton(text) {
  const button = element('button', { class: 'small', type: 'button', 'aria-label': `Copy ${text.length < 80 ? text : 'the text'}` }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Pages from disk may not have the clipboard: select and copy the old way.
      const area = element('textarea', { class: 'offscreen' }, text);
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  return button;
}

const commandLine = (command) => element('div', { class: 'command' }, element('code', {}, command), copyButton(command));
