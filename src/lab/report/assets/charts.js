// charts.js: a panel with axes, drawn by Chart.js.

Chart.defaults.font.family = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
Chart.defaults.font.size = 12;
Chart.defaults.animation = false;

const manySeries = 12;   // more than these: the tooltip shows the nearest curve only
const manyPoints = 60;   // more than these: no markers, and standard errors as a band

const shown = (experiment, series) => !experiment.hiddenKeys.has(series.key) && !experiment.hiddenRuns.has(series.run);

// ---- What the axes show -------------------------------------------------------------------------

function rangeOf(axis, log, lists, share = 0.03) {
  let min = Infinity;
  let max = -Infinity;
  for (const list of lists) {
    for (const value of list) {
      if (!Number.isFinite(value) || (log && value <= 0)) continue;
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  if (!(min <= max)) [min, max] = log ? [1, 10] : [0, 1];
  if (log) {
    const [a, b] = [Math.log10(min), Math.log10(max)];
    const margin = b > a ? share * (b - a) : 0.3;
    [min, max] = [Math.max(10 ** (a - margin), 1e-300), Math.min(10 ** (b + margin), 1e300)];
  } else {
    const margin = max > min ? share * (max - min) : Math.max(0.5 * Math.abs(min), 1e-6);
    [min, max] = [Math.max(min - margin, -1e300), Math.min(max + margin, 1e300)];
  }
  const fits = (limit) => typeof limit === 'number' && (!log || limit > 0);
  if (fits(axis.min)) min = axis.min;
  if (fits(axis.max)) max = axis.max;
  return min < max ? { min, max } : { min, max: log ? min * 10 : min + 1 };
}

const plusMinus = (series, sign) => series.y.map((y, i) => y + sign * series.se[i]);

// The band of a series as [low, high], or null.
function bandOf(series, { spread }) {
  if (spread === 'quantiles' && series.lower) return [series.lower, series.upper];
  if (spread === 'range' && series.low) return [series.low, series.high];
  if (spread === 'error' && series.se) {
    series.band ??= [plusMinus(series, -1), plusMinus(series, +1)];
    return series.band;
  }
  return null;
}

// Ticks of a linear axis: multiples of 1, 2 or 5 times a power of ten.
function linearTicks(min, max, most) {
  const rough = (max - min) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.8);
  const ticks = [];
  for (let i = Math.ceil(min / step - 1e-9); i <= max / step + 1e-9 && ticks.length < 50; i += 1) ticks.push({ value: Number((i * step).toPrecision(12)) });
  return ticks;
}

// Ticks of a logarithmic axis: powers of ten, and 2 and 5 times them where there are few.
function logTicks(min, max, most) {
  const first = Math.floor(Math.log10(min));
  const last = Math.ceil(Math.log10(max));
  const span = Math.log10(max / min);
  const factors = span < 1.1 ? [1, 2, 3, 5, 7] : span < 2.3 ? [1, 2, 5] : [1];
  const step = Math.max(1, Math.ceil((last - first) / most));
  const ticks = [];
  for (let e = Math.ceil(first / step) * step; e <= last; e += step) {
    for (const factor of factors) {
      const value = factor * 10 ** e;
      if (value >= min * 0.999 && value <= max * 1.001) ticks.push({ value });
    }
  }
  return ticks;
}

// Powers of ten are written as such if any of them is far from 1 and there are no other ticks.
function tickLabel(value, scale) {
  const exponentOf = (number) => Math.round(Math.log10(number));
  const isPower = (number) => Math.abs(number / 10 ** exponentOf(number) - 1) < 1e-9;
  const far = (tick) => tick.value > 1.5e3 || tick.value < 0.005;
  if (scale.type === 'logarithmic' && scale.ticks.some(far) && scale.ticks.every((tick) => isPower(tick.value))) {
    const exponent = exponentOf(value);
    if (exponent !== 0 && exponent !== 1) return `10${superscript(exponent)}`;
  }
  return formatNumber(Number(value.toPrecision(6)), 3);
}

// ---- Drawn beside what Chart.js draws -----------------------------------------------------------

function clipped(chart, draw) {
  const { ctx, chartArea: area } = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
  ctx.clip();
  draw(ctx, chart.scales.x, chart.scales.y);
  ctx.restore();
}

// Runs of neighbouring points that can be drawn, as lists of pixels.
function stretches(series, [low, high], x, y) {
  const all = [];
  let current = null;
  const floor = y.type === 'logarithmic' ? y.min : -Infinity;
  for (let i = 0; i < series.x.length; i += 1) {
    const top = high[i];
    const bottom = Math.max(low[i], floor);
    if (!Number.isFinite(series.x[i]) || Number.isNaN(top) || Number.isNaN(bottom) || top < floor) {
      current = null;
      continue;
    }
    if (!current) all.push(current = []);
    current.push([x.getPixelForValue(series.x[i]), y.getPixelForValue(Math.min(bottom, 1e300)), y.getPixelForValue(Math.min(top, 1e300))]);
  }
  return all;
}

function drawBand(ctx, series, band, x, y, colour) {
  const whiskers = band === series.band && series.x.length <= manyPoints;
  for (const points of stretches(series, band, x, y)) {
    ctx.beginPath();
    if (whiskers) {
      for (const [px, bottom, top] of points) {
        ctx.moveTo(px, bottom); ctx.lineTo(px, top);
        ctx.moveTo(px - 3, bottom); ctx.lineTo(px + 3, bottom);
        ctx.moveTo(px - 3, top); ctx.lineTo(px + 3, top);
      }
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1.2;
      ctx.stroke();
    } else {
      points.forEach(([px, , top], i) => (i ? ctx.lineTo(px, top) : ctx.moveTo(px, top)));
      for (let i = points.length - 1; i >= 0; i -= 1) ctx.lineTo(points[i][0], points[i][1]);
      ctx.closePath();
      ctx.fillStyle = transparent(colour, 0.14 / (1 + series.run));
      ctx.fill();
    }
  }
}

// Where runs diverged, at the top.
function drawCrosses(ctx, series, x, y) {
  ctx.strokeStyle = colourOf(series, currentTheme());
  ctx.lineWidth = 2;
  ctx.beginPath();
  for (const value of series.diverged) {
    const px = x.getPixelForValue(value);
    ctx.moveTo(px - 4, y - 4); ctx.lineTo(px + 4, y + 4);
    ctx.moveTo(px - 4, y + 4); ctx.lineTo(px + 4, y - 4);
  }
  ctx.stroke();
}

// Moments on the x axis, with what happened there written along their lines.
function drawMarks(ctx, marks, x, area) {
  ctx.strokeStyle = currentTheme().axis;
  ctx.fillStyle = currentTheme().text;
  ctx.setLineDash([4, 4]);
  ctx.textAlign = 'right';
  ctx.font = `11px ${Chart.defaults.font.family}`;
  for (const mark of marks) {
    const px = x.getPixelForValue(mark.x);
    ctx.beginPath();
    ctx.moveTo(px, area.top);
    ctx.lineTo(px, area.bottom);
    ctx.stroke();
    ctx.save();
    ctx.translate(px + 12, area.top + 6);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText(mark.text ?? '', 0, 0);
    ctx.restore();
  }
}

const extras = {
  id: 'medgrad',
  beforeDraw(chart) {
    const { ctx } = chart;
    ctx.save();
    ctx.fillStyle = currentTheme().surface;
    ctx.fillRect(0, 0, chart.width, chart.height);
    ctx.restore();
  },
  beforeDatasetsDraw(chart) {
    clipped(chart, (ctx, x, y) => {
      if (chart.panel?.marks) drawMarks(ctx, chart.panel.marks, x, chart.chartArea);  // no panel yet in the first drawing
      chart.data.datasets.forEach(({ series }, i) => {
        if (!chart.isDatasetVisible(i)) return;
        const colour = colourOf(series, currentTheme());
        const band = bandOf(series, chart.panel.figure);
        if (band) drawBand(ctx, series, band, x, y, colour);
        if (series.style === 'area') {
          ctx.beginPath();
          series.x.forEach((value, k) => ctx.lineTo(x.getPixelForValue(value), y.getPixelForValue(series.y[k])));
          ctx.closePath();
          ctx.fillStyle = transparent(colour, 0.13);
          ctx.fill();
        }
      });
    });
  },
  afterDatasetsDraw(chart) {
    clipped(chart, (ctx, x) => chart.data.datasets.forEach(({ series }, i) => {
      if (series.diverged && chart.isDatasetVisible(i)) drawCrosses(ctx, series, x, chart.chartArea.top + 9);
    }));
    const active = chart.tooltip?.getActiveElements?.() ?? [];
    if (!active.length || chart.panel.equal_aspect) return;
    clipped(chart, (ctx) => {
      ctx.strokeStyle = currentTheme().axis;
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      ctx.moveTo(active[0].element.x, chart.chartArea.top);
      ctx.lineTo(active[0].element.x, chart.chartArea.bottom);
      ctx.stroke();
    });
  },
};

// ---- The chart of a panel -----------------------------------------------------------------------

function pointsOf(series, panel) {
  const { logX, logY } = panel;
  const values = valuesOf(series, panel.figure);
  const points = Array.from(series.x, (x, i) => {
    const y = values[i];
    const gap = !Number.isFinite(x) || !Number.isFinite(y) || (logX && x <= 0) || (logY && y <= 0);
    return { x, y: gap ? NaN : y };
  });
  if (series.style === 'area' && points.length) points.push(points[0]);
  return points;
}

function tooltipLabel({ dataset, dataIndex }) {
  const { series, panel } = dataset;
  const { figure } = panel;
  const i = dataIndex % series.x.length;
  let text = `${series.name}: ${formatNumber(valuesOf(series, figure)[i])}`;
  if (panel.equal_aspect) text = `${series.name}: (${formatNumber(series.x[i])}, ${formatNumber(series.y[i])})`;
  if (figure.statistic === 'mean' && series.se && Number.isFinite(series.se[i])) text += ` ± ${formatNumber(series.se[i], 2)}`;
  const [low, high] = figure.statistic === 'median' && figure.spread !== 'range' ? [series.lower, series.upper] : [series.low, series.high];
  if (low) text += `  [${formatNumber(low[i], 3)} … ${formatNumber(high[i], 3)}]`;
  return text;
}

function createChart(panel, canvas) {
  const crowded = panel.series.length > manySeries;
  const axis = (which) => ({
    type: 'linear',
    bounds: 'data',
    title: { display: Boolean(panel[which].label), text: panel[which].label },
    border: {},
    ticks: { maxRotation: 0, autoSkipPadding: 12, callback(value) { return tickLabel(value, this); } },
    afterBuildTicks(scale) {
      const most = Math.max(2, which === 'x' ? Math.min(8, Math.floor(scale.width / 48)) : Math.min(8, Math.floor(scale.height / 32)));
      scale.ticks = (scale.type === 'logarithmic' ? logTicks : linearTicks)(scale.min, scale.max, most);
    },
  });
  const chart = new Chart(canvas, {
    type: 'scatter',
    data: { datasets: [] },
    plugins: [extras],
    options: {
      responsive: true,
      maintainAspectRatio: false,
      resizeDelay: 60,
      interaction: panel.equal_aspect || crowded ? { mode: 'nearest', intersect: false } : { mode: 'nearest', axis: 'x', intersect: false },
      onResize: () => panel.equal_aspect && setTimeout(() => panel.chart && fitAspect(panel)),
      layout: { padding: { top: 6, right: 8 } },
      scales: { x: axis('x'), y: axis('y') },
      plugins: {
        legend: { display: false },
        tooltip: {
          callbacks: {
            title: (items) => (panel.equal_aspect || !items.length ? '' : `${panel.x.label || 'x'} = ${formatNumber(items[0].parsed.x)}`),
            label: tooltipLabel,
            labelColor: ({ dataset }) => ({ borderColor: dataset.borderColor, backgroundColor: dataset.borderColor, borderWidth: 0, borderRadius: 2 }),
          },
          itemSort: (a, b) => b.parsed.y - a.parsed.y,
          multiKeyBackground: 'transparent', borderWidth: 1, padding: 9, boxWidth: 9, boxHeight: 9, boxPadding: 5, caretSize: 0, caretPadding: 10,
        },
      },
    },
  });
  chart.panel = panel;
  panel.chart = chart;
  updateChart(panel);
}

function datasetOf(series, panel, theme) {
  const colour = colourOf(series, theme);
  const marks = series.style === 'points' || (series.x.length <= manyPoints && panel.series.length <= manySeries && series.style === 'line' && !panel.equal_aspect && panel.series.every(({ shade }) => shade === null));
  const dash = dashOf(series);
  return {
    label: series.name, series, panel,
    data: pointsOf(series, panel),
    hidden: !shown(panel.experiment, series),
    showLine: series.style !== 'points',
    borderColor: colour,
    backgroundColor: colour,
    borderDash: dash,
    order: dash.length ? 0 : 1,  // dashed curves on top: their gaps show what lies below
    borderWidth: series.style === 'dashed' ? 1.6 : panel.equal_aspect && series.style === 'line' ? 3.5 : 2,
    borderJoinStyle: 'round',
    pointRadius: !marks ? 0 : series.style === 'points' ? 3 : series.x.length > 25 ? 1.5 : 2.5,
    pointHoverRadius: 4,
    pointHitRadius: 6,
  };
}

function updateChart(panel) {
  const { chart, experiment } = panel;
  if (!chart) return;
  const theme = currentTheme();
  chart.data.datasets = panel.series.map((series) => datasetOf(series, panel, theme));
  const visible = panel.series.filter((series) => shown(experiment, series));
  const bands = visible.flatMap((series) => bandOf(series, panel.figure) ?? []);
  const { scales, plugins } = chart.options;
  for (const [which, log, lists] of [
    ['x', panel.logX, visible.map((series) => series.x)],
    ['y', panel.logY, visible.map((series) => valuesOf(series, panel.figure)).concat(bands)],
  ]) {
    const scale = scales[which];
    scale.type = log ? 'logarithmic' : 'linear';
    Object.assign(scale, rangeOf(panel[which], log, lists, which === 'x' ? 0.015 : 0.03));
    Object.assign(scale.grid, { color: theme.grid, borderColor: theme.axis, tickColor: theme.axis, tickLength: 4 });
    scale.ticks.color = theme.muted;
    scale.title.color = theme.text;
  }
  Object.assign(plugins.tooltip, { backgroundColor: theme.raised, borderColor: theme.axis, titleColor: theme.text, bodyColor: theme.text });
  chart.update();
  if (panel.equal_aspect) fitAspect(panel);
  describe(panel, visible);
}

// One unit is as long on either axis: the shorter range is widened.
function fitAspect(panel) {
  const { chart } = panel;
  const visible = panel.series.filter((series) => shown(panel.experiment, series));
  const [x, y] = [rangeOf(panel.x, false, visible.map((s) => s.x)), rangeOf(panel.y, false, visible.map((s) => s.y))];
  // The size of the area without what an earlier fit did to the labels.
  Object.assign(chart.options.scales.x, x);
  Object.assign(chart.options.scales.y, y);
  chart.update();
  const area = chart.chartArea;
  if (!(area.right > area.left + 20 && area.bottom > area.top + 20)) return;  // not on the screen now
  const unit = Math.max((x.max - x.min) / (area.right - area.left), (y.max - y.min) / (area.bottom - area.top));
  const widen = (range, pixels) => {
    const extra = (unit * pixels - (range.max - range.min)) / 2;
    return { min: range.min - extra, max: range.max + extra };
  };
  Object.assign(chart.options.scales.x, widen(x, area.right - area.left));
  Object.assign(chart.options.scales.y, widen(y, area.bottom - area.top));
  chart.update();
}

// What the figure shows, for those who cannot see it.
function describe(panel, visible) {
  const last = (series) => {
    const y = valuesOf(series, panel.figure);
    for (let i = y.length - 1; i >= 0; i -= 1) if (Number.isFinite(y[i])) return `${series.name} ends at ${formatNumber(y[i])} for ${formatNumber(series.x[i])}`;
    return `${series.name} has no finite value`;
  };
  const lost = visible.filter(({ diverged }) => diverged).map(({ name, diverged }) => `${name} diverged at ${diverged.map((x) => formatNumber(x)).join(', ')}`);
  const curves = panel.equal_aspect || visible.length > manySeries ? visible.map((series) => series.name) : visible.map(last).concat(lost);
  panel.canvas.setAttribute('aria-label', `${panel.title || 'Chart'}: ${panel.y.label || 'y'} against ${panel.x.label || 'x'}. ${curves.join('; ')}.`);
}
