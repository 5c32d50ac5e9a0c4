// Collects the pages of the site in site/content, builds it with VitePress, and leaves it in bin/site.
//
//   node site/build.mjs
//
// Pages are docs/*.md, README.md, CONTRIBUTING.md and CHANGELOG.md; the API reference, which site/api
// makes from the source; and the lab's report, which bin/lab makes from docs/lab.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { sections } from './pages.mjs'

const site = import.meta.dirname
const root = path.dirname(site)
const content = path.join(site, 'content')
const run = (command, ...args) => execFileSync(command, args, { cwd: root, stdio: 'inherit' })

fs.rmSync(content, { recursive: true, force: true })
fs.mkdirSync(path.join(content, 'public'), { recursive: true })

// page copies a page. Links to files that are not pages become their paths, and links to figures lead
// to the report's copies.
const pages = new Set(sections.flatMap(([, names]) => names))
const extra = []
function page(file, name) {
  if (!pages.delete(name)) extra.push(name)
  const dir = path.dirname(file)
  const text = fs.readFileSync(path.join(root, file), 'utf8')
    .replace(/<!--[\s\S]*?-->\n?/g, '')
    .replace(/\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s:]+)\)/g, (link, label, target) => {
      const [to, anchor] = target.split('#')
      if (to === '') return link
      const at = path.normalize(path.join(dir, to))
      const base = path.basename(at, '.md')
      if (at.startsWith('docs/lab/')) return `[${label}](/${at.slice(5)}){target="_self"}`
      if (at === `docs/${base}.md` || at === `${base}.md` && fs.existsSync(path.join(site, '..', at)))
        return `[${label}](./${base === 'README' ? 'index' : base}.md${anchor ? '#' + anchor : ''})`
      return label.startsWith('`') ? label : `${label} (\`${at}\`)`
    })
  fs.writeFileSync(path.join(content, `${name === 'README' ? 'index' : name}.md`), text)
}
for (const file of fs.readdirSync(path.join(root, 'docs')))
  if (file.endsWith('.md')) page(`docs/${file}`, path.basename(file, '.md'))
for (const name of ['README', 'CONTRIBUTING', 'CHANGELOG', 'SECURITY']) page(`${name}.md`, name)
pages.delete('API')
pages.delete('LAB')
extra.splice(extra.indexOf('SECURITY'), 1) // linked from security
if (pages.size + extra.length > 0)
  throw new Error(`site/pages.mjs: no page for ${[...pages]}; not in a section: ${extra}`)

run('go', 'run', './site/api', path.join(content, 'api'))
run('bin/lab', 'report', 'docs/lab', '--out', path.join(content, 'public', 'lab'))
const vitepress = path.join(site, 'node_modules', 'vitepress', 'bin', 'vitepress.js')
run('node', vitepress, 'build', 'site')
