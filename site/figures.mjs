// Draws the site's diagrams and takes its screenshots, light and dark, in headless Chromium. The
// screenshots are of what the programs of bin/ show while they run over loop:.
import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import puppeteer from 'puppeteer-core'

const site = import.meta.dirname
const root = path.dirname(site)
const schemes = ['light', 'dark']

// titles describe the screenshots.
export const titles = {
  live: '/debug/goroce of a running benchmark: a table of queue pairs with rates, round trips and windows',
  trace: 'the page of roce_trace: sequence, round trips, window and rate of a queue pair over time',
  lab: "the lab's report: claims of the papers with their verdicts, and figures",
  bytetuning: 'the report of bytetuning: the watermarks it found, and their objective over time',
}

function browser() {
  const names = process.env.CHROMIUM ? [process.env.CHROMIUM]
    : ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  const executablePath = names.find((name) => fs.existsSync(name))
  if (!executablePath) throw new Error(`no Chromium: none of ${names}; scripts/setup docs installs it`)
  return puppeteer.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
}

// diagrams draws Mermaid sources as SVG files DIR/NAME-SCHEME.svg.
export async function diagrams(list, dir) {
  fs.mkdirSync(dir, { recursive: true })
  const chromium = await browser()
  try {
    const page = await chromium.newPage()
    await page.addScriptTag({ path: path.join(site, 'node_modules', 'mermaid', 'dist', 'mermaid.min.js') })
    for (const { name, source } of list) {
      for (const scheme of schemes) {
        const svg = await page.evaluate(draw, source, scheme === 'dark' ? 'dark' : 'neutral')
        fs.writeFileSync(path.join(dir, `${name}-${scheme}.svg`), svg)
      }
    }
  } finally {
    await chromium.close()
  }
}

// draw runs in the browser. An image needs a size of its own.
async function draw(source, theme) {
  mermaid.initialize({ startOnLoad: false, theme, htmlLabels: false, fontFamily: 'sans-serif',
    flowchart: { htmlLabels: false, wrappingWidth: 360 } })
  const { svg } = await mermaid.render('diagram', source)
  const drawn = new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement
  const [, , width, height] = drawn.getAttribute('viewBox').split(' ')
  drawn.setAttribute('width', width)
  drawn.setAttribute('height', height)
  return new XMLSerializer().serializeToString(drawn)
}

// screenshots writes DIR/NAME-SCHEME.png for each name of titles.
export async function screenshots(dir) {
  fs.mkdirSync(dir, { recursive: true })
  const work = fs.mkdtempSync(path.join(os.tmpdir(), 'goroce-site-'))
  const chromium = await browser()
  // shoot waits until charts are drawn.
  const shoot = async (name, url, { width = 1200, height = 1000, wait = 2000 } = {}) => {
    for (const scheme of schemes) {
      const page = await chromium.newPage()
      await page.setViewport({ width, height, deviceScaleFactor: 1.5 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      await page.goto(url, { waitUntil: 'load' })
      await sleep(wait)
      await page.screenshot({ path: path.join(dir, `${name}-${scheme}.png`) })
      await page.close()
    }
  }
  const bin = (name, ...args) => execFileSync(path.join(root, 'bin', name), args,
    { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    const log = path.join(work, 'run.sqlog')
    const stop = await benchmark(log)
    try {
      await shoot('live', `http://${address}/debug/goroce`, { width: 1500, height: 480, wait: 15000 })
    } finally {
      await stop()
    }
    bin('roce_trace', log, '-o', path.join(work, 'trace.html'))
    await shoot('trace', pathToFileURL(path.join(work, 'trace.html')))
    const report = path.join(site, 'content', 'public', 'lab', 'index.html')
    await shoot('lab', pathToFileURL(report))
    bin('bytetuning', 'tune', '--target', 'fabric:2to1', '--budget', '60', '--out', path.join(work, 'bt'))
    await shoot('bytetuning', pathToFileURL(path.join(work, 'bt', 'report.html')))
  } finally {
    await chromium.close()
    fs.rmSync(work, { recursive: true, force: true })
  }
}

const address = '127.0.0.1:19100'
const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

// benchmark starts a run that serves its metrics and logs its events, and returns what ends it.
async function benchmark(log) {
  const args = ['-d', 'loop:ecn=100KiB,400KiB', '-D', '120', '-q', '4', '--cc', 'swift', '--cc', 'dctcp',
    '--metrics', address, '--trace', log, '--trace-sample', '0.1%']
  const child = spawn(path.join(root, 'bin', 'roce_write_bw'), args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = new Promise((done) => child.on('exit', done))
  for (let tries = 0; ; tries++) {
    if (await fetch(`http://${address}/healthz`).then((r) => r.ok, () => false)) break
    if (child.exitCode !== null || tries > 100) throw new Error('roce_write_bw --metrics does not respond')
    await sleep(200)
  }
  return () => {
    child.kill('SIGINT')
    return ended
  }
}
