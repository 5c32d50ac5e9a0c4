"use strict";
// The page is complete without this script, which filters claims and makes figures interactive.

// --- filter

const filter = document.getElementById("filter");

function applyFilter() {
	const want = Object.fromEntries(new FormData(filter));
	const text = want.text.toLowerCase();
	let shown = 0, all = 0;
	for (const section of document.querySelectorAll("main > section")) {
		const paper = !want.paper || section.dataset.paper === want.paper;
		const about = !text || section.querySelector("h2").textContent.toLowerCase().includes(text);
		let any = false;
		for (const row of section.querySelectorAll(".claims > tbody > tr")) {
			const is = row.dataset.is.split(" ");
			const fits = paper && (!want.verdict || is.includes(want.verdict)) &&
				(!want.confidence || is.includes(want.confidence)) &&
				(about || `${section.dataset.id}/${row.textContent.trim()}`.toLowerCase().includes(text));
			row.hidden = !fits;
			any = any || fits;
			shown += fits;
			all++;
		}
		section.hidden = !any && (!paper || !about || want.verdict !== "" || want.confidence !== "");
		document.querySelector(`nav li[data-x="${section.id}"]`).hidden = section.hidden;
	}
	for (const paper of document.querySelectorAll("nav > details")) {
		paper.hidden = !paper.querySelector("li:not([hidden])");
	}
	filter.querySelector("output").textContent = `${shown} of ${all} claims`;
}

// index.html?paper=tocc&verdict=fails&text=buffer begins with these settings.
for (const [name, value] of new URLSearchParams(location.search)) {
	if (filter.elements[name]) filter.elements[name].value = value;
}
filter.hidden = false;
filter.addEventListener("input", applyFilter);
filter.addEventListener("submit", event => event.preventDefault());
applyFilter();

// Where a link leads to a section that the filter hides, the filter ends.
addEventListener("hashchange", () => {
	const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
	if (target && target.hidden) {
		filter.reset();
		applyFilter();
		target.scrollIntoView();
	}
	if (target && target.tagName === "DETAILS") target.open = true;
});

// --- figures

// Data arrives from PAPER/NAME/figures.js, a script, because a page of a file may not fetch files.
const data = {}, waiting = {};

function labFigures(id, figures) {
	data[id] = figures;
}

function figuresOf(id) {
	waiting[id] ||= new Promise((resolve, reject) => {
		const script = document.createElement("script");
		script.src = id + "/figures.js";
		script.onload = () => resolve(data[id]);
		script.onerror = reject;
		document.head.append(script);
	});
	return waiting[id];
}

const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777"];
const dashes = [[], [8, 4], [2, 3]];

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// number returns a number as text with some digits.
function number(x, digits) {
	if (x === null || x === undefined) return "–";
	const size = Math.abs(x);
	if (size >= 1e6 || size > 0 && size < 1e-3) {
		const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
		const raised = [...String(+exponent)].map(c => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] || "⁻").join("");
		const m = +mantissa;
		return (m === 1 ? "" : m + "·") + "10" + raised;
	}
	return String(size >= 1000 ? Math.round(x) : +x.toPrecision(digits));
}

function axis(a, fromZero) {
	const scale = {
		type: a.log ? "logarithmic" : "linear",
		title: {display: !!a.label, text: a.label, color: css("--ink")},
		grid: {color: css("--line")},
		ticks: {color: css("--ink"), maxRotation: 0, autoSkipPadding: 12},
	};
	if (a.log) {
		// labels at powers of ten, and at 2 and 5 if there are few of those
		scale.ticks.callback = function (x) {
			const decades = Math.log10(this.max / this.min);
			const m = Math.round(x / 10 ** Math.floor(Math.log10(x) + 1e-9));
			return m === 1 || decades < 2.5 && (m === 2 || m === 5) ? number(x, 3) : "";
		};
	} else {
		scale.ticks.callback = x => number(x, 4);
		scale.beginAtZero = fromZero;
	}
	if (a.max) scale.max = a.max;
	if (a.min || a.max && !a.log) scale.min = a.min || 0;
	return scale;
}

// points returns the points of a series; those that an axis cannot show are gaps.
function points(d, xs, ys) {
	const gap = (x, y) => y === null || d.y.log && y <= 0 || d.x.log && x <= 0;
	return xs.map((x, i) => ({x, y: gap(x, ys[i]) ? NaN : ys[i]}));
}

function datasets(d) {
	const out = [];
	d.series.forEach((s, i) => {
		const colour = palette[i % palette.length];
		const common = {label: s.name, borderColor: colour, backgroundColor: colour, series: s};
		if (d.kind === "bars") {
			out.push({...common, data: s.y});
			return;
		}
		const stepped = d.kind === "steps" || d.kind === "cdf" ? "before" : false;
		const line = {...common, data: points(d, s.x, s.y), stepped, borderWidth: 1.6, tension: 0,
			borderDash: dashes[Math.floor(i / palette.length) % dashes.length],
			showLine: d.kind !== "points", pointHitRadius: 6,
			pointRadius: d.kind === "points" || d.kind === "lines" && s.x.length <= 40 ? 2.5 : 0};
		out.push(line);
		if (s.low && d.kind !== "points") {
			const edge = {...common, label: "", stepped, borderWidth: 0, pointRadius: 0,
				pointHitRadius: 0, band: true, backgroundColor: colour + "33"};
			out.push({...edge, data: points(d, s.x, s.low), fill: false});
			out.push({...edge, data: points(d, s.x, s.high), fill: "-1"});
		}
	});
	return out;
}

// errorBars draws the ranges of bars and points.
const errorBars = {
	id: "errorBars",
	afterDatasetsDraw(chart) {
		const c = chart.ctx;
		chart.data.datasets.forEach((set, i) => {
			const s = set.series;
			const meta = chart.getDatasetMeta(i);
			if (!s.low || set.band || meta.hidden || set.showLine) return;
			c.save();
			c.strokeStyle = css("--ink");
			meta.data.forEach((element, k) => {
				if (s.low[k] === null || s.high[k] === null) return;
				const [low, high] = [s.low[k], s.high[k]].map(y => chart.scales.y.getPixelForValue(y));
				c.beginPath();
				c.moveTo(element.x, low), c.lineTo(element.x, high);
				c.moveTo(element.x - 3, low), c.lineTo(element.x + 3, low);
				c.moveTo(element.x - 3, high), c.lineTo(element.x + 3, high);
				c.stroke();
			});
			c.restore();
		});
	},
};

// tip returns the text of a value, with its range.
function tip(d, item) {
	const s = item.dataset.series, k = item.dataIndex;
	let text = `${s.name || d.y.label}: ${number(item.parsed.y, 4)}`;
	if (s.low && s.low[k] !== null) text += ` (${number(s.low[k], 4)} to ${number(s.high[k], 4)})`;
	return text;
}

// inLines breaks a text into lines of some characters.
function inLines(text, most) {
	const lines = [""];
	for (const word of text.split(" ")) {
		const last = lines.length - 1;
		if (lines[last] && lines[last].length + word.length >= most) lines.push(word);
		else lines[last] = `${lines[last]} ${word}`.trim();
	}
	return lines;
}

// labels returns the entries of the legend, with lines as in the chart.
function labels(chart, pointStyle) {
	return Chart.defaults.plugins.legend.labels.generateLabels(chart).map(item => {
		const set = chart.data.datasets[item.datasetIndex];
		return {...item, pointStyle, lineDash: set.borderDash || [], lineWidth: 2};
	});
}

function draw(canvas, d) {
	const bars = d.kind === "bars";
	const x = bars ? {ticks: {color: css("--ink")}, grid: {display: false}} : axis(d.x, false);
	return new Chart(canvas, {
		type: bars ? "bar" : "line",
		data: {labels: bars ? d.groups : undefined, datasets: datasets(d)},
		plugins: [errorBars],
		options: {
			animation: false, parsing: bars ? undefined : false, normalized: false, spanGaps: false,
			aspectRatio: 1.8, locale: "en",
			interaction: {mode: bars ? "index" : "nearest", axis: bars ? "x" : "xy", intersect: false},
			scales: {x, y: axis(d.y, true)},
			plugins: {
				title: {display: true, text: inLines(d.title, canvas.parentNode.clientWidth / 7),
					color: css("--ink")},
				legend: {
					display: d.series.length > 1 || d.series[0].name !== "",
					position: d.series.length > 6 ? "right" : "bottom",
					labels: {color: css("--ink"), usePointStyle: true, filter: item => !!item.text,
						generateLabels: chart => labels(chart, bars ? "rect" : "line")},
					onClick(event, item, legend) { // a line and its band
						const chart = legend.chart, s = chart.data.datasets[item.datasetIndex].series;
						const visible = !chart.isDatasetVisible(item.datasetIndex);
						chart.data.datasets.forEach((set, i) => {
							if (set.series === s) chart.setDatasetVisibility(i, visible);
						});
						chart.update();
					},
				},
				tooltip: {
					filter: item => !item.dataset.band,
					callbacks: {
						title: items => !items.length ? "" : bars ? items[0].label :
							`${d.x.label}: ${number(items[0].parsed.x, 5)}`,
						label: item => tip(d, item),
					},
				},
			},
		},
	});
}

// A figure in view is interactive, and the image again when it is out of view.
class Interactive {
	constructor(figure) {
		this.figure = figure;
		this.image = figure.querySelector("img");
		this.id = figure.closest("section").dataset.id;
		this.wanted = true;
		this.button = document.createElement("button");
		this.button.type = "button";
		this.button.addEventListener("click", () => {
			this.wanted = !this.wanted;
			this.wanted ? this.show() : this.hide();
		});
		figure.querySelector("figcaption small").append(" · ", this.button);
		this.label();
	}

	label() {
		this.button.textContent = this.chart ? "show the SVG" : "show values";
	}

	async show() {
		if (!this.wanted || this.chart || this.busy) return;
		this.busy = true;
		try {
			const d = (await figuresOf(this.id))[this.figure.dataset.name];
			const box = document.createElement("div");
			box.className = "chart";
			const canvas = box.appendChild(document.createElement("canvas"));
			canvas.setAttribute("role", "img");
			canvas.setAttribute("aria-label", this.image.alt);
			this.image.before(box);
			this.image.hidden = true;
			this.chart = draw(canvas, d);
			this.box = box;
		} catch (error) {
			console.error(this.id, error);
			this.image.hidden = false;
			this.wanted = false;
		} finally {
			this.busy = false;
			this.label();
		}
	}

	hide() {
		if (!this.chart) return;
		this.chart.destroy();
		this.box.remove();
		this.chart = this.box = null;
		this.image.hidden = false;
		this.label();
	}
}

const figures = [...document.querySelectorAll("figure[data-name]")].map(f => new Interactive(f));

// look makes the figures that are in view, or nearly, interactive.
function look() {
	for (const f of figures) {
		const box = f.figure.getBoundingClientRect();
		const near = box.width > 0 && box.bottom > -400 && box.top < innerHeight + 400;
		near ? f.show() : f.hide();
	}
}

let planned = 0;
function lookSoon() {
	clearTimeout(planned);
	planned = setTimeout(look, 100);
}
for (const event of ["scroll", "resize"]) addEventListener(event, lookSoon, {passive: true});
filter.addEventListener("input", lookSoon);
document.addEventListener("toggle", lookSoon, true); // of details
look();
addEventListener("beforeprint", () => figures.forEach(f => f.hide()));
