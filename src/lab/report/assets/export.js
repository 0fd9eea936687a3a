// export.js: what a panel shows as a file: numbers (CSV), pixels (PNG), lines (SVG).

function save(name, type, content) {
  const url = typeof content === 'string' && content.startsWith('data:') ? content : URL.createObjectURL(new Blob([content], { type }));
  const link = element('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const fileName = (panel, ending) => `${[panel.experiment.name, panel.figure.id, panel.id].filter(Boolean).map(slug).join('-')}.${ending}`;

const csvField = (value) => (/[",\r\n]/.test(value) ? `"${String(value).replace(/"/g, '""')}"` : String(value));

function panelCsv(panel) {
  const lines = [];
  const number = (value) => (Number.isNaN(value) ? 'nan' : Number.isFinite(value) ? String(value) : value > 0 ? 'inf' : '-inf');
  if (panel.heat) {
    const { x: columns, z, median, label } = panel.heat;
    lines.push([panel.y.label || 'y', panel.x.label || 'x', ...(median ? ['mean', 'median'].map((name) => `${name} ${label || 'value'}`) : [label || 'value'])].map(csvField).join(','));
    panel.heat.y.forEach((y, i) => columns.forEach((x, j) => {
      const at = i * columns.length + j;
      lines.push([csvField(y), csvField(x), number(z[at]), ...(median ? [number(median[at])] : [])].join(','));
    }));
  } else {
    const y = panel.y.label || 'y';
    const columns = [['low', 'min'], ['high', 'max'], ['se', 'standard error'], ['median', 'median'], ['lower', '10 % quantile'], ['upper', '90 % quantile']]
      .filter(([list]) => panel.series.some((series) => series[list]));
    lines.push(['series', panel.x.label || 'x', columns.length ? `mean ${y}` : y, ...columns.map(([, name]) => name)].map(csvField).join(','));
    for (const series of panel.series) {
      series.x.forEach((x, i) => lines.push([csvField(series.name), number(x), number(series.y[i]),
        ...columns.map(([list]) => (series[list] ? number(series[list][i]) : ''))].join(',')));
    }
  }
  return `${lines.join('\n')}\n`;
}

const xml = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');

// The panel as it is on the page, on white, with a legend.
function panelSvg(panel) {
  if (panel.heat) {
    const copy = drawHeat(panel);
    copy.setAttribute('style', 'color:#1d2733;background:#fff;font-family:Helvetica,Arial,sans-serif');
    return new XMLSerializer().serializeToString(copy);
  }
  const { chart } = panel;
  const theme = themes.light;
  const { x, y } = chart.scales;
  const area = chart.chartArea;
  const visible = panel.series.filter((series) => shown(panel.experiment, series));
  const entries = visible.length > manySeries ? legendOf(visible).map((entry) => ({ ...entry, shade: null, run: 0 })) : visible;
  const perRow = Math.max(1, Math.floor(chart.width / 170));
  const height = chart.height + Math.ceil(entries.length / perRow) * 18 + 30;
  const out = [];
  const r = (value) => Math.round(value * 100) / 100;
  const text = (px, py, content, more = '') => out.push(`<text x="${r(px)}" y="${r(py)}" ${more}>${xml(content)}</text>`);
  const points = (list) => list.map(([px, py]) => `${r(px)},${r(py)}`).join(' ');
  const stroke = (series) => `stroke="${colourOf(series, theme)}" stroke-width="1.8" fill="none"${dashOf(series).length ? ` stroke-dasharray="${dashOf(series).join(' ')}"` : ''}`;

  out.push(`<svg xmlns="http://www.w3.org/2000/svg" width="${chart.width}" height="${height}" viewBox="0 -24 ${chart.width} ${height}" font-family="Helvetica,Arial,sans-serif" font-size="12" fill="${theme.text}">`);
  out.push(`<rect y="-24" width="${chart.width}" height="${height}" fill="#fff"/><clipPath id="area"><rect x="${r(area.left)}" y="${r(area.top)}" width="${r(area.width)}" height="${r(area.height)}"/></clipPath>`);
  text(chart.width / 2, -8, panel.title ?? '', 'text-anchor="middle" font-weight="bold"');
  for (const tick of x.ticks) {
    const px = x.getPixelForValue(tick.value);
    out.push(`<path d="M${r(px)} ${r(area.top)}V${r(area.bottom + 4)}" stroke="${theme.grid}"/>`);
    text(px, area.bottom + 17, tickLabel(tick.value, x), 'text-anchor="middle"');
  }
  for (const tick of y.ticks) {
    const py = y.getPixelForValue(tick.value);
    out.push(`<path d="M${r(area.left - 4)} ${r(py)}H${r(area.right)}" stroke="${theme.grid}"/>`);
    text(area.left - 7, py + 4, tickLabel(tick.value, y), 'text-anchor="end"');
  }
  out.push(`<path d="M${r(area.left)} ${r(area.top)}V${r(area.bottom)}H${r(area.right)}" stroke="${theme.axis}" fill="none"/><g clip-path="url(#area)">`);
  for (const series of visible) {
    const band = bandOf(series, panel.figure);
    const fill = `fill="${colourOf(series, theme)}" fill-opacity="0.15"`;
    if (band) {
      for (const list of stretches(series, band, x, y)) {
        out.push(`<polygon points="${points([...list.map(([px, , top]) => [px, top]), ...list.map(([px, low]) => [px, low]).reverse()])}" ${fill}/>`);
      }
    }
    if (series.style === 'area') out.push(`<polygon points="${points(Array.from(series.x, (v, i) => [x.getPixelForValue(v), y.getPixelForValue(series.y[i])]))}" ${fill}/>`);
  }
  for (const series of [...visible].sort((a, b) => Boolean(dashOf(a).length) - Boolean(dashOf(b).length))) {
    let line = [];
    const flush = () => { if (line.length > 1) out.push(`<polyline points="${points(line)}" ${stroke(series)}/>`); line = []; };
    for (const point of pointsOf(series, panel)) {
      if (Number.isNaN(point.y)) { flush(); continue; }
      const at = [x.getPixelForValue(point.x), y.getPixelForValue(point.y)];
      if (series.style === 'points') out.push(`<circle cx="${r(at[0])}" cy="${r(at[1])}" r="2.5" fill="${colourOf(series, theme)}"/>`);
      else line.push(at);
    }
    flush();
  }
  out.push('</g>');
  text(area.left + area.width / 2, chart.height - 4, panel.x.label ?? '', 'text-anchor="middle"');
  text(0, 0, panel.y.label ?? '', `text-anchor="middle" transform="translate(12 ${r(area.top + area.height / 2)}) rotate(-90)"`);
  entries.forEach((series, i) => {
    const [px, py] = [10 + (i % perRow) * 170, chart.height + 12 + Math.floor(i / perRow) * 18];
    out.push(`<path d="M${px} ${py - 4}h22" ${stroke(series)}/>`);
    text(px + 28, py, series.name);
  });
  out.push('</svg>');
  return out.join('\n');
}

function savePng(panel) {
  if (!panel.heat) {
    save(fileName(panel, 'png'), 'image/png', panel.chart.toBase64Image());
    return;
  }
  const image = new Image();
  image.onload = () => {
    const canvas = element('canvas', { width: image.width * 2, height: image.height * 2 });
    const context = canvas.getContext('2d');
    context.fillStyle = '#fff';
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    save(fileName(panel, 'png'), 'image/png', canvas.toDataURL());
  };
  const box = drawHeat(panel).viewBox.baseVal;
  image.src = `data:image/svg+xml,${encodeURIComponent(panelSvg(panel).replace('<svg ', `<svg width="${box.width}" height="${box.height}" `))}`;
}
