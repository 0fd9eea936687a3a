// tables.js: claims, the rows of summary.json, settings.

const marks = { true: ['✓', 'holds', 'holds'], false: ['✗', 'fails', 'does not hold'], null: ['–', 'open', 'undecided'] };
const markOf = (holds) => marks[holds === true || holds === false ? holds : null];
function mark(holds) {
  const [sign, name, words] = markOf(holds);
  return element('span', { class: `mark ${name}`, role: 'img', 'aria-label': words, title: words }, sign);
}

const claimsOf = (run) => run.summary?.claims ?? [];

function claimList(experiment) {
  const texts = [...new Set(experiment.runs.flatMap((run) => claimsOf(run).map((claim) => claim.claim)))];
  if (!texts.length) return null;
  const find = (run, text) => claimsOf(run).find((claim) => claim.claim === text);
  if (!experiment.compared) {
    return element('ul', { class: 'claims' }, texts.map((text) => {
      const claim = find(experiment.runs[0], text);
      return element('li', {}, mark(claim.holds), element('div', {}, text, claim.evidence ? element('p', { class: 'evidence' }, claim.evidence) : null));
    }));
  }
  const words = (claim) => (claim ? [markOf(claim.holds)[2], claim.evidence].filter(Boolean).join(': ') : '');
  return element('div', {}, element('div', { class: 'scroll' }, element('table', { class: 'compared-claims' },
    element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'Claim'), experiment.runs.map((run) => element('th', { scope: 'col' }, run.label)))),
    element('tbody', {}, texts.map((text) => element('tr', {}, element('th', { scope: 'row' }, text), experiment.runs.map((run) => {
      const claim = find(run, text);
      return element('td', {}, claim ? mark(claim.holds) : '', claim?.evidence ? element('p', { class: 'evidence' }, claim.evidence) : null);
    })))))),
  csvButton(`Claims of ${experiment.name}`, () => [['claim', ...experiment.runs.map((run) => run.label)], ...texts.map((text) => [text, ...experiment.runs.map((run) => words(find(run, text)))])]));
}

// ---- Tables of many rows ------------------------------------------------------------------------

// Where n is an axis, the number of runs is called runs.
const statisticsOf = (rows) => ['mean', 'median', 'min', 'max', 'se', rows.some((row) => row.runs !== undefined) ? 'runs' : 'n', 'diverged'];

// Method, axes and metric of a row: everything that is no statistic.
function namesOf(rows) {
  const names = new Set();
  const statistics = statisticsOf(rows);
  for (const row of rows) for (const name of Object.keys(row)) if (!statistics.includes(name)) names.add(name);
  const order = (name) => (name === 'method' ? 0 : name === 'metric' ? 2 : 1);
  return [...names].sort((a, b) => order(a) - order(b));
}

function singleTable(experiment) {
  const rows = experiment.runs[0].summary?.rows ?? [];
  const present = statisticsOf(rows).filter((name) => rows.some((row) => row[name] !== undefined && !(name === 'diverged' && !row[name])));
  return { columns: [...namesOf(rows), ...present], rows };
}

// Means side by side, or medians where the figures show them, with their ratio to the first run's.
function comparedTable(experiment) {
  const statistic = experiment.figures.some(({ usual }) => usual === 'median') ? 'median' : 'mean';
  const runs = experiment.runs.map((run) => run.summary?.rows ?? []);
  const names = namesOf(runs.flat());
  const joined = new Map();
  runs.forEach((rows, index) => {
    for (const row of rows) {
      const key = JSON.stringify(names.map((name) => row[name]));
      if (!joined.has(key)) joined.set(key, Object.fromEntries(names.map((name) => [name, row[name]])));
      joined.get(key)[`${statistic} · ${experiment.runs[index].label}`] = row[statistic];
    }
  });
  const first = `${statistic} · ${experiment.runs[0].label}`;
  const columns = [...names, first];
  for (const run of experiment.runs.slice(1)) {
    const [centre, ratio] = [`${statistic} · ${run.label}`, `ratio · ${run.label}`];
    columns.push(centre, ratio);
    for (const row of joined.values()) {
      const value = toNumber(row[centre]) / toNumber(row[first]);
      row[ratio] = Number.isFinite(value) ? value : null;
    }
  }
  return { columns, rows: [...joined.values()] };
}

const isNumber = (value) => typeof value === 'number' || value === null || value === 'inf' || value === '-inf';

function compare(a, b) {
  if (isNumber(a) && isNumber(b)) {
    const [x, y] = [toNumber(a), toNumber(b)];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return x < y ? -1 : Number(x > y);
  }
  return String(a ?? '').localeCompare(String(b ?? ''), undefined, { numeric: true });
}

// Saves a table, a list of rows of which the first one names the columns, with all digits.
function csvButton(name, table) {
  const cell = (value) => csvField(value === null ? 'nan' : value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : value);
  return element('button', { class: 'small', type: 'button', 'data-save': 'table', title: `Save ${name} as CSV`, 'aria-label': `Save ${name} as CSV`,
    onclick: () => save(`${slug(name)}.csv`, 'text/csv', `${table().map((row) => row.map(cell).join(',')).join('\n')}\n`) }, 'CSV');
}

// Sorted by a click on a column's head, filtered by words; only some rows at a time are elements.
function dataTable({ columns, rows }, caption) {
  const step = 100;
  const numeric = new Set(columns.filter((name) => rows.every((row) => row[name] === undefined || isNumber(row[name]))));
  const texts = rows.map((row) => columns.map((name) => row[name] ?? '').join(' ').toLowerCase());
  const state = { by: null, down: false, words: [], limit: step };
  const body = element('tbody');
  const status = element('span', { class: 'muted', role: 'status' });
  const more = element('button', { class: 'small', type: 'button', onclick: () => { state.limit += 10 * step; fill(); } }, 'Show more');
  const filter = element('input', { type: 'search', placeholder: 'Filter, e.g. vclip 0.5', 'aria-label': `Filter ${caption}`, oninput: () => {
    state.words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    state.limit = step;
    fill();
  } });
  const heads = columns.map((name) => element('th', { scope: 'col', class: numeric.has(name) && 'number' },
    element('button', { type: 'button', onclick: () => {
      state.down = state.by === name && !state.down;
      state.by = name;
      heads.forEach((head, i) => { if (columns[i] === name) head.setAttribute('aria-sort', state.down ? 'descending' : 'ascending'); else head.removeAttribute('aria-sort'); });
      fill();
    } }, name.replace(/_/g, ' '))));
  function chosenRows() {
    const chosen = rows.map((_, i) => i).filter((i) => state.words.every((word) => texts[i].includes(word)));
    if (state.by) chosen.sort((a, b) => (state.down ? -1 : 1) * compare(rows[a][state.by], rows[b][state.by]));
    return chosen;
  }
  function fill() {
    const chosen = chosenRows();
    body.replaceChildren(...chosen.slice(0, state.limit).map((i) => element('tr', {}, columns.map((name) => element('td', { class: numeric.has(name) && 'number', 'data-name': name.replace(/_/g, ' ') }, formatCell(rows[i][name]))))));
    const part = Math.min(chosen.length, state.limit);
    status.textContent = part < chosen.length ? `${part} of ${count(chosen.length, 'row')}` : count(chosen.length, 'row');
    more.hidden = part >= chosen.length;
  }
  fill();
  return element('div', { class: 'data' }, element('div', { class: 'data-head' }, filter, status, csvButton(caption, () => [columns, ...chosenRows().map((i) => columns.map((name) => rows[i][name]))])),
    element('div', { class: 'scroll tall' }, element('table', {}, element('caption', { class: 'offscreen' }, caption), element('thead', {}, element('tr', {}, heads)), body)), more);
}

// Content is built when it is first looked at.
function folded(title, build) {
  const node = element('details', {}, element('summary', {}, title));
  node.addEventListener('toggle', () => { if (node.open && node.children.length === 1) node.append(build()); });
  return node;
}

// ---- Settings -----------------------------------------------------------------------------------

function flatten(value, path, out) {
  if (value && typeof value === 'object' && !Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value)) flatten(inner, path ? `${path}.${name}` : name, out);
  } else {
    out[path] = JSON.stringify(value);
  }
  return out;
}

function settings(experiment) {
  const parts = [];
  if (experiment.compared) {
    const flat = experiment.runs.map((run) => flatten(run.config ?? {}, '', {}));
    const names = [...new Set(flat.flatMap(Object.keys))].filter((name) => flat.some((one) => one[name] !== flat[0][name]));
    parts.push(element('p', {}, names.length ? 'Where the settings differ:' : 'The settings are the same.'));
    if (names.length) {
      parts.push(element('div', { class: 'scroll' }, element('table', {},
        element('thead', {}, element('tr', {}, element('th', {}, 'setting'), experiment.runs.map((run) => element('th', {}, run.label)))),
        element('tbody', {}, names.map((name) => element('tr', {}, element('th', { scope: 'row' }, name), flat.map((one) => element('td', {}, one[name] ?? '–'))))))),
      csvButton(`Settings of ${experiment.name}`, () => [['setting', ...experiment.runs.map((run) => run.label)], ...names.map((name) => [name, ...flat.map((one) => one[name])])]));
    }
  }
  for (const run of experiment.runs) {
    const text = JSON.stringify(run.config, null, 2);
    if (experiment.compared) parts.push(element('h4', {}, run.label));
    parts.push(element('div', { class: 'settings' }, copyButton(text), element('pre', { tabindex: 0 }, text)));
  }
  return element('div', {}, parts);
}

function rerun(experiment) {
  const folder = experiment.compared ? null : experiment.runs[0].label;
  return element('div', {}, !report.built_in.includes(experiment.name) ? null : commandLine(`medgrad reproduce ${experiment.name}`),
    element('p', { class: 'muted' }, 'The settings above are a file of the result folder, to change and run:'),
    commandLine(`medgrad run ${folder ? `${folder}/` : ''}config.json`));
}
