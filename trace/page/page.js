"use strict";
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const blue = "#0072B2", red = "#D55E00", green = "#009E73", pink = "#CC79A7", amber = "#E69F00", grey = "#777777";
const colors = [blue, red, green, pink, amber, "#56B4E9", grey, "#8C564B", "#B8A000", "#5B5EA6"];
Chart.defaults.color = css("--text");
Chart.defaults.borderColor = css("--line");
Chart.defaults.animation = false;

// A line or dots of [seconds, value] points; values are divided by scale.
const xy = (points, scale) => (points || []).map(p => ({ x: p[0], y: p[1] / scale }));
const line = (label, points, color, scale = 1) => ({ label, data: xy(points, scale), borderColor: color,
	backgroundColor: color, borderWidth: 1.5, pointRadius: (points || []).length < 60 ? 2 : 0, showLine: true });
const dots = (label, points, color, style = "circle") => ({ label, data: xy(points, 1), borderColor: color,
	backgroundColor: color, pointStyle: style, pointRadius: 3.5, showLine: false });

const sets = {
	sequence: f => [dots("lost", f.missing, red, "crossRot"), dots("sent again", f.again, amber, "triangle"),
		line("sent", f.sequence, blue)],
	rtt: f => [line("round trip", f.rtt, blue), { ...line("target", f.target, red), stepped: true }],
	window: f => [{ ...line("window", f.window, red), stepped: true }, line("in flight", f.flight, blue)],
	rate: f => [line("goodput", f.goodput, blue, 1e9), line("pacing rate", f.rate, red, 1e9)],
	marks: f => [line("marked packets", f.marked, amber), line("CNPs", f.notified, red)],
};

const charts = {};
let range = {};

// whole returns the time span of a queue pair, which all its charts show.
function whole(f) {
	const times = Object.values(f).filter(v => Array.isArray(v) && Array.isArray(v[0])).flatMap(v => [v[0][0], v[v.length - 1][0]]);
	return times.length ? { min: Math.min(...times), max: Math.max(...times) } : {};
}

function draw(f) {
	const span = range.max === undefined ? whole(f) : range;
	for (const id in sets) {
		if (charts[id]) charts[id].destroy();
		const datasets = sets[id](f).filter(s => s.data.length > 0);
		document.getElementById(id).closest("section").hidden = datasets.length === 0;
		charts[id] = new Chart(document.getElementById(id), {
			type: "scatter", data: { datasets },
			options: {
				maintainAspectRatio: false, parsing: false, normalized: false,
				scales: { x: { title: { display: true, text: "seconds" }, ...span }, y: { beginAtZero: id !== "sequence" } },
				plugins: { legend: { align: "start", labels: { usePointStyle: true, boxHeight: 6 } } },
			},
		});
	}
	const bar = document.querySelector(".bar");
	bar.replaceChildren();
	(f.limits || []).forEach((share, i) => {
		const part = document.createElement("span"), percent = (share.Part * 100).toFixed(1) + "%";
		part.style.width = share.Part * 100 + "%";
		part.style.background = colors[i % colors.length];
		part.title = part.textContent = share.Reason + " " + percent;
		bar.append(part);
	});
	if (!bar.children.length) {
		const none = document.createElement("em");
		none.textContent = "unknown: nothing was sent, or the source has no record of it";
		bar.append(none);
	}
}

// --- zoom: drag across a chart; double-click shows everything.
for (const canvas of document.querySelectorAll("canvas")) {
	let from = null;
	const at = event => charts[canvas.id].scales.x.getValueForPixel(event.offsetX);
	canvas.addEventListener("mousedown", event => from = at(event));
	canvas.addEventListener("mouseup", event => {
		const to = at(event);
		if (from !== null && Math.abs(to - from) > 0) zoom({ min: Math.min(from, to), max: Math.max(from, to) });
		from = null;
	});
	canvas.addEventListener("dblclick", () => zoom({}));
}

function zoom(to) {
	range = to;
	draw(flows[selected]);
}

// --- selection and filter
const rows = [...document.querySelectorAll("#flows tbody tr")], filter = document.getElementById("filter");
let selected = 0;

function select(i) {
	selected = i;
	rows.forEach(row => row.classList.toggle("on", row.dataset.i === String(i)));
	document.getElementById("selected").textContent = flows[i] ? "Queue pair " + flows[i].name : "No charts of this queue pair";
	document.querySelectorAll("main section").forEach(s => s.hidden = !flows[i]);
	if (flows[i]) draw(flows[i]);
}

function apply() {
	const text = filter.elements.text.value.toLowerCase(), trouble = filter.elements.trouble.checked;
	const fit = rows.filter(row => {
		row.hidden = !row.cells[0].textContent.toLowerCase().includes(text) || trouble && !row.dataset.trouble;
		return !row.hidden;
	});
	filter.querySelector("output").textContent = `${fit.length} of ${rows.length} queue pairs`;
	if (fit.length && !fit.some(row => row.dataset.i === String(selected))) select(Number(fit[0].dataset.i));
}

// page.html?text=0x11&trouble=1 begins with this filter.
for (const [name, value] of new URLSearchParams(location.search)) {
	const field = filter.elements[name];
	if (field && field.type === "checkbox") field.checked = true;
	else if (field) field.value = value;
}
rows.forEach(row => row.addEventListener("click", () => select(Number(row.dataset.i))));
filter.addEventListener("input", apply);
filter.addEventListener("submit", event => event.preventDefault());
if (rows.length) select(0);
apply();
