// Package chartjs embeds Chart.js 3.9.1, as in Debian's libjs-chart.js, for pages without a
// network: the lab's report and those of event logs and captures. Its licence is beside it.
package chartjs
