// Collects the pages of the site in site/content, builds it with VitePress, and leaves it in bin/site.
//
//   node site/build.mjs
//
// Pages are docs/*.md, README.md, CONTRIBUTING.md and CHANGELOG.md; the API reference, which site/api
// makes from the source; and the lab's report, which bin/lab makes from docs/lab. Diagrams and
// screenshots are made by figures.mjs.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { diagrams, screenshots, titles } from './figures.mjs'
import { sections, slug } from './pages.mjs'

const site = import.meta.dirname
const root = path.dirname(site)
const content = path.join(site, 'content')
const run = (command, ...args) => execFileSync(command, args, { cwd: root, stdio: 'inherit' })

fs.rmSync(content, { recursive: true, force: true })
fs.mkdirSync(path.join(content, 'public'), { recursive: true })

// figure returns an image for light pages and one for dark ones.
const figure = (title, dir, name, type) => ['light', 'dark']
  .map((scheme) => `![${title}](/${dir}/${name}-${scheme}.${type}){.${scheme}-only}`).join('')

// page copies a page. Links to files that are not pages become their paths, and links to figures lead
// to the report's copies. A comment "screenshot: NAME" becomes that screenshot.
const unlisted = new Set(sections.flatMap(([, names]) => names))
unlisted.delete('API')
unlisted.delete('LAB')
const drawn = []
function page(file, name) {
  unlisted.delete(name)
  const dir = path.dirname(file)
  const text = fs.readFileSync(path.join(root, file), 'utf8')
    .replace(/<!-- screenshot: (\w+) -->/g, (comment, shot) => figure(titles[shot], 'shots', shot, 'png'))
    .replace(/<!--[\s\S]*?-->\n?/g, '')
    .replace(/^```mermaid\n([\s\S]*?)^```/gm, (block, source) => {
      drawn.push({ name: `${slug(name)}-${drawn.length}`, source })
      return figure('diagram', 'diagrams', drawn.at(-1).name, 'svg')
    })
    .replace(/\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s:]+)\)/g, (link, label, target) => {
      const [to, anchor] = target.split('#')
      if (to === '' || to.startsWith('/')) return link
      const at = path.normalize(path.join(dir, to))
      const base = path.basename(at, '.md')
      if (at.startsWith('docs/lab/')) return `[${label}](/${at.slice(5)}){target="_self"}`
      if (at === 'docs/lab') return `[${label}](/lab/index.html){target="_self"}`
      if ((at === `docs/${base}.md` || at === `${base}.md`) && fs.existsSync(path.join(root, at)))
        return `[${label}](./${slug(base)}.md${anchor ? '#' + anchor : ''})`
      return label.startsWith('`') ? label : `${label} (\`${at}\`)`
    })
  fs.writeFileSync(path.join(content, `${slug(name)}.md`), text)
}
for (const file of fs.readdirSync(path.join(root, 'docs')))
  if (file.endsWith('.md')) page(`docs/${file}`, path.basename(file, '.md'))
for (const name of ['README', 'CONTRIBUTING', 'CHANGELOG', 'SECURITY']) page(`${name}.md`, name)
page('site/home.md', 'index')
if (unlisted.size > 0) throw new Error(`site/pages.mjs: no page for ${[...unlisted]}`)

run('go', 'run', './site/api', path.join(content, 'api'))
run('bin/lab', 'report', 'docs/lab', '--out', path.join(content, 'public', 'lab'))
await diagrams(drawn, path.join(content, 'public', 'diagrams'))
await screenshots(path.join(content, 'public', 'shots'))
run('node', path.join(site, 'node_modules', 'vitepress', 'bin', 'vitepress.js'), 'build', 'site')
