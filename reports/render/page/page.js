// Draws the charts of a report, sorts its tables and adds filters to long ones. Everything it shows is in the page; text is
// only ever set as text.
'use strict';
(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');

  // Okabe and Ito's colours: told apart by all kinds of colour vision; darker on light paper, lighter on dark paper.
  const palette = {
    light: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#8a6d00', '#3a98d0', '#5a3e99', '#444444'],
    dark: ['#56b4e9', '#ff9e4a', '#2fd3a4', '#f0a3cb', '#f0e442', '#8fc7ff', '#b79cff', '#cccccc'],
  };

  const manyMarks = 3000; // a browser is slow with more elements than this

  const themeOf = (isDark) => {
    const ink = isDark ? '#e6edf3' : '#1b1f24', soft = isDark ? '#9aa4af' : '#59636e', line = isDark ? '#30363d' : '#d1d9e0';
    return {
      background: null,
      font: 'system-ui, sans-serif',
      view: {stroke: line},
      axis: {labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line, labelLimit: 220},
      legend: {labelColor: ink, titleColor: soft, labelLimit: 260, orient: 'bottom', columns: 6, symbolLimit: 60, symbolOpacity: 1},
      header: {labelColor: ink, titleColor: soft},
      title: {color: ink},
      mark: {color: palette[isDark ? 'dark' : 'light'][0]},
      text: {color: ink},
      rule: {color: soft},
      range: {category: palette[isDark ? 'dark' : 'light'], ordinal: tones()},
    };
  };

  // The colours of verdicts: better, worse, the same, open.
  const tones = () => {
    const style = getComputedStyle(document.documentElement);
    return ['better', 'worse', 'same', 'open'].map((name) => style.getPropertyValue('--' + name).trim());
  };

  // The compiler's remarks are about the specification, which readers did not write; its errors are thrown.
  const warn = console.warn;
  const withoutRemarks = async (work) => {
    console.warn = () => {};
    try {
      return await work();
    } finally {
      console.warn = warn;
    }
  };

  const isDarkNow = () => dark.matches && !matchMedia('print').matches;

  // A program without the chart library writes pages whose charts are tables.
  const figures = (typeof vegaEmbed === 'undefined' ? [] : [...document.querySelectorAll('figure[data-chart]')]).map((figure) => ({
    figure,
    plot: figure.querySelector('.plot'),
    spec: JSON.parse(figure.querySelector('script[type="application/json"]').textContent),
    view: null,
    curves: null,
  }));

  const rowsOf = (chart) => chart.spec.datasets.data;
  const columnsOf = (chart) => JSON.parse(chart.figure.dataset.columns);

  // Panels stand side by side where there is room, else one below the other.
  const fitPanels = (chart) => {
    if (!chart.spec.concat) return;
    const room = chart.plot.clientWidth;
    chart.spec.columns = room < (matchMedia('print').matches ? 500 : 800) ? 1 : chart.spec.concat.length;
    chart.spec.concat.forEach((panel, index) => {
      const shares = chart.spec.columns > 1;
      panel.width = Math.max(160, shares ? (room - 240) / chart.spec.columns - 30 : room - 240);
      panel.encoding.y.axis = shares && index > 0 ? {labels: false, ticks: false} : {};
    });
  };

  const draw = async (chart) => {
    try {
      if (chart.figure.dataset.curves !== undefined) {
        drawCurves(chart);
        chart.figure.dataset.drawn = 'yes';
        return;
      }
      if (chart.view) chart.view.finalize();
      const narrow = chart.plot.clientWidth < 520;
      const config = themeOf(isDarkNow());
      if (narrow) {
        config.legend.columns = 2;
        config.axis.labelLimit = 110;
      }
      fitPanels(chart);
      const renderer = rowsOf(chart).length > manyMarks ? 'canvas' : 'svg';
      const done = await withoutRemarks(() => vegaEmbed(chart.plot, chart.spec,
        {mode: 'vega-lite', renderer, actions: false, defaultStyle: false, config, logLevel: 1, tooltip: {theme: 'custom'}}));
      chart.view = done.view;
      const drawing = chart.plot.querySelector('svg, canvas');
      drawing.setAttribute('role', 'img');
      drawing.setAttribute('aria-label', chart.figure.querySelector('figcaption').textContent);
      chart.figure.dataset.drawn = 'yes';
    } catch (error) {
      chart.plot.textContent = 'This chart could not be drawn (' + error.message + '); its data is below.';
      chart.figure.dataset.drawn = 'no';
    }
  };

  // --- Curves of runs: zoom, smoothing, grouping ---

  const element = (parent, name, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  };

  // Every run of every cell; of a chart without its full data, each cell's mean as one run.
  const readCurves = (chart) => {
    const rows = rowsOf(chart), cells = new Map(), script = chart.figure.querySelector('script.full');
    const cellOf = (name) => {
      if (!cells.has(name)) cells.set(name, {name, tokens: null, runs: []});
      return cells.get(name);
    };
    for (const row of rows) {
      const cell = cellOf(row.cell);
      if (row.tokens !== null && row.step > 0) cell.tokens = row.tokens / row.step;
    }
    if (script) {
      for (const [[name, run], text] of JSON.parse(script.textContent).blocks) {
        const points = text.split('\n').map((line) => line.split(',').map((word) => word === '' ? null : Number(word)));
        cellOf(name).runs.push({run, points: points.filter(([, loss]) => loss !== null).map(([step, loss, seconds]) =>
          ({step, loss, seconds: seconds ?? null, low: loss, high: loss}))});
      }
    } else {
      for (const row of rows) {
        const cell = cellOf(row.cell);
        if (cell.runs.length === 0) cell.runs.push({run: 'mean', points: []});
        cell.runs[0].points.push({step: row.step, loss: row.loss, seconds: row.seconds, low: row.low, high: row.high});
      }
    }
    const names = chart.spec.encoding.color.scale.domain;
    return {cells: names.filter((name) => cells.has(name)).map((name) => ({...cells.get(name), index: names.indexOf(name)})),
      axes: chart.spec.params[0].bind.options, parts: chart.spec.params[1].bind.options, hidden: new Set(),
      axis: chart.spec.params[0].bind.options[0], part: chart.spec.params[1].bind.options[0], by: 'cell', smooth: 0, view: null};
  };

  // A running mean whose first values are not drawn towards 0.
  const smoothed = (points, weight) => {
    if (weight === 0) return points;
    let sums = {loss: 0, low: 0, high: 0}, share = 0;
    return points.map((point) => {
      share = share * weight + 1 - weight;
      const now = {...point};
      for (const key of Object.keys(sums)) {
        sums[key] = sums[key] * weight + point[key] * (1 - weight);
        now[key] = sums[key] / share;
      }
      return now;
    });
  };

  const meanOf = (runs) => {
    const steps = new Map();
    for (const run of runs) {
      for (const point of run) {
        const at = steps.get(point.step) ?? {step: point.step, loss: 0, n: 0, seconds: 0, clocks: 0, low: Infinity, high: -Infinity};
        at.loss += point.loss;
        at.n += 1;
        if (point.seconds !== null) {
          at.seconds += point.seconds;
          at.clocks += 1;
        }
        at.low = Math.min(at.low, point.low);
        at.high = Math.max(at.high, point.high);
        steps.set(point.step, at);
      }
    }
    return [...steps.values()].sort((a, b) => a.step - b.step).map((at) =>
      ({...at, loss: at.loss / at.n, seconds: at.clocks > 0 ? at.seconds / at.clocks : null}));
  };

  // What is drawn: lines of {name, index, points of {x, y, low, high}}.
  const linesOf = (state) => state.cells.filter((cell) => !state.hidden.has(cell.name)).flatMap((cell) => {
    const runs = cell.runs.map((run) => smoothed(run.points, state.smooth));
    const xOf = (point) => state.axis === 'seconds' ? point.seconds : state.axis === 'tokens' ? cell.tokens && cell.tokens * point.step : point.step;
    const line = (name, points) => ({name, index: cell.index, points: points.map((point) =>
      ({x: xOf(point), y: point.loss, low: point.low, high: point.high})).filter((point) => point.x !== null)});
    return state.by === 'cell' ? [line(cell.name, meanOf(runs))] : runs.map((points, i) => line(cell.name + ', ' + cell.runs[i].run, points));
  });

  const ticksOf = (low, high, wanted) => {
    const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    const ticks = [];
    for (let i = Math.ceil(low / step); i * step <= high; ++i) ticks.push(i * step);
    const format = new Intl.NumberFormat('en', step >= 1000 ? {notation: 'compact', maximumFractionDigits: 2} :
      {minimumFractionDigits: digits, maximumFractionDigits: digits});
    return ticks.map((value) => [value, format.format(value)]);
  };

  const shares = {'all': 0, 'the last half': 0.5, 'the last tenth': 0.9};

  // What the axes hold: the zoomed part, or the chosen part with the losses in it.
  const windowOf = (state, lines) => {
    if (state.view) return state.view;
    const longest = Math.max(0, ...lines.map((line) => line.points.length > 0 ? line.points.at(-1).x : 0));
    const shown = (line) => {
      const last = line.points.length > 0 ? line.points.at(-1).x : 0;
      return line.points.filter((point) => point.x >= shares[state.part] * last);
    };
    const points = lines.flatMap(shown);
    const left = Math.min(longest, ...points.map((point) => point.x));
    const low = points.reduce((least, point) => Math.min(least, point.low), Infinity);
    const high = points.reduce((most, point) => Math.max(most, point.high), -Infinity);
    const room = 0.04 * (high - low) || 0.01;
    return {x: [left, longest > left ? longest : left + 1], y: points.length > 0 ? [low - room, high + room] : [0, 1]};
  };

  const addChoice = (controls, chart, key, label, options) => {
    const set = document.createElement('span');
    set.append(label);
    for (const [value, title] of options) {
      const holder = document.createElement('label'), input = document.createElement('input');
      input.type = 'radio';
      input.name = chart.figure.dataset.chart + '_' + key;
      input.value = value;
      input.checked = chart.curves[key] === value;
      input.addEventListener('change', () => {
        chart.curves[key] = value;
        if (key !== 'by') chart.curves.view = null;
        drawCurves(chart);
      });
      holder.append(input, title);
      set.append(' ', holder);
    }
    controls.append(set);
  };

  const addControls = (chart) => {
    const state = chart.curves, controls = document.createElement('div'), names = document.createElement('div');
    controls.className = 'controls';
    names.className = 'names';
    const same = (options) => options.map((option) => [option, option]);
    if (state.axes.length > 1) addChoice(controls, chart, 'axis', 'against', same(state.axes));
    addChoice(controls, chart, 'part', 'of the curve', same(state.parts));
    if (state.cells.some((cell) => cell.runs.length > 1)) addChoice(controls, chart, 'by', 'lines', [['cell', 'mean and range'], ['run', 'each run']]);
    const holder = document.createElement('label'), slider = document.createElement('input'), shown = document.createElement('span');
    Object.assign(slider, {type: 'range', min: 0, max: 0.99, step: 0.01, value: 0});
    slider.addEventListener('input', () => {
      state.smooth = Number(slider.value);
      shown.textContent = ' ' + state.smooth.toFixed(2);
      drawCurves(chart);
    });
    shown.textContent = ' 0.00';
    holder.append('smoothing ', slider, shown);
    controls.append(holder);
    for (const cell of state.cells) {
      const button = document.createElement('button');
      button.type = 'button';
      const mark = element(button, 'svg', {viewBox: '0 0 10 10', 'aria-hidden': 'true'});
      element(mark, 'circle', {cx: 5, cy: 5, r: 5});
      button.append(cell.name);
      button.addEventListener('click', () => {
        if (!state.hidden.delete(cell.name)) state.hidden.add(cell.name);
        drawCurves(chart);
      });
      button.addEventListener('dblclick', () => {
        const isAlone = state.hidden.size === state.cells.length - 1 && !state.hidden.has(cell.name);
        state.hidden = new Set(isAlone ? [] : state.cells.map((other) => other.name).filter((name) => name !== cell.name));
        drawCurves(chart);
      });
      names.append(button);
    }
    chart.plot.after(names, controls);
    state.names = names;
  };

  const addZoom = (chart, svg, frame, scale, lines) => {
    const state = chart.curves;
    let begin = null, box = null, tip = null, cursor = null;
    const place = (event) => {
      const corner = svg.getBoundingClientRect();
      return [Math.min(Math.max(event.clientX - corner.left, frame.left), frame.right),
        Math.min(Math.max(event.clientY - corner.top, frame.top), frame.bottom)];
    };
    const clear = () => {
      tip?.remove();
      cursor?.remove();
      tip = cursor = null;
    };
    const tell = ([x, y]) => {
      clear();
      const nearest = lines.filter((line) => line.points.length > 0).map((line) => {
        const point = line.points.reduce((best, other) => Math.abs(scale.x(other.x) - x) < Math.abs(scale.x(best.x) - x) ? other : best);
        return {line, point};
      }).sort((a, b) => Math.abs(scale.y(a.point.y) - y) - Math.abs(scale.y(b.point.y) - y)).slice(0, 8).sort((a, b) => b.point.y - a.point.y);
      if (nearest.length === 0) return;
      cursor = element(svg, 'line', {x1: x, x2: x, y1: frame.top, y2: frame.bottom, stroke: scale.soft});
      tip = document.createElement('div');
      tip.className = 'tip';
      for (const {line, point} of nearest) {
        const row = document.createElement('div');
        row.textContent = point.y.toFixed(4) + '  ' + line.name + ' (' + state.axis + ' ' + Number(point.x.toPrecision(6)) + ')';
        tip.append(row);
      }
      tip.style.left = Math.min(x + 12, Math.max(0, frame.right - 260)) + 'px';
      tip.style.top = frame.top + 8 + 'px';
      chart.plot.append(tip);
    };
    svg.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      begin = place(event);
      clear();
    });
    svg.addEventListener('pointermove', (event) => {
      const [x, y] = place(event);
      if (begin === null) return tell([x, y]);
      box ??= element(svg, 'rect', {fill: scale.color, 'fill-opacity': 0.15, stroke: scale.color});
      box.setAttribute('x', Math.min(x, begin[0]));
      box.setAttribute('y', Math.min(y, begin[1]));
      box.setAttribute('width', Math.abs(x - begin[0]));
      box.setAttribute('height', Math.abs(y - begin[1]));
    });
    svg.addEventListener('pointerup', (event) => {
      const end = place(event), from = begin;
      begin = null;
      box?.remove();
      box = null;
      if (from === null || Math.abs(end[0] - from[0]) < 6) return;
      const sorted = (a, b) => a < b ? [a, b] : [b, a];
      const isFlat = Math.abs(end[1] - from[1]) < 6; // a stroke along the axis zooms along it
      state.view = {x: sorted(scale.atX(from[0]), scale.atX(end[0])), y: isFlat ? scale.window.y : sorted(scale.atY(from[1]), scale.atY(end[1]))};
      drawCurves(chart);
    });
    svg.addEventListener('pointerleave', () => {
      clear();
      box?.remove();
      begin = box = null;
    });
    svg.addEventListener('dblclick', () => {
      state.view = null;
      drawCurves(chart);
    });
  };

  const drawCurves = (chart) => {
    if (chart.curves === null) {
      chart.curves = readCurves(chart);
      addControls(chart);
    }
    const state = chart.curves, theme = themeOf(isDarkNow()), colors = theme.range.category, soft = theme.axis.labelColor, grid = theme.axis.gridColor;
    const lines = linesOf(state), width = Math.max(260, chart.plot.clientWidth), height = width < 520 ? 280 : 380, window = windowOf(state, lines);
    const frame = {left: 56, top: 6, right: width - 8, bottom: height - 40};
    const x = (value) => frame.left + (value - window.x[0]) / (window.x[1] - window.x[0]) * (frame.right - frame.left);
    const y = (value) => frame.bottom - (value - window.y[0]) / (window.y[1] - window.y[0]) * (frame.bottom - frame.top);
    const number = (value) => Math.round(100 * value) / 100;
    const svg = element(document.createElement('div'), 'svg', {class: 'curves', width, height, viewBox: `0 0 ${width} ${height}`,
      xmlns: 'http://www.w3.org/2000/svg', role: 'img', 'aria-label': chart.figure.querySelector('figcaption').textContent, 'font-family': 'system-ui, sans-serif', 'font-size': 11});
    const labels = element(svg, 'g', {class: 'role-axis-label', fill: soft});
    for (const [value, text] of ticksOf(...window.x, Math.max(2, width / 110))) {
      element(svg, 'line', {x1: number(x(value)), x2: number(x(value)), y1: frame.top, y2: frame.bottom, stroke: grid});
      element(labels, 'text', {x: number(x(value)), y: frame.bottom + 15, 'text-anchor': 'middle'}).textContent = text;
    }
    for (const [value, text] of ticksOf(...window.y, 6)) {
      element(svg, 'line', {x1: frame.left, x2: frame.right, y1: number(y(value)), y2: number(y(value)), stroke: grid});
      element(labels, 'text', {x: frame.left - 6, y: number(y(value)) + 4, 'text-anchor': 'end'}).textContent = text;
    }
    element(labels, 'text', {x: (frame.left + frame.right) / 2, y: height - 8, 'text-anchor': 'middle'}).textContent = state.axis;
    const clip = 'clip_' + chart.figure.dataset.chart;
    element(element(svg, 'clipPath', {id: clip}), 'rect', {x: frame.left, y: frame.top, width: frame.right - frame.left, height: frame.bottom - frame.top});
    const bands = element(svg, 'g', {class: 'mark-area', 'clip-path': `url(#${clip})`});
    const marks = element(svg, 'g', {class: 'mark-line', 'clip-path': `url(#${clip})`, fill: 'none'});
    const pathOf = (points, key) => points.map((point, i) => (i === 0 ? 'M' : 'L') + number(x(point.x)) + ',' + number(y(point[key]))).join('');
    for (const line of lines) {
      if (line.points.length === 0) continue;
      const color = colors[line.index % colors.length];
      if (line.points.some((point) => point.high > point.low)) {
        element(bands, 'path', {d: pathOf(line.points, 'high') + 'L' + pathOf([...line.points].reverse(), 'low').slice(1) + 'Z', fill: color, 'fill-opacity': lines.length > 12 ? 0.04 : 0.15});
      }
      element(marks, 'path', {d: pathOf(line.points, 'y'), stroke: color, 'stroke-width': state.by === 'run' ? 1 : 1.7,
        'stroke-dasharray': ['', '7 3', '2 3'][Math.floor(line.index / colors.length) % 3]});
    }
    const floor = Number(chart.spec.layer.flatMap((layer) => layer.transform ?? []).find((step) => step.as === 'floor')?.calculate);
    if (floor > window.y[0] && floor < window.y[1]) {
      element(svg, 'line', {x1: frame.left, x2: frame.right, y1: y(floor), y2: y(floor), stroke: soft, 'stroke-dasharray': '6 4'});
    }
    element(svg, 'rect', {x: frame.left, y: frame.top, width: frame.right - frame.left, height: frame.bottom - frame.top, fill: 'none', stroke: grid, 'pointer-events': 'none'});
    const scale = {x, y, window, soft, color: colors[0], atX: (at) => window.x[0] + (at - frame.left) / (frame.right - frame.left) * (window.x[1] - window.x[0]),
      atY: (at) => window.y[0] + (frame.bottom - at) / (frame.bottom - frame.top) * (window.y[1] - window.y[0])};
    addZoom(chart, svg, frame, scale, lines);
    chart.plot.replaceChildren(svg);
    [...state.names.children].forEach((button, i) => {
      const cell = state.cells[i];
      button.setAttribute('aria-pressed', String(!state.hidden.has(cell.name)));
      button.querySelector('circle').setAttribute('fill', colors[cell.index % colors.length]);
    });
  };

  // A spreadsheet would run text that begins like a formula.
  const csvField = (value) => {
    let text = value === null || value === undefined ? '' : String(value);
    if (typeof value === 'string') text = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, ' ').replace(/^[=+\-@\t\r]/, "'$&");
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };

  const save = (name, type, text) => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], {type}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  const addAction = (chart, title, run) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = title;
    button.addEventListener('click', run);
    chart.figure.querySelector('.actions').append(button);
  };

  // What a chart's rows were made from; it may be megabytes, so it is read when somebody asks.
  const fullCsv = (script) => {
    const full = JSON.parse(script.textContent);
    const lines = full.blocks.flatMap(([names, rows]) => {
      const before = names.map(csvField).join(',') + ',';
      return rows.split('\n').map((row) => before + row);
    });
    return [full.columns.join(','), ...lines].join('\r\n') + '\r\n';
  };

  // A long table of data is made when somebody opens it.
  const fillTable = (chart) => {
    const place = chart.figure.querySelector('details[data-fill] .scroll');
    if (!place || place.firstChild) return;
    const table = document.createElement('table'), head = table.createTHead().insertRow();
    const columns = columnsOf(chart);
    for (const column of columns) {
      const cell = document.createElement('th');
      cell.scope = 'col';
      cell.textContent = column.title;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const row of rowsOf(chart)) {
      const line = body.insertRow();
      for (const column of columns) {
        const value = row[column.key], cell = line.insertCell();
        if (typeof value === 'number') cell.className = 'number';
        cell.textContent = value === null || value === undefined ? '-' : String(value);
      }
    }
    place.append(table);
  };

  const addFilter = (scroll) => {
    const rows = [...scroll.querySelectorAll('tbody tr')];
    if (rows.length < 12) return;
    const input = document.createElement('input');
    input.type = 'search';
    input.className = 'filter';
    input.placeholder = 'Show rows with ...';
    input.setAttribute('aria-label', 'Show only rows that have this text');
    input.addEventListener('input', () => {
      const wanted = input.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    scroll.before(input);
  };

  // What a row is sorted by: the number behind the text, or the text; null for nothing.
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    if (cell.dataset.key !== undefined) return Number(cell.dataset.key);
    const text = cell.textContent.trim();
    return text === '-' || text === '' ? null : text;
  };

  const sortBy = (table, column, header) => {
    const isDown = header.getAttribute('aria-sort') === 'ascending', body = table.tBodies[0];
    const sorted = [...body.rows].map((row) => [keyOf(row, column), row]).sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true});
      return isDown ? -order : order;
    });
    for (const other of header.parentNode.cells) other.removeAttribute('aria-sort');
    header.setAttribute('aria-sort', isDown ? 'descending' : 'ascending');
    body.append(...sorted.map(([, row]) => row));
  };

  const addSorting = (scroll) => {
    const table = scroll.querySelector('table');
    if (table.tBodies[0].rows.length < 3) return;
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...header.childNodes);
      button.addEventListener('click', () => sortBy(table, column, header));
      header.append(button);
    });
  };

  // In a part that is closed there is no room to draw; it is drawn when it opens.
  const isFolded = (chart) => chart.figure.closest('details:not([open])') !== null;

  const start = () => {
    for (const scroll of document.querySelectorAll('.table > .scroll')) {
      addFilter(scroll);
      addSorting(scroll);
    }
    for (const chart of figures) {
      addAction(chart, 'Data as CSV', () => save(chart.figure.dataset.chart + '.csv', 'text/csv',
        [columnsOf(chart).map((column) => csvField(column.key)).join(','), ...rowsOf(chart).map((row) =>
          columnsOf(chart).map((column) => csvField(row[column.key])).join(','))].join('\r\n') + '\r\n'));
      const full = chart.figure.querySelector('script.full');
      if (full) addAction(chart, 'All runs as CSV', () => save(chart.figure.dataset.chart + '_runs.csv', 'text/csv', fullCsv(full)));
      addAction(chart, 'Vega-Lite', () => save(chart.figure.dataset.chart + '.vl.json', 'application/json',
        JSON.stringify(chart.spec, null, 1)));
      addAction(chart, 'SVG', async () => save(chart.figure.dataset.chart + '.svg', 'image/svg+xml',
        chart.curves ? new XMLSerializer().serializeToString(chart.plot.querySelector('svg')) : await chart.view.toSVG()));
      const details = chart.figure.querySelector('details[data-fill]');
      if (details) details.addEventListener('toggle', () => fillTable(chart));
    }
    // A task each, so that the page shows and answers between two of them. The marks tell how long it took.
    const drawAll = async () => {
      for (const chart of figures) {
        if (isFolded(chart)) continue;
        await new Promise((next) => setTimeout(next));
        await draw(chart);
        performance.mark('drawn ' + chart.figure.dataset.chart);
      }
      document.body.dataset.drawn = 'yes';
      performance.mark('all drawn');
    };
    for (const part of document.querySelectorAll('details.part')) {
      part.addEventListener('toggle', async () => {
        for (const chart of figures) {
          if (part.open && part.contains(chart.figure) && chart.figure.dataset.drawn === undefined) await draw(chart);
        }
      });
    }
    const openTarget = () => {
      const part = location.hash.length > 1 ? document.getElementById(location.hash.slice(1))?.querySelector('details.part') : null;
      if (part) part.open = true;
    };
    addEventListener('hashchange', openTarget);
    openTarget();
    drawAll();
    dark.addEventListener('change', drawAll);
    matchMedia('print').addEventListener('change', drawAll);
    let width = innerWidth, timer = 0;
    addEventListener('resize', () => {
      if (innerWidth === width) return;
      width = innerWidth;
      clearTimeout(timer);
      timer = setTimeout(drawAll, 200);
    });
  };
  start();
})();
