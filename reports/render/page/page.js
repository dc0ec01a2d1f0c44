// Draws the charts of a report and adds filters to its long tables. Everything it shows is in the page; text is only ever
// set as text.
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
      range: {category: palette[isDark ? 'dark' : 'light']},
    };
  };

  const figures = [...document.querySelectorAll('figure[data-chart]')].map((figure) => ({
    figure,
    plot: figure.querySelector('.plot'),
    spec: JSON.parse(figure.querySelector('script[type="application/json"]').textContent),
    view: null,
  }));

  const rowsOf = (chart) => chart.spec.datasets.data;
  const columnsOf = (chart) => JSON.parse(chart.figure.dataset.columns);

  // Panels stand side by side where there is room, else one below the other.
  const fitPanels = (chart) => {
    if (!chart.spec.concat) return;
    const room = chart.plot.clientWidth;
    chart.spec.columns = room < 900 ? 1 : chart.spec.concat.length;
    chart.spec.concat.forEach((panel, index) => {
      const shares = chart.spec.columns > 1;
      panel.width = Math.max(160, shares ? (room - 240) / chart.spec.columns - 30 : room - 240);
      panel.encoding.y.axis = shares && index > 0 ? {labels: false, ticks: false} : {};
    });
  };

  const draw = async (chart) => {
    try {
      if (chart.view) chart.view.finalize();
      const narrow = chart.plot.clientWidth < 520;
      const config = themeOf(dark.matches && !matchMedia('print').matches);
      if (narrow) {
        config.legend.columns = 2;
        config.axis.labelLimit = 110;
      }
      fitPanels(chart);
      const done = await vegaEmbed(chart.plot, chart.spec, {mode: 'vega-lite', renderer: rowsOf(chart).length > manyMarks ? 'canvas' : 'svg', actions: false,
        defaultStyle: false, config, logLevel: 1, tooltip: {theme: 'custom'}});
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

  const start = () => {
    for (const scroll of document.querySelectorAll('main > section > .scroll')) addFilter(scroll);
    for (const chart of figures) {
      addAction(chart, 'Data as CSV', () => save(chart.figure.dataset.chart + '.csv', 'text/csv',
        [columnsOf(chart).map((column) => csvField(column.key)).join(','), ...rowsOf(chart).map((row) =>
          columnsOf(chart).map((column) => csvField(row[column.key])).join(','))].join('\r\n') + '\r\n'));
      const full = chart.figure.querySelector('script.full');
      if (full) addAction(chart, 'All runs as CSV', () => save(chart.figure.dataset.chart + '_runs.csv', 'text/csv', fullCsv(full)));
      addAction(chart, 'Vega-Lite', () => save(chart.figure.dataset.chart + '.vl.json', 'application/json',
        JSON.stringify(chart.spec, null, 1)));
      addAction(chart, 'SVG', async () => save(chart.figure.dataset.chart + '.svg', 'image/svg+xml',
        await chart.view.toSVG()));
      const details = chart.figure.querySelector('details[data-fill]');
      if (details) details.addEventListener('toggle', () => fillTable(chart));
    }
    // A task each, so that the page shows and answers between two of them. The marks tell how long it took.
    const drawAll = async () => {
      for (const chart of figures) {
        await new Promise((next) => setTimeout(next));
        await draw(chart);
        performance.mark('drawn ' + chart.figure.dataset.chart);
      }
      document.body.dataset.drawn = 'yes';
      performance.mark('all drawn');
    };
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
