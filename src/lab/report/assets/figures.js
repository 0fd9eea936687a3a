// figures.js: sections to experiments, their figures put together from one or several runs, and how each key looks.

// Sections with the same name are runs of one experiment.
function groupSections(sections) {
  const experiments = new Map();
  for (const section of sections) {
    if (!experiments.has(section.name)) experiments.set(section.name, { name: section.name, runs: [] });
    experiments.get(section.name).runs.push(section);
  }
  return [...experiments.values()].map((experiment) => {
    const first = experiment.runs[0].summary ?? {};
    const figures = mergeFigures(experiment.runs);
    return {
      ...experiment,
      id: slug(experiment.name),
      title: first.title || experiment.name,
      description: first.description ?? '',
      compared: experiment.runs.length > 1,
      figures,
      hiddenKeys: new Set(),
      hiddenRuns: new Set(),
      legends: [],  // what to call when they change
    };
  });
}

const numbers = (list) => (list && list.length ? Float64Array.from(list, toNumber) : null);

// Panels with the same ids lie on top of each other; heat maps of several runs side by side.
function mergeFigures(runs) {
  const merged = new Map();
  runs.forEach((run, index) => {
    for (const figure of run.figures?.figures ?? []) {
      if (!merged.has(figure.id)) {
        merged.set(figure.id, { id: figure.id, title: figure.title, caption: figure.caption, columns: figure.columns ?? 2, paper: figure.paper, band: figure.band, usual: figure.statistic ?? 'mean', panels: [] });
      }
      const { panels } = merged.get(figure.id);
      for (const panel of figure.panels ?? []) {
        let target = panel.heat ? null : panels.find((other) => other.id === panel.id && !other.heat);
        if (!target) {
          target = { ...panel, x: panel.x ?? {}, y: panel.y ?? {}, series: [], run: index };
          if (panel.heat) {
            target.heat = { ...panel.heat, z: Float64Array.from(panel.heat.z, toNumber), median: numbers(panel.heat.median) };
            if (runs.length > 1) target.title = [panel.title, run.label].filter(Boolean).join(' · ');
          }
          panels.push(target);
        }
        for (const series of panel.series ?? []) target.series.push(readSeries(series, run, index, runs.length > 1));
      }
    }
  });
  return [...merged.values()].map(withStatistics);
}

// What a figure can show of its runs, and what it shows at first.
function withStatistics(figure) {
  const all = figure.panels.flatMap((panel) => panel.series);
  const has = (name) => all.some((series) => series[name]?.some(Number.isFinite));
  const [median, quantiles, range, error] = ['median', 'lower', 'low', 'se'].map(has);
  const family = all.some((series) => series.shade !== null);
  const spreads = {
    median: [['quantiles', '10–90 %', quantiles], ['range', figure.band || 'min–max', range], ['none', 'off', true]],
    mean: [['range', figure.band || 'min–max', range], ['error', '± s.e.', error], ['none', 'off', true]],
  };
  for (const statistic of Object.keys(spreads)) spreads[statistic] = spreads[statistic].filter(([, , there]) => there).map(([id, name]) => ({ id, name }));
  const both = median || figure.panels.some((panel) => panel.heat?.median);
  const statistic = both ? figure.usual : 'mean';
  // The errors of many curves would cover each other.
  const spread = family && !quantiles && !range ? 'none' : spreads[statistic][0].id;
  return Object.assign(figure, { keys: legendOf(all), both, spreads, statistic, spread });
}

// The numbers of a series that its figure shows now.
const valuesOf = (series, figure) => (figure.statistic === 'median' && series.median ? series.median : series.y);

function readSeries(series, run, index, compared) {
  return {
    method: series.name || series.key,
    name: compared ? `${series.name || series.key} · ${run.label}` : series.name || series.key,
    key: series.key ?? '',
    run: index,
    compared,
    style: series.style ?? 'line',
    shade: series.shade ?? null,
    x: Float64Array.from(series.x ?? [], toNumber),
    y: Float64Array.from(series.y ?? [], toNumber),
    low: numbers(series.low),
    high: numbers(series.high),
    se: numbers(series.se),
    median: numbers(series.median),
    lower: numbers(series.lower),
    upper: numbers(series.upper),
    diverged: numbers(series.diverged),
  };
}

// What two names have in common, as in layout.cc.
function commonName(a, b) {
  if (b.startsWith(a)) return a;
  if (a.startsWith(b)) return b;
  let n = 0;
  while (a[n] === b[n]) n += 1;
  const cut = a.slice(0, n).search(/[,(:][^,(:]*$/);
  return cut < 0 ? '' : a.slice(0, cut).trim();
}

// One entry per key.
function legendOf(all) {
  const entries = new Map();
  for (const { key, method, style, shade } of all) {
    const entry = entries.get(key);
    if (entry) {
      entry.name = commonName(entry.name, method);
      entry.family = entry.family && shade !== null;
      if (entry.style === 'area') entry.style = style;  // the line tells more than what it surrounds
    } else entries.set(key, { key, name: method, style, family: shade !== null });
  }
  return [...entries.values()].map((entry) => ({ ...entry, name: entry.name || entry.key }));
}

// ---- Looks ------------------------------------------------------------------------------------

const looks = new Map(report.looks.map((look) => [look.key, look]));
let nextLook = 0;
function lookOf(key) {
  if (!looks.has(key)) {
    looks.set(key, report.others[nextLook % report.others.length]);
    nextLook += 1;
  }
  return looks.get(key);
}

const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
function mix(hex, other, part) {
  const b = channels(other);
  return `#${channels(hex).map((a, i) => Math.round(a + (b[i] - a) * part).toString(16).padStart(2, '0')).join('')}`;
}
const transparent = (hex, opacity) => `rgba(${channels(hex).join(', ')}, ${opacity})`;

// By its shade in a family, as in palette.cc; paler for the later ones of several runs.
function colourOf(series, theme) {
  const look = lookOf(series.key);
  const [pale, full, deep] = look[`${theme.name}_ramp`];
  const place = 2 * Math.max(0, Math.min(1, series.shade ?? 0.5));
  const own = place < 1 ? mix(pale, full, place) : mix(full, deep, place - 1);
  return mix(own, pale, Math.min(0.4 * series.run, 1));
}

const runDashes = [null, [6, 4], [2, 3], [9, 3, 2, 3], [12, 5]];
// Where runs are compared, dashes tell them apart; else methods. Families are solid.
function dashOf(series) {
  if (series.run > 0) return runDashes[series.run % runDashes.length] ?? [4, 2];
  if (series.compared || (series.shade ?? null) !== null) return series.style === 'dashed' ? [7, 4] : [];
  const own = lookOf(series.key).dash;
  return series.style === 'dashed' && !own.length ? [7, 4] : own;
}

// ---- Themes -----------------------------------------------------------------------------------

const darkPreference = window.matchMedia('(prefers-color-scheme: dark)');
const themes = {
  light: { name: 'light', surface: report.light_surface, text: '#1d2733', muted: '#5b6875', grid: '#e6eaee', axis: '#aab4be', raised: 'rgba(255,255,255,0.97)' },
  dark: { name: 'dark', surface: report.dark_surface, text: '#e4eaf0', muted: '#9aa8b5', grid: '#29323c', axis: '#4b5865', raised: 'rgba(32,40,49,0.97)' },
};
let printing = false;
const currentTheme = () => (darkPreference.matches && !printing ? themes.dark : themes.light);
